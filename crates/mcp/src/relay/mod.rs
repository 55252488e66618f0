//! What replicas on one store tell each other when a client's message reaches another one than the one it concerns: answers
//! to questions, and what is asked of a task, in letters; what may concern any of them, as news. Each replica collects what is
//! for it, but only while there is something here that it may concern.

mod errand;
mod news;
mod once;
mod parts;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use toolrail_core::{MailLimits, Principal, StoreError};
use toolrail_registry::Registry;

use crate::stamp::tag;
pub(crate) use errand::Errand;
use news::Newsroom;
pub(crate) use news::{NewsExchange, Report};
use once::Once;
use parts::{Joining, LetterId};

/// How often a replica looks for letters while it waits for some.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long it leaves a store alone that has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long another replica may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// The most requests that may wait for other replicas.
const MOST_WAITING: usize = 1_000;

/// What one replica tells another.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Letter {
    /// A client's answer to a question of the reader's.
    Answer {
        /// Only the session that was asked may answer.
        session: String,
        id: String,
        answer: Result<Box<RawValue>, Box<RawValue>>,
    },
    /// Something to be done with a task of the reader's.
    Errand { from: u32, number: u64, task: String, principal: String, errand: Errand },
    /// The result of an errand of the reader's; nothing if there is no such task.
    Done { number: u64, result: Option<Box<RawValue>> },
}

/// How an errand ended.
pub(crate) enum ErrandOutcome {
    /// With this result.
    Result(Box<RawValue>),
    /// There is no such task.
    NoSuchTask,
    /// The other replica said nothing.
    Nothing,
}

type ErrandResult = Option<Box<RawValue>>;

/// This replica's end.
pub(crate) struct Relay {
    registry: Arc<Registry>,
    /// Which replica this is.
    pub(crate) replica: u32,
    /// How many things here may be waiting for a letter.
    held: AtomicUsize,
    bell: Notify,
    next: AtomicU64,
    errands: Mutex<HashMap<u64, oneshot::Sender<ErrandResult>>>,
    /// Questions whose answers were passed on.
    passed_on: Once,
    pub(crate) newsroom: Newsroom,
}

/// How collecting letters goes.
#[derive(Default)]
pub(crate) struct Inbox {
    joining: Joining,
    failing: bool,
    /// How long to wait before the next look.
    rest: Duration,
}

/// Something that a letter may concern; while it lives, letters are collected.
pub(crate) struct Held(Arc<Relay>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Relay {
    pub(crate) fn new(registry: Arc<Registry>, replica: u32) -> Arc<Self> {
        Arc::new(Self {
            registry,
            replica,
            held: AtomicUsize::new(0),
            bell: Notify::new(),
            next: AtomicU64::new(0),
            errands: Mutex::default(),
            passed_on: Once::default(),
            newsroom: Newsroom::default(),
        })
    }

    /// Has letters collected as long as what comes back lives.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        if self.held.fetch_add(1, Ordering::AcqRel) == 0 {
            self.bell.notify_one();
        }
        Held(Arc::clone(self))
    }

    /// Has something done with a task of another replica.
    pub(crate) async fn errand(
        self: &Arc<Self>,
        (replica, task): (u32, &str),
        principal: &Principal,
        errand: Errand,
    ) -> ErrandOutcome {
        let _held = self.hold();
        let number = self.next_number();
        let (done, waiting) = oneshot::channel();
        {
            let mut errands = self.errands();
            if errands.len() >= MOST_WAITING {
                return ErrandOutcome::Nothing;
            }
            errands.insert(number, done);
        }
        let _sent = PendingErrand { relay: self, number };
        let letter = Letter::Errand {
            from: self.replica,
            number,
            task: task.to_owned(),
            principal: tag(principal).to_owned(),
            errand,
        };
        let heard = async { if self.send(replica, &letter).await { waiting.await.ok() } else { None } };
        match tokio::time::timeout(ANSWER_WITHIN, heard).await {
            Ok(Some(Some(result))) => ErrandOutcome::Result(result),
            Ok(Some(None)) => ErrandOutcome::NoSuchTask,
            Ok(None) | Err(_) => ErrandOutcome::Nothing,
        }
    }

    /// Leaves a letter for a replica; false if that is not possible.
    pub(crate) async fn send(&self, replica: u32, letter: &Letter) -> bool {
        let id = LetterId { from: self.replica, number: self.next_number() };
        let parts = serde_json::to_vec(letter).ok().and_then(|letter| parts::split(id, &letter));
        let Some(parts) = parts else {
            tracing::warn!("a message to another replica is too large to be left for it");
            return false;
        };
        for part in parts {
            match self.registry.replicas().leave(&topic(replica), &part).await {
                Ok(()) => {}
                // The replica may be gone, and then nobody collects anything.
                Err(error @ StoreError::Undelivered { .. }) => {
                    tracing::debug!(%error, "message to another replica dropped");
                    return false;
                }
                Err(error) => {
                    tracing::warn!(%error, "message to another replica dropped");
                    return false;
                }
            }
        }
        true
    }

    /// Passes a client's answer on to the replica that asked; false if that is not possible, or it was passed on before.
    pub(crate) async fn pass_on(
        &self,
        asked_by: u32,
        (session, id): (&str, &str),
        answer: Result<&RawValue, &RawValue>,
    ) -> bool {
        if !self.passed_on.first(id) {
            return false;
        }
        let answer = answer.map(RawValue::to_owned).map_err(RawValue::to_owned);
        let letter = Letter::Answer { session: session.to_owned(), id: id.to_owned(), answer };
        let sent = self.send(asked_by, &letter).await;
        if !sent {
            self.passed_on.forget(id);
        }
        sent
    }

    /// The letters that are there for this replica, as soon as there is something here that one may concern. What errands came
    /// to is told to whoever waits for it.
    pub(crate) async fn collect(&self, inbox: &mut Inbox) -> Vec<Letter> {
        tokio::time::sleep(inbox.rest).await;
        self.until_held().await;
        match self.registry.replicas().collect(&topic(self.replica)).await {
            Ok(parts) => {
                let more = parts.len() >= MailLimits::ALL.at_once as usize;
                inbox.failing = false;
                inbox.rest = if more { Duration::ZERO } else { LOOK_EVERY };
                let letters = parts.iter().filter_map(|part| inbox.joining.take(part));
                letters.filter_map(|letter| self.open(&letter)).collect()
            }
            Err(error) => {
                if !std::mem::replace(&mut inbox.failing, true) {
                    tracing::warn!(%error, "messages of other replicas cannot be collected");
                }
                inbox.rest = AFTER_FAILURE;
                Vec::new()
            }
        }
    }

    fn open(&self, letter: &[u8]) -> Option<Letter> {
        match serde_json::from_slice(letter) {
            Ok(Letter::Done { number, result }) => {
                let waiting = self.errands().remove(&number);
                if let Some(waiting) = waiting {
                    // Whoever has stopped waiting needs no answer.
                    let _ = waiting.send(result);
                }
                None
            }
            Ok(letter) => Some(letter),
            Err(error) => {
                tracing::warn!(%error, "message of another replica cannot be read");
                None
            }
        }
    }

    pub(crate) async fn until_held(&self) {
        while self.held.load(Ordering::Acquire) == 0 {
            self.bell.notified().await;
        }
    }

    fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn errands(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<ErrandResult>>> {
        self.errands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An errand under way; forgotten when dropped.
struct PendingErrand<'a> {
    relay: &'a Relay,
    number: u64,
}

impl Drop for PendingErrand<'_> {
    fn drop(&mut self) {
        self.relay.errands().remove(&self.number);
    }
}

fn topic(replica: u32) -> String {
    format!("{replica:08x}")
}
