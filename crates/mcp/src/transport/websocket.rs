//! WebSocket at `/mcp/ws`, and at `/mcp/{group}/ws`: one message per text frame, full MCP and the plain dialect.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message as Frame, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use http::Uri;
use toolrail_core::{CallerToken, ForeignPage, PeerAddress, Principal, Share};

use super::connection::Connection;
use super::{LARGEST_MESSAGE, http_sse};
use crate::peer::Session;
use crate::reply::Pieces;
use crate::server::Server;

/// How often a client that says nothing is asked whether it is still there.
const PROBE: Duration = Duration::from_mins(1);
/// How long a client may take to read one message.
const WRITE_DEADLINE: Duration = Duration::from_mins(1);
/// How long the two sides may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// Opens the connection.
pub(super) async fn handle(
    State(server): State<Arc<Server>>,
    (principal, token): (Option<Extension<Principal>>, Option<Extension<CallerToken>>),
    foreign_page: Option<Extension<ForeignPage>>,
    address: Option<Extension<PeerAddress>>,
    uri: Uri,
    upgrade: WebSocketUpgrade,
) -> Response {
    let principal = principal.map(|Extension(principal)| principal).unwrap_or_default();
    let endpoint = match server.endpoint_at(uri.path()) {
        Ok(endpoint) => Arc::clone(endpoint),
        Err(unknown) => return http_sse::fault(unknown),
    };
    let session = Session {
        plain_shapes: true,
        foreign_page: foreign_page.is_some(),
        address: address.map(|Extension(PeerAddress(address))| address),
        ..Session::of_connection()
    };
    let open = server.sockets.token();
    upgrade.max_message_size(LARGEST_MESSAGE).max_frame_size(LARGEST_MESSAGE).protocols(["mcp"]).on_upgrade(
        async move |socket| {
            let whose = principal.clone();
            let connection = Connection::new(Arc::clone(&server), session, principal, endpoint);
            let connection = connection.with_token(token.map(|Extension(token)| token));
            serve(connection, &whose, server, socket).await;
            drop(open);
        },
    )
}

async fn serve(mut connection: Connection, whose: &Principal, server: Arc<Server>, socket: WebSocket) {
    let mut ended = pin!(whose.ended());
    let (mut sink, mut frames) = socket.split();
    let mut probe = tokio::time::interval(PROBE);
    probe.tick().await;
    let (mut silent, mut stopping) = (false, false);
    while !stopping || !connection.is_idle() {
        let outgoing = tokio::select! {
            // Read even when the limit of calls is reached: a close or a cancellation must be seen.
            frame = frames.next() => {
                silent = false;
                match frame {
                    Some(Ok(Frame::Text(text))) => connection.take(Bytes::from(text)),
                    Some(Ok(Frame::Binary(bytes))) => connection.take(bytes),
                    // Its answer waits to be sent: nothing more is read before it is, or answers would pile up.
                    Some(Ok(Frame::Ping(_))) => {
                        if !within(WRITE_DEADLINE, sink.flush()).await {
                            return;
                        }
                        None
                    }
                    Some(Ok(Frame::Pong(_))) => None,
                    // Dropping the connection cancels its calls.
                    Some(Ok(Frame::Close(_))) => return answer_goodbye(connection, sink).await,
                    Some(Err(error)) => return refuse(connection, sink, &error).await,
                    None => return,
                }
            }
            answer = connection.next() => answer,
            () = ended.as_mut() => return expel(connection, sink).await,
            // The calls under way may finish.
            () = server.closing.cancelled(), if !stopping => {
                stopping = true;
                None
            }
            _ = probe.tick() => {
                // Nothing heard for a whole period, not even the answer to the last probe.
                if std::mem::replace(&mut silent, true) && connection.is_idle() {
                    return;
                }
                if !within(WRITE_DEADLINE, sink.send(Frame::Ping(Bytes::new()))).await {
                    return;
                }
                None
            }
        };
        if let Some(answer) = outgoing
            && !send(&mut sink, answer, &connection.share).await
        {
            return;
        }
    }
    drop(connection);
    say_goodbye(sink, frames).await;
}

/// The client may do nothing any more: says so, and goes.
async fn expel(connection: Connection, mut sink: impl Sink<Frame> + Unpin) {
    drop(connection);
    let reason = Utf8Bytes::from_static("the key was revoked or has expired");
    let close = Frame::Close(Some(CloseFrame { code: close_code::POLICY, reason }));
    let _ = tokio::time::timeout(GOODBYE, sink.send(close)).await;
}

/// The client closes. Its frame has been answered with the same code as soon as what waits to be sent is.
async fn answer_goodbye(connection: Connection, mut sink: impl Sink<Frame> + Unpin) {
    drop(connection);
    // A client that is gone by now misses nothing.
    let _ = tokio::time::timeout(GOODBYE, sink.close()).await;
}

/// The server stops: says so, and waits for the client to have heard it.
async fn say_goodbye(mut sink: impl Sink<Frame> + Unpin, mut frames: impl Stream + Unpin) {
    let reason = Utf8Bytes::from_static("the server stops");
    let close = Frame::Close(Some(CloseFrame { code: close_code::AWAY, reason }));
    let both = async {
        if sink.send(close).await.is_ok() {
            while frames.next().await.is_some() {}
        }
    };
    // One that says nothing is left.
    let _ = tokio::time::timeout(GOODBYE, both).await;
}

/// Says why the connection ends, if it is not broken. What the client is still sending is not read, so it gets a moment to
/// hear that.
async fn refuse(connection: Connection, mut sink: impl Sink<Frame> + Unpin, error: &axum::Error) {
    drop(connection);
    let Some(why) = reason_of(error) else { return };
    if within(GOODBYE, sink.send(Frame::Close(Some(why)))).await {
        tokio::time::sleep(GOODBYE).await;
    }
}

/// What the client did wrong; nothing where the connection itself failed. The error is of a library behind the one that is
/// used here, which does not say more than its text.
fn reason_of(error: &axum::Error) -> Option<CloseFrame> {
    /// A frame that closes has at most 125 bytes, two of which are the code.
    const LONGEST: usize = 123;
    let told = error.to_string();
    let (sort, what) = told.split_once(": ").unwrap_or((&told, ""));
    let (code, mut reason) = match sort {
        "Space limit exceeded" => {
            (close_code::SIZE, format!("a message has at most {} MiB", LARGEST_MESSAGE / 1024 / 1024))
        }
        "UTF-8 encoding error" => (close_code::INVALID, "a text must be UTF-8".to_owned()),
        "WebSocket protocol error" => (close_code::PROTOCOL, format!("not a proper frame: {what}")),
        _ => return None,
    };
    reason.truncate(reason.floor_char_boundary(LONGEST));
    Some(CloseFrame { code, reason: reason.into() })
}

/// Sends one message as a frame; false if the client is gone or does not read. Every piece of it is JSON made of checked
/// text.
async fn send(sink: &mut (impl Sink<Frame> + Unpin), answer: Pieces, share: &Share) -> bool {
    // The frame takes the place of the pieces, until the client has read it.
    let _held = share.hold_instead(answer.left());
    let text = Utf8Bytes::try_from(answer.joined()).unwrap_or_default();
    within(WRITE_DEADLINE, sink.send(Frame::Text(text))).await
}

/// Whether writing succeeds in time.
async fn within<E>(deadline: Duration, writing: impl Future<Output = Result<(), E>>) -> bool {
    matches!(tokio::time::timeout(deadline, writing).await, Ok(Ok(())))
}
