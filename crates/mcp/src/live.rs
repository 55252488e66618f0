//! What this process holds for a legacy session beyond what its id says: calls under way, questions that wait for an answer,
//! resumable streams, watched resources, the log level. Another replica starts with none of it; what it is told that concerns
//! this one, it passes on (`relay`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::AbortHandle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolrail_core::{Kept, LogLevel};

use crate::questions::PendingQuestions;
use crate::resume::Streams;
use crate::stamp::now;
use crate::task_names::TaskNames;

/// What keeps upstream resources watched; none while that is being asked for.
type Watch = Option<Vec<Kept>>;

/// The most resources one session may watch.
const MOST_WATCHED: usize = 1_000;
/// The most things that others may keep.
const MOST_KEPT: usize = 10_000;

/// What one session holds here.
#[derive(Default)]
pub(crate) struct Live {
    /// What tells the session from others; empty for one connection.
    key: Box<str>,
    /// What tells a connection from others of this process; 0 for a session with an id.
    pub(crate) number: u64,
    /// Questions that wait for an answer.
    pub(crate) questions: PendingQuestions,
    /// Streams the client may come back to.
    pub(crate) streams: Streams,
    /// Tasks of 2025-11-25 that the client has at upstream servers.
    pub(crate) tasks: TaskNames,
    /// 0 is unset, otherwise one more than the level's index.
    log_level: AtomicU8,
    calls: Mutex<HashMap<String, AbortHandle>>,
    watched: Mutex<HashMap<String, Watch>>,
    /// What others keep as long as the session lasts.
    kept: Mutex<HashMap<Box<str>, Kept>>,
    /// Which of the session's own streams speaks: the newest.
    sitting: AtomicU64,
    /// Whether the client has been told that this process may offer something else than the one before.
    caught_up: AtomicBool,
    /// Cancelled when the session is ended.
    pub(crate) ended: CancellationToken,
    used: AtomicU64,
}

impl Live {
    /// What one connection holds.
    pub(crate) fn of_connection() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), ..Self::default() }
    }

    /// Notes that the client is told what it may have missed; true if it was before.
    pub(crate) fn catch_up(&self) -> bool {
        self.caught_up.swap(true, Ordering::Relaxed)
    }

    /// What tells a session with an id from others.
    pub(crate) fn key(&self) -> Option<&str> {
        Some(&*self.key).filter(|key| !key.is_empty())
    }

    /// The least grave log messages the client asked for, if it did.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        let index = self.log_level.load(Ordering::Relaxed).checked_sub(1)?;
        LogLevel::ALL.get(usize::from(index)).copied()
    }

    /// Sets the least grave log messages.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        let index = LogLevel::ALL.iter().position(|known| *known == level).unwrap_or_default();
        self.log_level.store(u8::try_from(index + 1).unwrap_or(u8::MAX), Ordering::Relaxed);
    }

    /// Notes a call, so that it can be cancelled; forgotten when what comes back is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: &str, handle: AbortHandle) -> RunningCall {
        let mut calls = lock(&self.calls);
        // A client that uses an id twice at once can cancel the first of the two only.
        let id = (!calls.contains_key(id)).then(|| id.to_owned());
        if let Some(id) = &id {
            calls.insert(id.clone(), handle);
        }
        RunningCall { live: Arc::clone(self), id }
    }

    /// Cancels the call of that id; false if it is not under way here.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let call = lock(&self.calls).remove(id);
        call.inspect(AbortHandle::abort).is_some()
    }

    /// Watches a resource; false if it watches too many already.
    pub(crate) fn watch(&self, uri: &str) -> bool {
        let mut watched = lock(&self.watched);
        if watched.len() >= MOST_WATCHED && !watched.contains_key(uri) {
            return false;
        }
        watched.entry(uri.to_owned()).or_default();
        true
    }

    /// Whether a resource is kept watched where it comes from.
    pub(crate) fn keeps_watch(&self, uri: &str) -> bool {
        lock(&self.watched).get(uri).is_some_and(Option::is_some)
    }

    /// Holds what keeps a resource watched, as long as it is.
    pub(crate) fn keep_watch(&self, uri: &str, watches: Vec<Kept>) {
        // What was there goes outside of the lock.
        let before = lock(&self.watched).get_mut(uri).map(|watch| watch.replace(watches));
        drop(before);
    }

    /// Watches a resource no more.
    pub(crate) fn unwatch(&self, uri: &str) {
        let watch = lock(&self.watched).remove(uri);
        drop(watch);
    }

    /// Whether a resource is watched.
    pub(crate) fn watches(&self, uri: &str) -> bool {
        lock(&self.watched).contains_key(uri)
    }

    /// Every resource that is watched.
    pub(crate) fn watched(&self) -> Vec<String> {
        lock(&self.watched).keys().cloned().collect()
    }

    /// Keeps something under that name until the session ends; false if too much is kept already, or it has ended.
    pub(crate) fn keep(&self, name: &str, make: &mut dyn FnMut() -> Kept) -> bool {
        let mut kept = lock(&self.kept);
        if self.ended.is_cancelled() || (kept.len() >= MOST_KEPT && !kept.contains_key(name)) {
            return false;
        }
        if !kept.contains_key(name) {
            kept.insert(name.into(), make());
        }
        true
    }

    /// Makes the stream that asks the one that speaks for the session; earlier ones keep silent.
    pub(crate) fn take_the_floor(&self) -> u64 {
        self.sitting.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Whether the stream that got this from `take_the_floor` still speaks.
    pub(crate) fn has_the_floor(&self, sitting: u64) -> bool {
        self.sitting.load(Ordering::Acquire) == sitting
    }

    /// Ends everything.
    fn end(&self) {
        lock(&self.calls).drain().for_each(|(_, call)| call.abort());
        lock(&self.watched).clear();
        self.ended.cancel();
        let kept = std::mem::take(&mut *lock(&self.kept));
        drop(kept);
    }

    fn is_needed(&self, now: u64) -> bool {
        /// How long a session's state is kept when nothing happens.
        const IDLE_SECONDS: u64 = 15 * 60;
        now.saturating_sub(self.used.load(Ordering::Relaxed)) < IDLE_SECONDS
            || self.questions.any()
            || self.streams.any_open()
            || !lock(&self.calls).is_empty()
    }
}

/// A call under way.
pub(crate) struct RunningCall {
    live: Arc<Live>,
    id: Option<String>,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            lock(&self.live.calls).remove(id);
        }
    }
}

/// Every session that this process holds something for.
#[derive(Default)]
pub(crate) struct Sessions {
    live: Mutex<HashMap<Box<str>, Arc<Live>>>,
    ended: Mutex<Ended>,
    swept: AtomicU64,
    /// Rings when there is a session again after there was none.
    pub(crate) begun: Notify,
}

/// Sessions that were ended, and in which order.
#[derive(Default)]
struct Ended {
    known: HashSet<Box<str>>,
    order: VecDeque<Box<str>>,
}

/// What is left of a session id when its beginning, which says what it is for, is taken away: still unique.
pub(crate) fn key(id: &str) -> &str {
    id.get(id.len().saturating_sub(32)..).unwrap_or(id)
}

impl Sessions {
    /// What is held for a session, new if there was nothing; nothing at all for one that has been ended.
    pub(crate) fn live(&self, id: &str) -> Option<Arc<Live>> {
        /// More sessions than this at once get nothing kept.
        const MOST: usize = 100_000;
        let key = key(id);
        if lock(&self.ended).known.contains(key) {
            return None;
        }
        let now = now();
        let mut all = lock(&self.live);
        self.sweep(&mut all, now);
        let live = all.get(key).cloned().unwrap_or_else(|| {
            let live = Arc::new(Live { key: key.into(), ..Live::default() });
            if all.is_empty() {
                self.begun.notify_one();
            }
            if all.len() < MOST {
                all.insert(key.into(), Arc::clone(&live));
            }
            live
        });
        live.used.store(now, Ordering::Relaxed);
        Some(live)
    }

    /// What is held for the session of that key, if anything.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<Live>> {
        lock(&self.live).get(key).cloned()
    }

    /// Whether anything is held for any session.
    pub(crate) fn any(&self) -> bool {
        let mut all = lock(&self.live);
        self.sweep(&mut all, now());
        !all.is_empty()
    }

    /// Ends a session, given its id or its key; the id is refused from now on.
    pub(crate) fn end(&self, id: &str) {
        /// Ended sessions further back than this are known again by their ids.
        const MOST_ENDED: usize = 10_000;
        let key = key(id);
        let mut ended = lock(&self.ended);
        if ended.known.insert(key.into()) {
            ended.order.push_back(key.into());
        }
        if ended.order.len() > MOST_ENDED
            && let Some(oldest) = ended.order.pop_front()
        {
            ended.known.remove(&oldest);
        }
        drop(ended);
        let live = lock(&self.live).remove(key);
        if let Some(live) = live {
            live.end();
        }
    }

    fn sweep(&self, all: &mut HashMap<Box<str>, Arc<Live>>, now: u64) {
        const EVERY_SECONDS: u64 = 60;
        if now.saturating_sub(self.swept.load(Ordering::Relaxed)) < EVERY_SECONDS {
            return;
        }
        self.swept.store(now, Ordering::Relaxed);
        all.retain(|_, live| {
            live.streams.forget_finished(now);
            Arc::strong_count(live) > 1 || live.is_needed(now)
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_session_is_refused_and_its_calls_are_cancelled() {
        let sessions = Sessions::default();
        let live = sessions.live("some-session").unwrap();
        let (handle, _registration) = AbortHandle::new_pair();
        let _begun = live.begin("1", handle.clone());
        sessions.end("some-session");
        assert!(handle.is_aborted() && sessions.live("some-session").is_none());
        assert!(sessions.live("another-session").is_some());
    }

    #[test]
    fn a_call_can_be_cancelled_while_it_is_under_way() {
        let live = Arc::new(Live::default());
        let (handle, _registration) = AbortHandle::new_pair();
        let begun = live.begin("1", handle.clone());
        live.cancel("2");
        assert!(!handle.is_aborted());
        live.cancel("1");
        assert!(handle.is_aborted());
        drop(begun);
    }

    #[test]
    fn the_log_level_is_unset_until_it_is_set() {
        let live = Live::default();
        assert_eq!(live.log_level(), None);
        for level in LogLevel::ALL {
            live.set_log_level(level);
            assert_eq!(live.log_level(), Some(level));
        }
    }
}
