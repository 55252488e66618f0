//! The kinds through their public door: a definition is checked and compiled, and its calls reach a real upstream on
//! loopback that tells what it received.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, also inside its helpers")]

mod echo;
mod embeddings;
mod feign;
mod http;
mod mcp;
mod offered;
mod previews;
mod problems;
mod prompts;
mod resources;
mod supplied;
mod tool;
