//! Streams of calls that a legacy client may lose and come back to: the last events are kept, bounded, and each has an id
//! from which the client can go on (2025-03-26 and later, `Last-Event-ID`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use toolrail_core::{Held, Share};

use crate::stamp::now;

/// The most events kept of one stream.
const MOST_EVENTS: usize = 256;
/// About the most bytes kept of one stream.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most streams of one session that can be come back to.
const MOST_STREAMS: usize = 32;

/// The streams of one session, oldest first.
#[derive(Default)]
pub(crate) struct Streams {
    all: Mutex<(u64, VecDeque<Arc<Stream>>)>,
}

impl Streams {
    /// A new stream. If there are too many, the oldest that has ended is forgotten; nothing if none has.
    pub(crate) fn open(&self) -> Option<Arc<Stream>> {
        self.open_for(&Share::current())
    }

    fn open_for(&self, share: &Share) -> Option<Arc<Stream>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.1.len() == MOST_STREAMS {
            let oldest = all.1.iter().position(|stream| stream.lock().finished.is_some())?;
            all.1.remove(oldest);
        }
        all.0 += 1;
        let stream = Arc::new(Stream { number: all.0, kept: Mutex::new(KeptEvents::for_share(share)) });
        all.1.push_back(Arc::clone(&stream));
        Some(stream)
    }

    /// Forgets streams that ended too long ago for anybody to come back to them.
    pub(crate) fn forget_finished(&self, now: u64) {
        /// How long a client may take to come back for the end of a stream.
        const KEPT_SECONDS: u64 = 120;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.1.retain(|stream| stream.lock().finished.is_none_or(|at| now.saturating_sub(at) < KEPT_SECONDS));
    }

    /// The stream of that number, unless it has been forgotten.
    pub(crate) fn find(&self, number: u64) -> Option<Arc<Stream>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.1.iter().find(|stream| stream.number == number).cloned()
    }

    /// Whether any stream is still being written.
    pub(crate) fn any_open(&self) -> bool {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.1.iter().any(|stream| stream.lock().finished.is_none())
    }
}

/// One stream.
pub(crate) struct Stream {
    /// Its number within the session.
    pub(crate) number: u64,
    kept: Mutex<KeptEvents>,
}

struct KeptEvents {
    events: VecDeque<(u64, Bytes)>,
    /// What the events take up. Where there is no room, only the newest is kept.
    held: Held,
    last: u64,
    /// When it ended, in seconds.
    finished: Option<u64>,
    /// Readers of an earlier sitting are to leave.
    sitting: u64,
    readers: Vec<Waker>,
}

impl KeptEvents {
    fn for_share(share: &Share) -> Self {
        Self {
            events: VecDeque::new(),
            held: share.nothing(),
            last: 0,
            finished: None,
            sitting: 0,
            readers: Vec::new(),
        }
    }
}

/// What a reader gets next.
pub(crate) enum Next {
    /// An event and its number.
    Event(u64, Bytes),
    /// Nothing more on this connection.
    End,
}

impl Stream {
    /// Adds an event.
    pub(crate) fn push(&self, message: Bytes) {
        let mut kept = self.lock();
        kept.last += 1;
        let number = kept.last;
        let mut bytes = kept.held.bytes() + message.len();
        kept.events.push_back((number, message));
        while kept.events.len() > MOST_EVENTS
            || (kept.events.len() > 1 && (bytes > MOST_BYTES || kept.held.resize(bytes).is_err()))
        {
            bytes -= kept.events.pop_front().map_or(0, |(_, dropped)| dropped.len());
        }
        kept.held.resize_anyway(bytes);
        wake(kept);
    }

    /// No more events will come.
    pub(crate) fn finish(&self) {
        let mut kept = self.lock();
        kept.finished = Some(now());
        wake(kept);
    }

    /// Ends the connections that read it; the client comes back for the rest.
    pub(crate) fn hang_up(&self) {
        let mut kept = self.lock();
        kept.sitting += 1;
        wake(kept);
    }

    /// The sitting that a new reader belongs to.
    pub(crate) fn sitting(&self) -> u64 {
        self.lock().sitting
    }

    /// The first event after `after`, for a reader of that sitting.
    pub(crate) fn poll_after(&self, after: u64, sitting: u64, context: &mut Context<'_>) -> Poll<Next> {
        let mut kept = self.lock();
        if sitting != kept.sitting {
            return Poll::Ready(Next::End);
        }
        if let Some((number, event)) = kept.events.iter().find(|(number, _)| *number > after) {
            return Poll::Ready(Next::Event(*number, event.clone()));
        }
        if kept.finished.is_some() {
            return Poll::Ready(Next::End);
        }
        if !kept.readers.iter().any(|waker| waker.will_wake(context.waker())) {
            kept.readers.push(context.waker().clone());
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, KeptEvents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut kept: MutexGuard<'_, KeptEvents>) {
    let readers = std::mem::take(&mut kept.readers);
    drop(kept);
    readers.into_iter().for_each(Waker::wake);
}

/// The place of an event, as its id tells it: which replica, which stream, which event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) replica: u32,
    /// 0 is the stream of the session itself.
    pub(crate) stream: u64,
    pub(crate) event: u64,
}

impl EventId {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let id = Self {
            replica: u32::from_str_radix(parts.next()?, 16).ok()?,
            stream: parts.next()?.parse().ok()?,
            event: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(id)
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:08x}-{}-{}", self.replica, self.stream, self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &Stream, mut after: u64) -> Vec<u64> {
        let (sitting, mut seen) = (stream.sitting(), Vec::new());
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Next::Event(number, _)) = stream.poll_after(after, sitting, &mut context) {
            seen.push(number);
            after = number;
        }
        seen
    }

    #[test]
    fn a_client_that_comes_back_goes_on_after_the_last_event_it_saw() {
        let streams = Streams::default();
        let stream = streams.open().unwrap();
        (0..3).for_each(|_| stream.push(Bytes::from_static(b"{}")));
        let found = streams.find(stream.number).unwrap();
        assert_eq!(read(&found, 0), [1, 2, 3]);
        assert_eq!(read(&found, 2), [3]);
        assert!(streams.any_open());
        stream.finish();
        assert!(!streams.any_open());
        streams.forget_finished(now());
        assert!(streams.find(stream.number).is_some());
        streams.forget_finished(now() + 1_000);
        assert!(streams.find(stream.number).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let streams = Streams::default();
        let first = streams.open().unwrap();
        (0..1000).for_each(|_| first.push(Bytes::from_static(b"{}")));
        assert_eq!(read(&first, 0).len(), MOST_EVENTS);
        let big = Bytes::from(vec![0; MOST_BYTES]);
        (0..3).for_each(|_| first.push(big.clone()));
        assert_eq!(read(&first, 0), [1003]);
        let more = (0..2 * MOST_STREAMS).filter_map(|_| streams.open()).count();
        assert_eq!(more, MOST_STREAMS - 1, "none of them has ended");
        first.finish();
        assert!(streams.open().is_some() && streams.find(first.number).is_none());
    }

    #[test]
    fn where_there_is_no_room_the_oldest_events_make_place() {
        let (streams, share) = (Streams::default(), Share::of(&toolrail_core::Principal::Anonymous));
        let stream = streams.open_for(&share).unwrap();
        (0..3).for_each(|_| stream.push(Bytes::from(vec![b' '; 100_000])));
        let everything = share.hold_instead(toolrail_core::Account::of_process().standings().most);
        stream.push(Bytes::from(vec![b' '; 100_000]));
        assert_eq!(read(&stream, 0), [2, 3, 4]);
        drop(everything);
    }

    #[test]
    fn event_ids_survive_the_way_there_and_back_and_junk_is_refused() {
        let id = EventId { replica: 0xab, stream: 3, event: 9 };
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for junk in ["", "1-2", "1-2-3-4", "x-1-2", "1--2", "ffffffffff-1-1"] {
            assert_eq!(EventId::parse(junk), None, "{junk}");
        }
    }
}
