//! How tools are used: calls are counted (`counts.rs`), what other replicas counted is read (`board.rs`), and a call that
//! follows a search teaches what the query meant (`learning.rs`). `temperature.rs` says what all that makes of a tool.

mod board;
pub(crate) mod counts;
mod learning;
mod memory;
mod temperature;

pub(crate) use counts::{UseCount, UseLog};
pub use learning::Learning;
pub(crate) use learning::Lesson;
pub use temperature::{Temperature, ToolUse};
