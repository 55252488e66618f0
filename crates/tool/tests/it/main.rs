//! Native tools as the registry sees them: annotated functions, their schemas and their calls.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, also inside its helpers")]
#![expect(clippy::unused_async, reason = "functions that wait for nothing can be annotated too")]

mod annotated;
mod calling;
mod client;
mod offering;
mod questions;
mod results;
