//! Transports: bytes and connections. None of them knows a method.

mod bridge;
mod connection;
mod stream;
mod streamable_http;
mod websocket;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

pub use bridge::{BridgeError, Posted, Remote, bridge};
pub use stream::serve_stream;

use crate::server::Server;

/// The largest message, on every transport.
pub(crate) const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// The route of the MCP face's WebSocket, `/mcp/ws`. Requests to [`ENDPOINT`] go to [`Server::answer_http`] directly.
pub fn routes(server: Arc<Server>) -> Router {
    Router::new().route("/mcp/ws", get(websocket::handle)).with_state(server)
}

/// The path of Streamable HTTP.
pub const ENDPOINT: &str = "/mcp";
