//! What calls leave behind at the tools: how often each was called (`count.rs`), and what that taught (`lessons.rs`). Tools are
//! known here by their keys only; when it is written to the store, and read back, is left to `usage/`.
//!
//! A tool holds its own count and, through it, the one log (`log.rs`) of a registry; what all replicas counted is on its board
//! (`board.rs`), read from the store by `reading.rs`.

mod board;
mod count;
mod lessons;
mod log;
mod memory;
mod reading;

pub(crate) use count::UseCount;
pub(crate) use lessons::{Lesson, Pair};
pub(crate) use log::UseLog;
