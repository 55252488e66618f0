//! The MCP server on raw JSON: envelope, method table, dialects and transports. Transports know bytes and connections,
//! never a method; methods know no transport.

mod capabilities;
mod content;
mod dialect;
mod envelope;
mod finish;
mod headers;
mod methods;
mod peer;
mod reply;
mod server;
mod tasks;
#[cfg(test)]
mod tests;
mod transport;

pub use reply::Pieces;
pub use server::{Server, ServerInfo};
pub use transport::{BridgeError, ENDPOINT, Posted, Remote, bridge, routes, serve_stream};
