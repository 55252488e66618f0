//! What MCP lays down and both sides of the gateway speak, each fact once: revisions, the names of headers and of members of
//! `_meta`, the numbers of errors, and how headers and events carry values. No input or output, and nothing of Toolrail's own.

pub mod code;
pub mod header;
mod header_param;
pub mod meta;
pub mod revision;
pub mod sse;

pub use header_param::HeaderParam;
pub use revision::Era;
