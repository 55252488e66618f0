//! The MCP server on raw JSON: envelope, method table, dialects and transports. Transports know bytes and connections,
//! never a method; methods know no transport.

mod batch;
mod caller;
mod capabilities;
mod content;
mod conversation;
mod dialect;
mod dispatch;
mod envelope;
mod finish;
mod follower;
mod headers;
mod instructions;
mod introduction;
mod live;
mod long_lists;
mod mailboxes;
mod methods;
mod outbox;
mod peer;
mod questions;
mod relay;
mod replicas;
mod reply;
mod resume;
mod server;
mod session;
mod sign;
mod stamp;
mod state;
mod task_names;
mod tasks;
#[cfg(test)]
mod tests;
mod transport;

pub use introduction::ServerInfo;
pub use server::Server;
pub use transport::{
    Body, BridgeError, ENDPOINT, Incoming, Remote, RemoteReply, TAKEN, bridge, is_endpoint, routes,
    serve_stream, speaks_mcp,
};
