//! One compiled tool (`tool.rs`), and what a call through it needs: arguments and results checked by their schemas, the
//! executor compiled on the first call.

mod approving;
mod checking;
mod described;
pub(crate) mod header_params;
mod lazy_executor;
mod tool;
mod validator;

pub use described::Described;
pub use header_params::header_params_of;
pub(crate) use lazy_executor::{LazyExecutor, MakeExecutor, Running, ToolExecutor};
pub(crate) use tool::Arguments;
pub use tool::Tool;
pub(crate) use validator::{LazyValidator, defaults_of};
