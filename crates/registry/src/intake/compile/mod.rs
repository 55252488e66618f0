//! Definitions are compiled: one document becomes a tool, or whatever its kind makes (`compiler.rs`), what a source gave
//! becomes entries, many at a time (`drafts.rs`), and what is poor about them is told (`lint.rs`, `schema_lint.rs`).

mod compiler;
mod drafts;
mod lint;
mod schema_lint;

pub use compiler::{Compiler, Wrap};
pub(crate) use compiler::{checked, checked_arguments};
pub(crate) use drafts::{FEW, Work, compile_all, compile_one, with_name};
