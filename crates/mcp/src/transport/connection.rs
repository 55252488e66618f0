//! A connection that carries many messages at once (stdio, WebSocket, HTTP+SSE): calls run side by side within the
//! connection's own task, so a slow one never blocks another, and each can be cancelled.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use toolrail_core::{CallerToken, Principal, Share};
use toolrail_registry::Endpoint;

use crate::envelope::{self, Message};
use crate::follower::{FollowedView, Follower, Wanted};
use crate::live::Live;
use crate::mailboxes::Sender;
use crate::outbox::{Outbox, OutboxItem};
use crate::peer::{Peer, Session};
use crate::reply::{Answer, Code, Fault, MessageOutcome, Pieces};
use crate::server::Server;

/// The most calls one connection may have under way; more are refused.
pub(super) const MOST_UNDER_WAY: usize = 1024;
/// The most bytes that the messages of these calls may have together, beside one.
const MOST_BYTES_UNDER_WAY: usize = 16 * 1024 * 1024;

type Running = Pin<Box<dyn Future<Output = MessageOutcome> + Send>>;
type Following = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The calls of one connection.
pub(super) struct Connection {
    server: Arc<Server>,
    session: Arc<Session>,
    principal: Principal,
    token: Option<CallerToken>,
    endpoint: Arc<Endpoint>,
    live: Arc<Live>,
    /// What it may have in flight.
    pub(super) share: Share,
    outbox: Arc<Outbox>,
    running: FuturesUnordered<Running>,
    /// Tells what changes, once a legacy client has introduced itself.
    following: Option<Following>,
    /// How many bytes the messages of the calls under way have.
    bytes_under_way: Arc<AtomicUsize>,
    /// What is to be sent next.
    ready: VecDeque<Pieces>,
}

/// What the message of one call weighs, as long as the call is under way.
struct Weight {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Weight {
    fn new(all: &Arc<AtomicUsize>, bytes: usize) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        Self { all: Arc::clone(all), bytes }
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Connection {
    /// A connection of that principal to that endpoint that has settled nothing yet.
    pub(super) fn new(
        server: Arc<Server>,
        session: Session,
        principal: Principal,
        endpoint: Arc<Endpoint>,
    ) -> Self {
        let live = session.live.clone().unwrap_or_default();
        Self {
            server,
            session: Arc::new(session),
            share: Share::of(&principal),
            principal,
            token: None,
            endpoint,
            live,
            outbox: Arc::default(),
            running: FuturesUnordered::new(),
            following: None,
            bytes_under_way: Arc::default(),
            ready: VecDeque::new(),
        }
    }

    /// The same, opened with that token, if there was one. It lasts no longer than that.
    pub(super) fn with_token(mut self, token: Option<CallerToken>) -> Self {
        self.token = token;
        self
    }

    /// Whether any call is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.outbox.is_empty() && self.ready.is_empty()
    }

    /// Takes one message: starts a call, or cancels one, or answers a question. What comes back is to be sent at once.
    pub(super) fn take(&mut self, bytes: Bytes) -> Option<Pieces> {
        self.take_from(bytes, Sender::Opener)
    }

    /// The same where messages come by another way than the connection itself.
    pub(super) fn take_from(&mut self, bytes: Bytes, sender: Sender) -> Option<Pieces> {
        let id = match envelope::parse(&bytes) {
            Ok(Message::Request(request)) => Some(request.id.get().to_owned()),
            // Short work: no call is started for these, so that they get through when too many are under way.
            Ok(Message::Notification(notification)) => {
                if let Some(id) = envelope::cancelled(&notification) {
                    self.live.cancel(id.get());
                }
                self.server.pass_on_roots(&notification, &self.live, (&self.principal, &self.endpoint));
                return None;
            }
            Ok(Message::Response(response)) => {
                if let Some(id) = response.id {
                    self.live.questions.answer(id, response.result);
                }
                return None;
            }
            Err(_) if envelope::is_batch(&bytes) => None,
            Err((id, fault)) => return Some(Answer::write(id, Err(fault)).body),
        };
        let bytes_under_way = self.bytes_under_way.load(Ordering::Relaxed);
        if self.running.len() >= MOST_UNDER_WAY || bytes_under_way > MOST_BYTES_UNDER_WAY {
            let id = id.as_deref().and_then(|id| serde_json::from_str(id).ok());
            let message = "too many calls are under way on this connection; wait for one to end";
            return Some(Answer::write(id, Err(Fault::new(Code::CallFailed, message))).body);
        }
        match self.share.keep(bytes) {
            Ok(bytes) => self.begin(id, bytes, sender),
            Err(full) => {
                let id = id.as_deref().and_then(|id| serde_json::from_str(id).ok());
                return Some(Answer::write(id, Err(Fault::full(full))).body);
            }
        }
        None
    }

    fn begin(&mut self, id: Option<String>, bytes: Bytes, sender: Sender) {
        let foreign_page = self.session.foreign_page || sender == Sender::ForeignPage;
        let (handle, registration) = AbortHandle::new_pair();
        let begun = id.map(|id| self.live.begin(&id, handle));
        let (server, session) = (Arc::clone(&self.server), Arc::clone(&self.session));
        let (outbox, principal) = (Arc::clone(&self.outbox), self.principal.clone());
        let (endpoint, token) = (Arc::clone(&self.endpoint), self.token.clone());
        let weight = Weight::new(&self.bytes_under_way, bytes.len());
        self.running.push(Box::pin(self.share.clone().scope(async move {
            let (_begun, _weight) = (begun, weight);
            let call = async {
                let peer = Peer {
                    claims: None,
                    session: &session,
                    principal: &principal,
                    token: token.as_ref(),
                    endpoint: &endpoint,
                    address: None,
                    foreign_page,
                    outbox: Some(&outbox),
                };
                server.answer(&bytes, &peer).await
            };
            Abortable::new(call, registration).await.unwrap_or(MessageOutcome::Nothing)
        })));
    }

    /// The next message to send; waits for ever while there is none.
    pub(super) async fn next(&mut self) -> Option<Pieces> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for those who poll.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Pieces>> {
        if let Some(ready) = self.ready.pop_front() {
            return Poll::Ready(Some(ready));
        }
        // What a call says on its way comes before its answer, which it gives last.
        let idle = self.running.is_empty();
        let ended = if idle { Poll::Pending } else { self.running.poll_next_unpin(context) };
        if let Poll::Ready(Some(said)) = ended {
            self.follow();
            while let Some(message) = self.outbox.take() {
                self.ready.push_back(message.into());
            }
            if let MessageOutcome::Answer(answer) = said {
                self.ready.push_back(answer.body);
            }
            return Poll::Ready(self.ready.pop_front());
        }
        if let Some(following) = &mut self.following {
            let _ = following.as_mut().poll(context);
        }
        match self.outbox.poll_next(context) {
            Poll::Ready(OutboxItem::Message(message)) => Poll::Ready(Some(message.into())),
            Poll::Ready(OutboxItem::HangUp) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Begins to tell what changes as soon as a legacy revision is settled; modern clients ask for it themselves.
    fn follow(&mut self) {
        if self.following.is_some() || self.session.revision.get().is_none() {
            return;
        }
        let view = FollowedView {
            registry: Arc::clone(&self.server.registry),
            principal: self.principal.clone(),
            endpoint: Arc::clone(&self.endpoint),
        };
        let mut follower = Follower::new(view, Wanted::by_session(&self.live, self.server.replica()));
        let outbox = Arc::clone(&self.outbox);
        self.following = Some(Box::pin(self.share.clone().scope(async move {
            loop {
                outbox.push(follower.next().await);
            }
        })));
    }
}
