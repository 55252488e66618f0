//! HTTP+SSE, the transport of 2024-11-05: GET `/sse` opens a stream whose first event says where to POST, and every answer
//! comes on that stream. The connection lives in this process, so both must reach the same replica. It stays at the endpoint
//! that opened it, wherever messages for it are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::mpsc;
use toolrail_core::{CallerToken, ForeignPage, PeerAddress, Principal};

use super::connection::Connection;
use super::events::{self, EventSource};
use super::paths::messages_of;
use super::read::read;
use crate::mailboxes::{MailboxMessage, Sender, Slot};
use crate::peer::Session;
use crate::reply::{Answer, Code, Fault, Pieces};
use crate::server::Server;

/// The most messages that wait to be taken up by one connection.
const MOST_WAITING: usize = 64;
/// The most bytes that wait to be taken up by one connection, beside one message.
const MOST_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// One connection, driven by whoever reads its stream.
struct Mailbox {
    server: Arc<Server>,
    id: String,
    first: Option<Pieces>,
    messages: mpsc::Receiver<MailboxMessage>,
    waiting: Arc<AtomicUsize>,
    connection: Connection,
    closing: std::pin::Pin<Box<tokio_util::sync::WaitForCancellationFutureOwned>>,
}

/// Opens a connection.
pub(super) async fn open(
    State(server): State<Arc<Server>>,
    (principal, token): (Option<Extension<Principal>>, Option<Extension<CallerToken>>),
    foreign_page: Option<Extension<ForeignPage>>,
    address: Option<Extension<PeerAddress>>,
    uri: Uri,
) -> Response {
    let address = address.map(|Extension(PeerAddress(address))| address);
    let session = Session { foreign_page: foreign_page.is_some(), address, ..Session::of_connection() };
    let endpoint = match server.endpoint_at(uri.path()) {
        Ok(endpoint) => Arc::clone(endpoint),
        Err(unknown) => return fault(unknown),
    };
    let principal = principal.map(|Extension(principal)| principal).unwrap_or_default();
    let Some(random) = server.signer.random::<16>() else {
        return fault(Fault::new(Code::InvalidRequest, "no random numbers to be had").with_status(503));
    };
    let id = URL_SAFE_NO_PAD.encode(random);
    let (sender, messages) = mpsc::channel(MOST_WAITING);
    let waiting = Arc::<AtomicUsize>::default();
    let slot = Slot { principal: principal.clone(), sender, waiting: Arc::clone(&waiting) };
    server.mailboxes.lock().insert(id.clone(), slot);
    let mailbox = Mailbox {
        first: Some(
            Pieces::default()
                .and(format!("event: endpoint\ndata: {}?sessionId={id}\n\n", messages_of(&endpoint))),
        ),
        messages,
        waiting,
        connection: Connection::new(Arc::clone(&server), session, principal, endpoint)
            .with_token(token.map(|Extension(token)| token)),
        closing: Box::pin(server.closing.clone().cancelled_owned()),
        server,
        id,
    };
    events::respond(mailbox).map(Body::new)
}

#[derive(Deserialize)]
pub(super) struct Address {
    #[serde(rename = "sessionId", default)]
    session_id: String,
}

/// Takes one message for a connection.
pub(super) async fn take(
    State(server): State<Arc<Server>>,
    Query(address): Query<Address>,
    request: Request,
) -> Response {
    let principal = request.extensions().get::<Principal>().cloned().unwrap_or_default();
    // Each message is judged by itself: whoever knows the id of a stream may send to it.
    let from = match request.extensions().get::<ForeignPage>() {
        Some(ForeignPage) => Sender::ForeignPage,
        None => Sender::Opener,
    };
    let message = match read(request.into_body()).await {
        Ok(message) => message,
        Err(unread) => return fault(unread),
    };
    let mailbox = server.mailboxes.lock().get(&address.session_id).cloned();
    let Some(mailbox) = mailbox.filter(|mailbox| mailbox.principal == principal) else {
        let message = "no stream of that sessionId is open here; open one with GET /sse";
        return fault(Fault::new(Code::InvalidRequest, message).with_status(404));
    };
    let length = message.len();
    if mailbox.waiting.load(Ordering::Relaxed) > MOST_WAITING_BYTES {
        return fault(too_many());
    }
    mailbox.waiting.fetch_add(length, Ordering::Relaxed);
    if mailbox.sender.try_send((message, from)).is_err() {
        mailbox.waiting.fetch_sub(length, Ordering::Relaxed);
        return fault(too_many());
    }
    let mut response = Response::new(Body::from("accepted"));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn too_many() -> Fault {
    Fault::new(Code::InvalidRequest, "too many messages wait on this connection").with_status(429)
}

/// The answer that says why there is none.
pub(super) fn fault(fault: Fault) -> Response {
    let answer = Answer::write(None, Err(fault));
    let mut response = Response::new(Body::new(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_REQUEST);
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

impl EventSource for Mailbox {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Pieces>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        while let Poll::Ready(Some((message, from))) = self.messages.poll_recv(context) {
            self.waiting.fetch_sub(message.len(), Ordering::Relaxed);
            if let Some(answer) = self.connection.take_from(message, from) {
                return Poll::Ready(Some(events::event(None, answer)));
            }
        }
        while let Poll::Ready(sent) = self.connection.poll_next(context) {
            if let Some(answer) = sent {
                return Poll::Ready(Some(events::event(None, answer)));
            }
        }
        Future::poll(self.closing.as_mut(), context).map(|()| None)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.server.mailboxes.lock().remove(&self.id);
    }
}
