//! Native tools as the registry sees them: annotated functions, their schemas and their calls.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, also inside its helpers")]

mod annotated;
mod calling;
mod client;
mod offering;
mod questions;
mod results;
