//! How tools are used: what calls left behind (`calls/`) is written to the store and read back from every replica (`counts.rs`,
//! `learning.rs`). `temperature.rs` says what all that makes of a tool.

mod counts;
mod learning;
mod temperature;

pub use learning::Learning;
pub use temperature::{Temperature, ToolUse};
