//! WebSocket at `/mcp/ws`: one message per text frame, full MCP and the plain dialect (R4, R10, R18, R21).

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{Message as Frame, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};

use super::LARGEST_MESSAGE;
use super::connection::Connection;
use crate::peer::Session;
use crate::server::Server;

/// Opens the connection.
pub(super) async fn handle(State(server): State<Arc<Server>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(LARGEST_MESSAGE)
        .max_frame_size(LARGEST_MESSAGE)
        .protocols(["mcp"])
        .on_upgrade(move |socket| serve(server, socket))
}

async fn serve(server: Arc<Server>, socket: WebSocket) {
    let (mut sink, mut frames) = socket.split();
    let mut connection = Connection::new(server, Session { plain_shapes: true, ..Session::default() });
    loop {
        tokio::select! {
            frame = frames.next(), if connection.has_room() => match frame {
                Some(Ok(Frame::Text(text))) => connection.take(Bytes::from(text)),
                Some(Ok(Frame::Binary(bytes))) => connection.take(bytes),
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                // The client is gone; dropping the connection cancels its calls.
                Some(Ok(Frame::Close(_)) | Err(_)) | None => return,
            },
            answer = connection.next() => {
                let Some(answer) = answer else { continue };
                if sink.send(Frame::Text(answer.into_text().into())).await.is_err() {
                    return;
                }
            }
        }
    }
}
