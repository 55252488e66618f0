//! Messages that wait for one call, within a bound. Where reports of progress come faster than they are passed on, a newer
//! one takes the place of the last, so that the newest is never lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Notify;

use super::message::ServerMessage;

/// The most bytes that wait, beside one message.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most calls whose newest report is kept where there is no room for all.
const MOST_LATEST: usize = 16;

/// The messages that wait.
pub(super) struct Notes {
    most: usize,
    state: Mutex<QueuedNotes>,
    bell: Notify,
}

#[derive(Default)]
struct QueuedNotes {
    waiting: VecDeque<ServerMessage>,
    /// The newest reports that came while there was no room, by their tokens; they come after everything else.
    latest: Vec<(Option<Value>, ServerMessage)>,
    /// What all of them take up.
    bytes: usize,
    is_closed: bool,
}

impl Notes {
    /// Room for so many.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default(), bell: Notify::new() })
    }

    /// Adds a message; it comes back if there is no room for it, or nobody listens any more.
    pub(super) fn push(&self, message: ServerMessage) -> Result<(), ServerMessage> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(message);
        }
        let has_room = state.waiting.len() < self.most && state.bytes < MOST_BYTES;
        let size = message.size();
        if has_room && (state.latest.is_empty() || !is_progress(&message)) {
            state.waiting.push_back(message);
            state.bytes += size;
        } else if is_progress(&message) {
            state.replace(message)?;
        } else {
            return Err(message);
        }
        drop(state);
        self.bell.notify_one();
        Ok(())
    }

    /// The next message. Safe to drop while waiting.
    pub(super) async fn next(&self) -> ServerMessage {
        loop {
            if let Some(message) = self.take() {
                return message;
            }
            self.bell.notified().await;
        }
    }

    /// The next message, if one waits.
    pub(super) fn take(&self) -> Option<ServerMessage> {
        let mut state = self.lock();
        let waiting = state.waiting.pop_front();
        let message = waiting.or_else(|| (!state.latest.is_empty()).then(|| state.latest.remove(0).1))?;
        state.bytes = state.bytes.saturating_sub(message.size());
        Some(message)
    }

    /// Takes no more messages.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, QueuedNotes> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueuedNotes {
    /// Puts a report in the place of the last one of the same call.
    fn replace(&mut self, message: ServerMessage) -> Result<(), ServerMessage> {
        let (token, size) = (token_of(&message), message.size());
        let has_room = self.latest.len() < MOST_LATEST && self.bytes < 2 * MOST_BYTES;
        match self.latest.iter_mut().find(|(known, _)| *known == token) {
            Some((_, last)) => {
                self.bytes = self.bytes.saturating_sub(std::mem::replace(last, message).size());
            }
            None if has_room => self.latest.push((token, message)),
            None => return Err(message),
        }
        self.bytes += size;
        Ok(())
    }
}

pub(super) fn is_progress(message: &ServerMessage) -> bool {
    matches!(message, ServerMessage::Notice { method, .. } if method == "notifications/progress")
}

fn token_of(message: &ServerMessage) -> Option<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        #[serde(default)]
        progress_token: Option<Value>,
    }
    let ServerMessage::Notice { params: Some(params), .. } = message else { return None };
    serde_json::from_slice::<Params>(params).ok()?.progress_token
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(method: &str, params: &str) -> ServerMessage {
        ServerMessage::Notice { method: method.to_owned(), params: Some(params.to_owned().into()) }
    }

    fn progress(token: u32, progress: u32) -> ServerMessage {
        notice("notifications/progress", &format!(r#"{{"progressToken":{token},"progress":{progress}}}"#))
    }

    fn params(message: &ServerMessage) -> String {
        let ServerMessage::Notice { params: Some(params), .. } = message else { return String::new() };
        String::from_utf8_lossy(params).into_owned()
    }

    #[test]
    fn the_newest_report_of_each_call_outlives_a_flood() {
        let notes = Notes::new(4);
        for number in 0..10_000 {
            for token in [1, 2] {
                assert!(notes.push(progress(token, number)).is_ok());
            }
        }
        assert!(notes.push(notice("notifications/message", "{}")).is_err(), "there is no room");
        let taken: Vec<String> =
            std::iter::from_fn(|| notes.take()).map(|message| params(&message)).collect();
        assert_eq!(taken.len(), 6);
        for (token, last) in [(1, &taken[4]), (2, &taken[5])] {
            assert_eq!(*last, format!(r#"{{"progressToken":{token},"progress":9999}}"#));
        }
    }

    #[test]
    fn large_messages_wait_only_as_far_as_there_is_room_for_their_bytes() {
        let notes = Notes::new(256);
        let large = || notice("notifications/message", &format!("{:?}", "x".repeat(1024 * 1024)));
        let taken = (0..20).filter(|_| notes.push(large()).is_ok()).count();
        assert_eq!(taken, 4);
        let report = |token: u32| {
            let padding = "x".repeat(1024 * 1024);
            notice("notifications/progress", &format!(r#"{{"progressToken":{token},"message":"{padding}"}}"#))
        };
        let kept = (0..20).filter(|token| notes.push(report(*token)).is_ok()).count();
        assert_eq!(kept, 4);
        assert!((0..100).all(|_| notes.push(report(3)).is_ok()), "a newer one takes the place of the last");
        while notes.take().is_some() {}
        assert_eq!(notes.lock().bytes, 0);
    }

    #[tokio::test]
    async fn messages_come_in_their_order_until_nobody_listens() {
        let notes = Notes::new(4);
        notes.push(progress(1, 1)).unwrap();
        notes.push(notice("notifications/message", "{}")).unwrap();
        assert_eq!(params(&notes.next().await), r#"{"progressToken":1,"progress":1}"#);
        assert_eq!(params(&notes.next().await), "{}");
        notes.close();
        assert!(notes.push(progress(1, 2)).is_err());
    }
}
