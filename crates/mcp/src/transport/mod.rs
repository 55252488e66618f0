//! Transports: bytes and connections. None of them knows a method.

mod body;
mod bridge;
mod connection;
mod events;
mod http_sse;
mod paths;
mod read;
mod stream;
mod streamable_http;
mod visitor;
mod websocket;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

pub use body::Body;
pub use bridge::{BridgeError, Incoming, Remote, RemoteReply, bridge};
pub use paths::{ENDPOINT, TAKEN, is_endpoint, speaks_mcp};
pub use stream::serve_stream;

use crate::server::Server;
use paths::{EVENTS, GROUP_EVENTS, GROUP_MESSAGES, GROUP_WEBSOCKET, MESSAGES, WEBSOCKET};

/// The largest message, on every transport.
pub(crate) const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// The routes of the MCP face beside those of Streamable HTTP, whose requests go to [`Server::answer_http`] directly: the
/// WebSocket, and the transport of 2024-11-05.
pub fn routes(server: Arc<Server>) -> Router {
    Router::new()
        .route(WEBSOCKET, get(websocket::handle))
        .route(EVENTS, get(http_sse::open))
        .route(MESSAGES, post(http_sse::take))
        .route(GROUP_WEBSOCKET, get(websocket::handle))
        .route(GROUP_EVENTS, get(http_sse::open))
        .route(GROUP_MESSAGES, post(http_sse::take))
        .with_state(server)
}
