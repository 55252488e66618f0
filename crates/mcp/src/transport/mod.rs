//! Transports: bytes and connections. None of them knows a method.

mod body;
mod bridge;
mod connection;
mod events;
mod http_sse;
mod read;
mod stream;
mod streamable_http;
mod websocket;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

pub use body::Body;
pub use bridge::{BridgeError, Incoming, Remote, Reply, bridge};
pub(crate) use http_sse::Mailboxes;
pub use stream::serve_stream;

use crate::server::Server;

/// The largest message, on every transport.
pub(crate) const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// The routes of the MCP face beside [`ENDPOINT`], whose requests go to [`Server::answer_http`] directly: the WebSocket, and
/// the transport of 2024-11-05.
pub fn routes(server: Arc<Server>) -> Router {
    Router::new()
        .route(WEBSOCKET, get(websocket::handle))
        .route(EVENTS, get(http_sse::open))
        .route(MESSAGES, post(http_sse::take))
        .with_state(server)
}

/// The path of Streamable HTTP.
pub const ENDPOINT: &str = "/mcp";
const WEBSOCKET: &str = "/mcp/ws";
const EVENTS: &str = "/sse";
const MESSAGES: &str = "/messages";

/// Whether clients of MCP speak to that path, who read JSON-RPC only.
pub fn speaks_mcp(path: &str) -> bool {
    [ENDPOINT, WEBSOCKET, EVENTS, MESSAGES].contains(&path)
}
