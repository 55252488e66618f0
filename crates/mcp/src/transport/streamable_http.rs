//! Streamable HTTP. A POST carries one message and is answered with JSON, or with a stream of events as soon as there is
//! something to say before the answer. GET opens the stream of a legacy session, DELETE ends the session.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use toolrail_core::{PeerAddress, Share};
use toolrail_protocol::revision;
use toolrail_protocol::revision::V2025_11_25;

use super::Body;
use super::events::{self, ConnectionAnswer, Priming, Reading};
use super::read::read;
use super::visitor::Visitor;
use crate::envelope::{self, Message};
use crate::follower::{FollowedView, Follower, Wanted};
use crate::headers::Claims;
use crate::live::{self, Live};
use crate::outbox::{Outbox, OutboxItem};
use crate::peer::{Peer, Session};
use crate::relay::Report;
use crate::reply::{Answer, Code, Fault, MessageOutcome};
use crate::resume::{EventId, Stream};
use crate::server::Server;
use crate::session;

/// The largest request that is kept as long as its stream lasts.
const LARGEST_LISTEN: usize = 256 * 1024;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

impl Server {
    /// Answers one HTTP request to the MCP endpoint or that of a group, from a client at that address.
    pub async fn answer_http<B>(
        self: &Arc<Self>,
        request: Request<B>,
        address: Option<PeerAddress>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let (parts, body) = request.into_parts();
        let outcome = match Visitor::of(self, &parts, address) {
            Ok(visitor) => self.answer_visitor(visitor, parts, body).await,
            // Clients match answers by the id, so it is read even where nobody is there to answer.
            Err(fault) if parts.method == Method::POST => {
                read(body).await.map(|bytes| respond_to(&bytes, fault))
            }
            Err(fault) => Err(fault),
        };
        outcome.unwrap_or_else(|fault| respond(Answer::write(None, Err(fault))))
    }

    async fn answer_visitor<B>(
        self: &Arc<Self>,
        visitor: Visitor,
        parts: Parts,
        body: B,
    ) -> Result<Response<Body>, Fault>
    where
        B: http_body::Body<Data = Bytes>,
    {
        match parts.method {
            Method::POST => self.post(visitor, parts, read(body).await?).await,
            Method::GET if !is_modern(&parts.headers) => self.open_stream(&visitor, &parts.headers),
            Method::DELETE if !is_modern(&parts.headers) => self.end_session(&visitor, &parts.headers),
            _ => Ok(wrong_method()),
        }
    }

    async fn post(
        self: &Arc<Self>,
        visitor: Visitor,
        mut parts: Parts,
        mut bytes: Bytes,
    ) -> Result<Response<Body>, Fault> {
        if parts.headers.get("mcp-method").is_some_and(|method| method == "subscriptions/listen") {
            if bytes.len() > LARGEST_LISTEN {
                let message = format!("a request to listen has at most {} KiB", LARGEST_LISTEN / 1024);
                return Err(Fault::new(Code::InvalidRequest, message).with_status(413));
            }
            // It may last for days: it shall not hold on to the buffer that the connection read it into.
            (parts.headers, bytes) = (detached(&parts.headers), Bytes::copy_from_slice(&bytes));
        }
        let session = match self.session_of(&parts.headers, &visitor) {
            Ok(session) => session.unwrap_or_default(),
            Err(fault) => return Ok(respond_to(&bytes, fault)),
        };
        let outbox = Arc::<Outbox>::default();
        let exchange = PostExchange {
            server: Arc::clone(self),
            streams: accepts(&parts.headers, "text/event-stream"),
            headers: parts.headers,
            outbox: Arc::clone(&outbox),
            session: Arc::new(session),
            visitor: visitor.clone(),
            bytes,
        };
        let session = Arc::clone(&exchange.session);
        // Streams are driven by whoever reads them, on behalf of the same share.
        let mut answering: PendingOutcome = Box::pin(Share::current().scope(exchange.answer()));
        let at_once = poll_fn(|context| {
            if let Poll::Ready(said) = answering.as_mut().poll(context) {
                return Poll::Ready(Some(said));
            }
            outbox.poll_stirred(context).map(|()| None)
        })
        .await;
        Ok(match at_once {
            Some(said) if outbox.is_empty() => self.respond_whole(said, &session, &visitor),
            Some(MessageOutcome::Answer(answer)) => {
                let last = Some(answer.body);
                events::respond(ConnectionAnswer { future: None, outbox, last, next_id: None, first: None })
            }
            Some(MessageOutcome::Nothing | MessageOutcome::Unexpected) => events::respond(ConnectionAnswer {
                future: None,
                outbox,
                last: None,
                next_id: None,
                first: None,
            }),
            None => self.respond_stream(answering, outbox, &session),
        })
    }

    fn respond_whole(&self, said: MessageOutcome, session: &Session, visitor: &Visitor) -> Response<Body> {
        match said {
            MessageOutcome::Answer(answer) => {
                let good = answer.status == 200;
                let mut response = respond(answer);
                // Settled just now: a session that was known by its id has something live.
                if good
                    && session.live.is_none()
                    && let Some(id) = session::issue(&self.signer, session, visitor.owner())
                    && let Ok(id) = HeaderValue::from_str(&id)
                {
                    response.headers_mut().insert(SESSION, id);
                }
                response
            }
            MessageOutcome::Nothing => empty(StatusCode::ACCEPTED),
            MessageOutcome::Unexpected => respond(Answer::write(None, Err(nobody_asked()))),
        }
    }

    /// A legacy call goes on when its client loses the connection, and the client may come back for the rest; any other
    /// ends with its connection.
    fn respond_stream(
        self: &Arc<Self>,
        answering: PendingOutcome,
        outbox: Arc<Outbox>,
        session: &Session,
    ) -> Response<Body> {
        let live = session.live.as_ref().filter(|_| session.revision.get().is_some());
        let Some(stream) = live.and_then(|live| live.streams.open()) else {
            return events::respond(ConnectionAnswer {
                future: Some(answering),
                outbox,
                last: None,
                next_id: None,
                first: None,
            });
        };
        let place = EventId { replica: self.replica(), stream: stream.number, event: 0 };
        let reading = Reading::from(Arc::clone(&stream), place, priming_for(session));
        self.tracker.spawn(record(answering, outbox, stream));
        events::respond(reading)
    }

    /// The session that a request names. Nothing if it names none; a fault if it names one that is not ours, is somebody
    /// else's, is held at another endpoint or has ended.
    fn session_of(&self, headers: &HeaderMap, visitor: &Visitor) -> Result<Option<Session>, Fault> {
        let Some(id) = headers.get(&SESSION) else { return Ok(None) };
        let known = id.to_str().ok().and_then(|id| {
            let session = session::recognise(&self.signer, id, visitor.owner())?;
            Some(Session { live: Some(self.sessions.live(id)?), ..session })
        });
        known.map(Some).ok_or_else(|| {
            Fault::new(Code::InvalidRequest, "unknown or ended session; send initialize to begin a new one")
                .with_status(404)
        })
    }

    /// The stream of a session, or the rest of a stream that the client has lost.
    fn open_stream(
        self: &Arc<Self>,
        visitor: &Visitor,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, Fault> {
        let Some(session) = self.session_of(headers, visitor)? else {
            return Ok(wrong_method());
        };
        if !accepts(headers, "text/event-stream") {
            let message = "this answers with a stream of events; accept text/event-stream";
            return Err(Fault::new(Code::InvalidRequest, message).with_status(406));
        }
        let Some(live) = &session.live else { return Ok(wrong_method()) };
        let last = headers.get(&LAST_EVENT).map(event_id).transpose()?;
        let Some(last) = last.filter(|last| last.stream != 0) else {
            return Ok(self.session_stream(&session, live, (last, visitor)));
        };
        let stream = Some(last).filter(|last| last.replica == self.replica());
        let Some(stream) = stream.and_then(|last| live.streams.find(last.stream)) else {
            // Its call ran on another replica, or too long ago: only a new session helps.
            let message = "that stream is not here any more; send initialize to begin a new session";
            return Err(Fault::new(Code::InvalidRequest, message).with_status(404));
        };
        Ok(events::respond(Reading::from(stream, last, Priming::LeftOut)))
    }

    fn session_stream(
        self: &Arc<Self>,
        session: &Session,
        live: &Arc<Live>,
        (last, visitor): (Option<EventId>, &Visitor),
    ) -> Response<Body> {
        let view = FollowedView {
            registry: Arc::clone(&self.registry),
            principal: visitor.principal.clone(),
            endpoint: Arc::clone(&visitor.endpoint),
        };
        let mut follower = Follower::new(view, Wanted::by_session(live, self.replica()));
        if self.may_have_missed(session) || last.is_some() {
            // Whatever changed while the client was away has not been told.
            follower.tell_everything();
        }
        let outbox = Arc::<Outbox>::default();
        let floor = (Arc::clone(live), live.take_the_floor());
        let following = follow(Arc::clone(self), floor, follower, Arc::clone(&outbox));
        let place = EventId { replica: self.replica(), stream: 0, event: 0 };
        let first = (priming_for(session) == Priming::Sent)
            .then(|| events::priming(place, events::BACK_FOR_A_SESSION));
        let first = first.unwrap_or_else(|| Bytes::from_static(b": here you are\n\n").into());
        events::respond(ConnectionAnswer {
            future: Some(Box::pin(following)),
            outbox,
            last: None,
            next_id: Some(place),
            first: Some(first),
        })
    }

    fn end_session(&self, visitor: &Visitor, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
        if self.session_of(headers, visitor)?.is_none() {
            let message = "name the session to end in the header Mcp-Session-Id";
            return Err(Fault::new(Code::InvalidRequest, message).with_status(400));
        }
        if let Some(id) = headers.get(&SESSION).and_then(|id| id.to_str().ok()) {
            self.sessions.end(id);
            self.relay.newsroom.tell(&Report::Ended { session: live::key(id).to_owned() });
        }
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

type PendingOutcome = Pin<Box<dyn Future<Output = MessageOutcome> + Send>>;

/// One POST on its way, owning all that it needs, so that it can outlive the connection.
struct PostExchange {
    server: Arc<Server>,
    headers: HeaderMap,
    session: Arc<Session>,
    visitor: Visitor,
    outbox: Arc<Outbox>,
    bytes: Bytes,
    /// Whether the client takes a stream.
    streams: bool,
}

impl PostExchange {
    async fn answer(self) -> MessageOutcome {
        let peer = Peer {
            claims: Some(Claims::of(&self.headers)),
            session: &self.session,
            principal: &self.visitor.principal,
            token: self.visitor.token.as_ref(),
            endpoint: &self.visitor.endpoint,
            address: self.visitor.address,
            foreign_page: self.visitor.foreign_page,
            outbox: self.streams.then_some(&*self.outbox),
        };
        let Some(live) = &self.session.live else {
            return self.server.answer(&self.bytes, &peer).await;
        };
        // In a session the client cancels by naming the request.
        let Ok(Message::Request(request)) = envelope::parse(&self.bytes) else {
            return tokio::select! {
                said = self.server.answer(&self.bytes, &peer) => said,
                () = live.ended.cancelled() => MessageOutcome::Nothing,
            };
        };
        if self.streams && self.server.may_have_missed(&self.session) {
            // Not every client comes back to the stream of its session after a restart, but this one is here.
            let wanted = Wanted::by_session(live, self.server.replica());
            for list in ["tools", "prompts", "resources"] {
                self.outbox.push(wanted.notification(&format!("notifications/{list}/list_changed"), &[]));
            }
        }
        let (handle, registration) = AbortHandle::new_pair();
        let _begun = live.begin(request.id.get(), handle);
        let answering = self.server.answer_request(&request, &peer);
        Abortable::new(answering, registration).await.unwrap_or(MessageOutcome::Nothing)
    }
}

/// Drives a call to its end and keeps what it says.
async fn record(mut answering: PendingOutcome, outbox: Arc<Outbox>, stream: Arc<Stream>) {
    loop {
        let next = poll_fn(|context| {
            if let Poll::Ready(said) = answering.as_mut().poll(context) {
                return Poll::Ready(Err(said));
            }
            outbox.poll_next(context).map(Ok)
        })
        .await;
        match next {
            Ok(OutboxItem::Message(message)) => stream.push(message),
            Ok(OutboxItem::HangUp) => stream.hang_up(),
            Err(said) => {
                while let Some(message) = outbox.take() {
                    stream.push(message);
                }
                if let MessageOutcome::Answer(answer) = said {
                    stream.push(answer.body.into_line());
                }
                return stream.finish();
            }
        }
    }
}

/// Tells a session what changes until the server or the session ends, or another stream speaks for it.
async fn follow(
    server: Arc<Server>,
    (live, floor): (Arc<Live>, u64),
    mut follower: Follower,
    outbox: Arc<Outbox>,
) -> MessageOutcome {
    loop {
        tokio::select! {
            message = follower.next() => {
                if !live.has_the_floor(floor) {
                    return MessageOutcome::Nothing;
                }
                outbox.push(message);
            }
            () = server.closing.cancelled() => return MessageOutcome::Nothing,
            () = live.ended.cancelled() => return MessageOutcome::Nothing,
        }
    }
}

/// The same headers in memory of their own.
fn detached(headers: &HeaderMap) -> HeaderMap {
    let copied = |value: &HeaderValue| HeaderValue::from_bytes(value.as_bytes()).ok();
    headers.iter().filter_map(|(name, value)| Some((name.clone(), copied(value)?))).collect()
}

fn priming_for(session: &Session) -> Priming {
    match session.revision.get() {
        Some(&V2025_11_25) => Priming::Sent,
        _ => Priming::LeftOut,
    }
}

/// Whether a modern revision is named, which has neither sessions nor their streams.
fn is_modern(headers: &HeaderMap) -> bool {
    headers
        .get(&VERSION)
        .is_some_and(|version| version.to_str().is_ok_and(|version| revision::MODERN.contains(&version)))
}

/// Whether the client takes that media type. One that says nothing takes anything.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    let main = wanted.split('/').next().unwrap_or_default();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|range| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range.eq_ignore_ascii_case(wanted)
            || range == "*/*"
            || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(main))
    })
}

fn event_id(value: &HeaderValue) -> Result<EventId, Fault> {
    value.to_str().ok().and_then(EventId::parse).ok_or_else(|| {
        let message =
            "Last-Event-ID is not the id of an event of ours; leave it out to open the session's own stream";
        Fault::new(Code::InvalidRequest, message).with_status(400)
    })
}

fn nobody_asked() -> Fault {
    let message = "nobody here waits for that answer; the request may have ended, or run elsewhere";
    Fault::new(Code::InvalidRequest, message).with_status(404)
}

/// The answer to whatever request those bytes are.
fn respond_to(bytes: &Bytes, fault: Fault) -> Response<Body> {
    let id = match envelope::parse(bytes) {
        Ok(Message::Request(request)) => Some(request.id),
        _ => None,
    };
    respond(Answer::write(id, Err(fault)))
}

fn respond(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::Whole(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn wrong_method() -> Response<Body> {
    let message =
        "send JSON-RPC messages with POST; GET and DELETE are for sessions that initialize has opened";
    let fault = Fault::new(Code::InvalidRequest, message).with_status(405);
    let mut response = respond(Answer::write(None, Err(fault)));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(crate::reply::Pieces::default()));
    *response.status_mut() = status;
    response
}
