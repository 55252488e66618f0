//! Native tools as the registry sees them: annotated functions, their schemas and their calls.

mod annotated;
mod calling;
mod client;
mod offering;
mod questions;
mod results;
