//! One way to a server, HTTP session or process, and the exchanges on it: a request, whatever belongs to it, its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use serde_json::json;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::failure::Failure;
use super::http::{HttpExchange, HttpSession};
use super::message::{self, ServerMessage};
use super::process::{Process, ProcessExchange, Unasked};
use super::session_stream::SessionStream;

/// A way to a server.
pub(super) struct Wire {
    kind: WireKind,
    ids: AtomicU64,
    /// Where what must be said at the end is said.
    farewells: TaskTracker,
    /// What is being said: the session ends after it.
    words: TaskTracker,
}

pub(super) enum WireKind {
    Http(Arc<HttpSession>),
    Stdio(Box<Process>),
}

/// A request on its way out.
#[derive(Clone, Debug)]
pub(super) struct OutgoingRequest {
    pub(super) id: u64,
    pub(super) method: &'static str,
    /// The name or URI that it concerns.
    pub(super) name: Option<String>,
    pub(super) params: Bytes,
    /// Arguments that are repeated in headers.
    pub(super) params_in_headers: Vec<(String, String)>,
}

/// A request that was sent, until its answer is there. Dropping it earlier cancels the request.
pub(super) struct PendingRequest {
    wire: Arc<Wire>,
    id: u64,
    kind: ExchangeKind,
    is_answered: bool,
    /// Whether the server may be told that nobody waits for the answer any more.
    may_be_cancelled: bool,
}

enum ExchangeKind {
    Http(HttpExchange),
    Stdio(ProcessExchange),
}

/// Takes what a server sends without having been asked; nothing once it will send nothing more.
pub(super) type Take = Arc<dyn Fn(Option<ServerMessage>) + Send + Sync>;

/// What a server sends without having been asked, beside the streams of requests.
pub(super) enum Unsolicited {
    /// Nothing can come.
    None,
    Stream(Box<SessionStream>),
    Lines(Unasked),
}

impl OutgoingRequest {
    pub(super) fn message(&self) -> Bytes {
        message::request(self.id, self.method, &self.params)
    }
}

impl Wire {
    pub(super) fn new(kind: WireKind, farewells: TaskTracker) -> Arc<Self> {
        let words = TaskTracker::new();
        words.close();
        Arc::new(Self { kind, ids: AtomicU64::new(1), farewells, words })
    }

    pub(super) fn kind(&self) -> &WireKind {
        &self.kind
    }

    /// The server in messages.
    pub(super) fn place(&self) -> String {
        match &self.kind {
            WireKind::Http(session) => session.endpoint.name(),
            WireKind::Stdio(process) => process.name().to_owned(),
        }
    }

    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins a request.
    pub(super) fn begin(self: &Arc<Self>, request: OutgoingRequest) -> Result<PendingRequest, Failure> {
        let (id, may_be_cancelled) = (request.id, request.method != "initialize");
        let kind = match &self.kind {
            WireKind::Http(session) => ExchangeKind::Http(session.begin(request)),
            WireKind::Stdio(process) => ExchangeKind::Stdio(process.begin(&request)?),
        };
        Ok(PendingRequest { wire: Arc::clone(self), id, kind, is_answered: false, may_be_cancelled })
    }

    /// Sends a message that needs no answer.
    pub(super) async fn send(&self, message: Bytes) -> Result<(), Failure> {
        match &self.kind {
            WireKind::Http(session) => session.notify(message).await,
            WireKind::Stdio(process) => process.send(message),
        }
    }

    /// Sends a message from a place that cannot wait.
    pub(super) fn send_soon(&self, message: Bytes) {
        match &self.kind {
            WireKind::Http(session) => {
                let session = Arc::clone(session);
                let words = self.words.track_future(async move { drop(session.notify(message).await) });
                self.say(words);
            }
            WireKind::Stdio(process) => drop(process.send(message)),
        }
    }

    /// Makes a request from a place that cannot wait, and for which its answer does not matter.
    pub(super) fn ask_soon(&self, exchange: PendingRequest) {
        let mut exchange = exchange;
        let words = self.words.track_future(async move {
            while let Ok(message) = exchange.next().await {
                if matches!(message, ServerMessage::Answer { .. }) {
                    return;
                }
            }
        });
        self.say(words);
    }

    fn say(&self, words: impl Future<Output = ()> + Send + 'static) {
        const WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.farewells.spawn_on(
                async move {
                    // Whoever does not take it in time does not want it.
                    drop(tokio::time::timeout(WITHIN, words).await);
                },
                &runtime,
            );
        }
    }

    fn is_modern_http(&self) -> bool {
        matches!(&self.kind, WireKind::Http(session) if session.is_modern)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let WireKind::Http(session) = &self.kind
            && session.session.is_some()
        {
            let (session, words) = (Arc::clone(session), self.words.clone());
            // A server that has forgotten the session would refuse what is still to be said in it.
            self.say(async move {
                words.wait().await;
                session.end().await;
            });
        }
    }
}

impl PendingRequest {
    /// The next message that belongs to this request; the answer is the last. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Result<ServerMessage, Failure> {
        let next = match &mut self.kind {
            ExchangeKind::Http(exchange) => exchange.next().await,
            ExchangeKind::Stdio(exchange) => exchange.next().await,
        };
        self.is_answered |= matches!(next, Err(_) | Ok(ServerMessage::Answer { .. }));
        if self.is_answered {
            self.read_to_end();
        }
        next
    }

    /// Reads what a server sends behind its answer, which is nothing but the end: only then the connection can be kept.
    fn read_to_end(&mut self) {
        let ExchangeKind::Http(exchange) = &mut self.kind else { return };
        if let Some(mut ending) = exchange.ending()
            && ending.as_mut().now_or_never().is_none()
        {
            self.wire.say(ending);
        }
    }

    pub(super) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The session that the answer named in its head.
    pub(super) fn named_session(&self) -> Option<http::HeaderValue> {
        match &self.kind {
            ExchangeKind::Http(exchange) => exchange.named_session.clone(),
            ExchangeKind::Stdio(_) => None,
        }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        // Over modern HTTP the closed stream says it.
        if !self.is_answered && self.may_be_cancelled && !self.wire.is_modern_http() {
            let params = json!({"requestId": self.id, "reason": "the client no longer waits"});
            self.wire.send_soon(message::notice("notifications/cancelled", Some(&params)));
        }
    }
}

impl Unsolicited {
    /// Waits a moment until the server can send something, so that nothing it sends during a call is lost.
    pub(super) async fn ready(&mut self) {
        if let Self::Stream(stream) = self {
            stream.ready().await;
        }
    }

    /// Hands everything to `take` from now on, and nothing once when the source has ended. It ends with what comes back.
    pub(super) fn hand_to(self, take: Take) -> Option<AbortOnDropHandle<()>> {
        match self {
            Self::None => None,
            Self::Lines(lines) => {
                lines.hand_to(take);
                None
            }
            Self::Stream(mut stream) => Some(AbortOnDropHandle::new(tokio::spawn(async move {
                while let Some(message) = stream.next().await {
                    take(Some(message));
                }
                take(None);
            }))),
        }
    }

    /// The next message; waits for ever where nothing can come, and nothing when the source has ended.
    pub(super) async fn next(&mut self) -> Option<ServerMessage> {
        match self {
            Self::None => std::future::pending().await,
            Self::Stream(stream) => stream.next().await,
            Self::Lines(lines) => lines.next().await,
        }
    }
}
