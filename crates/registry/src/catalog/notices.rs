//! What upstream servers tell single clients beside their calls, on its way to whoever follows for the client. Each
//! conversation has a queue of its own, so that nobody hears what was meant for another; where nobody follows, nothing waits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolrail_core::Notice;

/// The most notices that wait for one client; more are dropped.
const MOST_WAITING: usize = 256;
/// The most bytes of them.
const MOST_BYTES: usize = 1024 * 1024;

/// The queues, by conversation.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<HashMap<Arc<str>, Arc<Queue>>>>);

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    bell: Notify,
}

#[derive(Default)]
struct Waiting {
    notices: VecDeque<Notice>,
    bytes: usize,
}

/// Hears what is told in one conversation, as long as it lives or until another begins to.
pub struct Hearing {
    conversation: Arc<str>,
    queue: Arc<Queue>,
    all: Notices,
}

impl Notices {
    /// Tells the client of that conversation, if anybody follows for it.
    pub(crate) fn tell(&self, conversation: &str, notice: Notice) {
        let queue = self.lock().get(conversation).cloned();
        if let Some(queue) = queue
            && !queue.push(notice)
        {
            tracing::debug!("what a server told a client was dropped: too much waits for it");
        }
    }

    /// Hears what is told in that conversation from now on.
    pub(crate) fn hear(&self, conversation: &str) -> Hearing {
        let (conversation, queue): (Arc<str>, _) = (conversation.into(), Arc::<Queue>::default());
        self.lock().insert(Arc::clone(&conversation), Arc::clone(&queue));
        Hearing { conversation, queue, all: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Queue>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&self, notice: Notice) -> bool {
        let mut waiting = self.lock();
        let bytes = waiting.bytes + notice.size();
        if waiting.notices.len() >= MOST_WAITING || bytes > MOST_BYTES {
            return false;
        }
        waiting.bytes = bytes;
        waiting.notices.push_back(notice);
        drop(waiting);
        self.bell.notify_one();
        true
    }

    fn take(&self) -> Option<Notice> {
        let mut waiting = self.lock();
        let notice = waiting.notices.pop_front()?;
        waiting.bytes = waiting.bytes.saturating_sub(notice.size());
        Some(notice)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hearing {
    /// What is told next. Safe to drop while waiting.
    pub async fn next(&mut self) -> Notice {
        loop {
            if let Some(notice) = self.queue.take() {
                return notice;
            }
            self.queue.bell.notified().await;
        }
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if all.get(&self.conversation).is_some_and(|queue| Arc::ptr_eq(queue, &self.queue)) {
            all.remove(&self.conversation);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolrail_core::{Json, LogLevel};

    use super::*;

    fn log(text: &str) -> Notice {
        let params = serde_json::json!({"level": "info", "data": text});
        Notice::Log { level: LogLevel::Info, params: Json::from_value(&params) }
    }

    #[tokio::test]
    async fn only_the_conversation_that_is_meant_hears() {
        let notices = Notices::default();
        notices.tell("a", log("nobody follows"));
        let (mut first, mut other) = (notices.hear("a"), notices.hear("b"));
        notices.tell("a", log("one"));
        notices.tell("b", log("other"));
        assert_eq!(first.next().await, log("one"));
        assert_eq!(other.next().await, log("other"));
        let mut second = notices.hear("a");
        drop(first);
        notices.tell("a", log("two"));
        assert_eq!(second.next().await, log("two"), "the end of the first does not end the second");
        drop((second, other));
        assert!(notices.lock().is_empty());
    }

    #[test]
    fn a_client_that_does_not_read_cannot_fill_the_memory() {
        let notices = Notices::default();
        let hearing = notices.hear("a");
        (0..2 * MOST_WAITING).for_each(|_| notices.tell("a", log("x")));
        assert_eq!(hearing.queue.lock().notices.len(), MOST_WAITING);
        let hearing = notices.hear("a");
        (0..10).for_each(|_| notices.tell("a", log(&"x".repeat(300_000))));
        assert_eq!(hearing.queue.lock().notices.len(), 3);
        while hearing.queue.take().is_some() {}
        assert_eq!(hearing.queue.lock().bytes, 0);
    }
}
