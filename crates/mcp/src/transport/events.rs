//! Server-sent events: messages framed as events, with comments in between that keep the connection alive.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body::Frame;
use tokio::time::{Instant, Sleep};

use super::Body;
use crate::outbox::{Outbox, OutboxItem};
use crate::reply::{MessageOutcome, Pieces};
use crate::resume::{EventId, Next, Stream};

/// How often a stream that is silent shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many milliseconds clients should wait before they come back to an answer that ended early.
const BACK_FOR_AN_ANSWER: u32 = 1_000;
/// The same for the stream of a session, which ends early when the gateway does: some clients try only once, and a gateway that
/// starts again should be there by then.
pub(super) const BACK_FOR_A_SESSION: u32 = 3_000;

/// Something that yields events.
pub(super) trait EventSource: Send + Unpin {
    /// The next event, in pieces; nothing at the end.
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Pieces>>;
}

/// An answer that is a stream of events.
pub(super) fn respond(source: impl EventSource + 'static) -> Response<Body> {
    let quiet = Box::pin(tokio::time::sleep(KEEP_ALIVE));
    let events = EventBody { source, begun: Pieces::default(), quiet };
    let mut response = Response::new(Body::Stream(Box::pin(events)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies of the nginx family would gather events otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One message as an event.
pub(super) fn event(id: Option<EventId>, message: impl Into<Pieces>) -> Pieces {
    /// Up to this many bytes an event is sent in one piece: one write is cheaper than three.
    const COPY_BELOW: usize = 8 * 1024;
    let head = id.map(|id| format!("id: {id}\n")).unwrap_or_default() + "event: message\ndata: ";
    let message = message.into().on_one_line();
    let small = message.left() < COPY_BELOW;
    let mut event = Pieces::default().and(head);
    event.append(message);
    let event = event.and(Bytes::from_static(b"\n\n"));
    if small { event.joined().into() } else { event }
}

/// An event without content, from whose id a client can come back.
pub(super) fn priming(id: EventId, back_after: u32) -> Pieces {
    Pieces::default().and(format!("id: {id}\nretry: {back_after}\ndata: \n\n"))
}

struct EventBody<S> {
    source: S,
    /// What is left of the event that is being sent.
    begun: Pieces,
    quiet: Pin<Box<Sleep>>,
}

impl<S: EventSource> http_body::Body for EventBody<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(piece) = self.begun.take() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if let Poll::Ready(event) = self.source.poll_event(context) {
            self.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
            self.begun = event.unwrap_or_default();
            return Poll::Ready(self.begun.take().map(|piece| Ok(Frame::data(piece))));
        }
        ready!(self.quiet.as_mut().poll(context));
        self.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
        // Polled so that its next ring is heard of.
        let _ = self.quiet.as_mut().poll(context);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": still here\n\n")))))
    }
}

/// A request being answered within the connection that asked: when that goes, so does the request.
pub(super) struct ConnectionAnswer {
    pub(super) future: Option<Pin<Box<dyn Future<Output = MessageOutcome> + Send>>>,
    pub(super) outbox: Arc<Outbox>,
    /// What comes after everything that waits in the outbox.
    pub(super) last: Option<Pieces>,
    /// The id of the next event, where events have ids.
    pub(super) next_id: Option<EventId>,
    /// What comes before everything else.
    pub(super) first: Option<Pieces>,
}

impl ConnectionAnswer {
    fn event(&mut self, message: impl Into<Pieces>) -> Pieces {
        if let Some(id) = &mut self.next_id {
            id.event += 1;
        }
        event(self.next_id, message)
    }
}

impl EventSource for ConnectionAnswer {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Pieces>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if let Some(future) = &mut self.future
            && let Poll::Ready(said) = future.as_mut().poll(context)
        {
            self.future = None;
            if let MessageOutcome::Answer(answer) = said {
                self.last = Some(answer.body);
            }
        }
        while let Poll::Ready(sent) = self.outbox.poll_next(context) {
            match sent {
                OutboxItem::Message(message) => {
                    let event = self.event(message);
                    return Poll::Ready(Some(event));
                }
                // Nobody could come back to this stream.
                OutboxItem::HangUp => {}
            }
        }
        if self.future.is_some() {
            return Poll::Pending;
        }
        let last = self.last.take().map(|last| self.event(last));
        Poll::Ready(last)
    }
}

/// A connection that reads a resumable stream.
pub(super) struct Reading {
    stream: Arc<Stream>,
    sitting: u64,
    place: EventId,
    priming: bool,
}

impl Reading {
    /// Reads what comes after `place`, beginning with an event that tells the place if the client knows what to do with it.
    pub(super) fn from(stream: Arc<Stream>, place: EventId, priming: Priming) -> Self {
        let sitting = stream.sitting();
        Self { stream, sitting, place, priming: priming == Priming::Sent }
    }
}

/// Whether a stream begins with an event without content (2025-11-25); clients of earlier revisions take it for a broken message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Priming {
    Sent,
    LeftOut,
}

impl EventSource for Reading {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Pieces>> {
        if std::mem::take(&mut self.priming) {
            return Poll::Ready(Some(priming(self.place, BACK_FOR_AN_ANSWER)));
        }
        match ready!(self.stream.poll_after(self.place.event, self.sitting, context)) {
            Next::End => Poll::Ready(None),
            Next::Event(number, message) => {
                self.place.event = number;
                Poll::Ready(Some(event(Some(self.place), message)))
            }
        }
    }
}
