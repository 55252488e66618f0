//! Messages on their way to a client beside the answers: notifications and questions. Made for calls that send none: it
//! allocates nothing until the first.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{Held, Share, write_json_string};

/// The most messages that wait for a slow client; more are dropped.
const MOST_MESSAGES: usize = 1024;
/// From so many on, a report of progress takes the place of the last one of the same call.
const MANY_MESSAGES: usize = 256;
/// About the most bytes that wait for a slow client.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The messages that wait.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    messages: VecDeque<Bytes>,
    /// The newest report of progress of each call, by its token, once many messages wait. They come last.
    latest: Vec<(Box<str>, Bytes)>,
    /// What the messages take up.
    held: Option<Held>,
    hang_up: bool,
    reader: Option<Waker>,
}

/// What comes out.
pub(crate) enum OutboxItem {
    /// A message.
    Message(Bytes),
    /// The wish to close the stream, so that the client comes back later.
    HangUp,
}

impl Outbox {
    /// Adds a message; false if there is no room for it.
    pub(crate) fn push(&self, message: Bytes) -> bool {
        let mut waiting = self.lock();
        if waiting.messages.len() >= MOST_MESSAGES || !waiting.has_room_for(message.len()) {
            return false;
        }
        waiting.messages.push_back(message);
        wake(waiting);
        true
    }

    /// Adds a report of progress, as JSON has the token of its call. Earlier ones of the same call may be left out for it.
    pub(crate) fn push_progress(&self, token: &str, message: Bytes) -> bool {
        let mut waiting = self.lock();
        let last = waiting.latest.iter().position(|(known, _)| **known == *token);
        if last.is_none() && waiting.messages.len() < MANY_MESSAGES {
            drop(waiting);
            return self.push(message);
        }
        let freed = last.map_or(0, |last| waiting.latest.remove(last).1.len());
        waiting.free(freed);
        if waiting.latest.len() >= MOST_MESSAGES || !waiting.has_room_for(message.len()) {
            return false;
        }
        waiting.latest.push((token.into(), message));
        wake(waiting);
        true
    }

    /// Asks for the stream to be closed.
    pub(crate) fn hang_up(&self) {
        let mut waiting = self.lock();
        waiting.hang_up = true;
        wake(waiting);
    }

    /// The next message.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<OutboxItem> {
        let mut waiting = self.lock();
        if let Some(message) = waiting.take() {
            return Poll::Ready(OutboxItem::Message(message));
        }
        if std::mem::take(&mut waiting.hang_up) {
            return Poll::Ready(OutboxItem::HangUp);
        }
        waiting.remember(context);
        Poll::Pending
    }

    /// Ready as soon as there is something to send.
    pub(crate) fn poll_stirred(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.lock();
        if waiting.is_empty() && !waiting.hang_up {
            waiting.remember(context);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// The next message, if one waits.
    pub(crate) fn take(&self) -> Option<Bytes> {
        self.lock().take()
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes room for so many bytes more.
    fn has_room_for(&mut self, more: usize) -> bool {
        let held = self.held.get_or_insert_with(|| Share::current().nothing());
        let bytes = held.bytes() + more;
        bytes <= MOST_BYTES && held.resize(bytes).is_ok()
    }

    fn take(&mut self) -> Option<Bytes> {
        let waiting = self.messages.pop_front();
        let message = waiting.or_else(|| (!self.latest.is_empty()).then(|| self.latest.remove(0).1))?;
        self.free(message.len());
        Some(message)
    }

    fn free(&mut self, bytes: usize) {
        if let Some(held) = &mut self.held {
            held.resize_anyway(held.bytes().saturating_sub(bytes));
        }
    }

    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.latest.is_empty()
    }

    fn remember(&mut self, context: &Context<'_>) {
        if !self.reader.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            self.reader = Some(context.waker().clone());
        }
    }
}

/// Wakes the reader without holding the lock.
fn wake(mut waiting: MutexGuard<'_, Waiting>) {
    let reader = waiting.reader.take();
    drop(waiting);
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// A notification as it is sent.
pub(crate) fn notification(method: &str, params: &Value) -> Bytes {
    raw_notification(method, &params.to_string())
}

/// The same, of parameters that are JSON already.
pub(crate) fn raw_notification(method: &str, params: &str) -> Bytes {
    let mut message = Vec::from(&b"{\"jsonrpc\":\"2.0\",\"method\":"[..]);
    write_json_string(&mut message, method);
    message.extend_from_slice(b",\"params\":");
    // Line breaks stand between the parts of JSON only, never in them; most ways to a client take a message on one line.
    message.extend(params.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    message.push(b'}');
    message.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_read_cannot_fill_the_memory() {
        let outbox = Outbox::default();
        let taken = (0..2 * MOST_MESSAGES).filter(|_| outbox.push(Bytes::from_static(b"{}"))).count();
        assert_eq!(taken, MOST_MESSAGES);
        let outbox = Outbox::default();
        let large = Bytes::from(vec![b' '; 1024 * 1024]);
        assert_eq!((0..100).filter(|_| outbox.push(large.clone())).count(), 8);
        assert!(outbox.take().is_some() && outbox.push(large));
    }

    #[test]
    fn the_last_report_of_progress_of_each_call_is_never_left_out() {
        let outbox = Outbox::default();
        for number in 0..5_000 {
            for token in ["1", "\"a\""] {
                assert!(outbox.push_progress(token, format!("{token} {number}").into()));
            }
        }
        let sent: Vec<Bytes> = std::iter::from_fn(|| outbox.take()).collect();
        assert_eq!(sent.len(), MANY_MESSAGES + 2);
        assert_eq!(sent[MANY_MESSAGES..], ["1 4999", "\"a\" 4999"]);
        assert!(outbox.is_empty() && outbox.lock().held.as_ref().is_none_or(|held| held.bytes() == 0));
    }
}
