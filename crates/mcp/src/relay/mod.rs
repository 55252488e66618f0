//! What replicas on one store tell each other when a client's message reaches another one than the one it concerns: answers
//! to questions, and what is asked of a task, in letters; what may concern any of them, as news. Each replica collects what is
//! for it, but only while there is something here that it may concern.

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

use crate::asks::{self, Asker};
use crate::dialect::Dialect;
use crate::finish::Finish;
use crate::live::Live;
use crate::server::Server;
use crate::session::tag;
use crate::tasks::Errand;
use news::Newsroom;
pub(crate) use news::Report;
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
enum Letter {
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
pub(crate) enum Heard {
    /// With this result.
    Result(Box<RawValue>),
    /// There is no such task.
    NoSuchTask,
    /// The other replica said nothing.
    Nothing,
}

type Done = Option<Box<RawValue>>;

/// This replica's end.
pub(crate) struct Relay {
    registry: Arc<Registry>,
    /// Which replica this is.
    pub(crate) replica: u32,
    /// How many things here may be waiting for a letter.
    held: AtomicUsize,
    bell: Notify,
    next: AtomicU64,
    errands: Mutex<HashMap<u64, oneshot::Sender<Done>>>,
    /// Questions whose answers were passed on.
    passed_on: Once,
    pub(crate) newsroom: Newsroom,
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
    ) -> Heard {
        let _held = self.hold();
        let number = self.next_number();
        let (done, waiting) = oneshot::channel();
        {
            let mut errands = self.errands();
            if errands.len() >= MOST_WAITING {
                return Heard::Nothing;
            }
            errands.insert(number, done);
        }
        let _sent = Sent { relay: self, number };
        let letter = Letter::Errand {
            from: self.replica,
            number,
            task: task.to_owned(),
            principal: tag(principal).to_owned(),
            errand,
        };
        let heard = async { if self.send(replica, &letter).await { waiting.await.ok() } else { None } };
        match tokio::time::timeout(ANSWER_WITHIN, heard).await {
            Ok(Some(Some(result))) => Heard::Result(result),
            Ok(Some(None)) => Heard::NoSuchTask,
            Ok(None) | Err(_) => Heard::Nothing,
        }
    }

    /// Leaves a letter for a replica; false if that is not possible.
    async fn send(&self, replica: u32, letter: &Letter) -> bool {
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

    pub(crate) async fn until_held(&self) {
        while self.held.load(Ordering::Acquire) == 0 {
            self.bell.notified().await;
        }
    }

    fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn errands(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Done>>> {
        self.errands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An errand under way; forgotten when dropped.
struct Sent<'a> {
    relay: &'a Relay,
    number: u64,
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.relay.errands().remove(&self.number);
    }
}

impl Server {
    /// This replica, as it asks that session something.
    pub(crate) fn asker<'a>(&'a self, live: &'a Live) -> Asker<'a> {
        let session = live.key().unwrap_or_default();
        Asker { signer: &self.signer, replica: self.replica(), session }
    }

    /// Passes a client's answer to the replica that asked; false if none but this one did, or it was passed on before.
    pub(crate) async fn pass_on(&self, live: &Live, id: &str, answer: Result<&RawValue, &RawValue>) -> bool {
        let Some(session) = live.key() else { return false };
        let asked_by =
            asks::replica_of(&self.signer, id, session).filter(|asked_by| *asked_by != self.replica());
        let Some(asked_by) = asked_by else { return false };
        if !self.relay.passed_on.first(id) {
            return false;
        }
        let answer = answer.map(RawValue::to_owned).map_err(RawValue::to_owned);
        let letter = Letter::Answer { session: session.to_owned(), id: id.to_owned(), answer };
        let sent = self.relay.send(asked_by, &letter).await;
        if !sent {
            self.relay.passed_on.forget(id);
        }
        sent
    }

    /// Does what other replicas on the same store ask of this one, until the future is dropped. Run it beside the server if
    /// there may be other replicas.
    pub async fn relay(&self) {
        tokio::join!(self.collect_letters(), self.follow_news());
    }

    async fn collect_letters(&self) {
        let topic = topic(self.replica());
        let mut joining = Joining::default();
        let mut failing = false;
        loop {
            self.relay.until_held().await;
            let pause = match self.registry.replicas().collect(&topic).await {
                Ok(letters) => {
                    failing = false;
                    let more = letters.len() >= MailLimits::ALL.at_once as usize;
                    for part in letters {
                        self.read(joining.take(&part)).await;
                    }
                    if more { Duration::ZERO } else { LOOK_EVERY }
                }
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(%error, "messages of other replicas cannot be collected");
                    }
                    AFTER_FAILURE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn read(&self, letter: Option<Vec<u8>>) {
        let Some(letter) = letter else { return };
        match serde_json::from_slice(&letter) {
            Ok(Letter::Answer { session, id, answer }) => {
                let answer = answer.as_deref().map_err(|error| &**error);
                if let Some(live) = self.sessions.find(&session) {
                    live.asks.answer_named(&id, answer);
                }
            }
            Ok(Letter::Errand { from, number, task, principal, errand }) => {
                let task = self.tasks.find_tagged(&task, &principal);
                let finish = Finish { server: self, dialect: Dialect::Modern };
                let result = task.map(|task| errand.run(&task, finish).into_bytes());
                let result = result.and_then(|result| serde_json::from_slice(&result).ok());
                self.relay.send(from, &Letter::Done { number, result }).await;
            }
            Ok(Letter::Done { number, result }) => {
                let waiting = self.relay.errands().remove(&number);
                if let Some(waiting) = waiting {
                    // Whoever has stopped waiting needs no answer.
                    let _ = waiting.send(result);
                }
            }
            Err(error) => tracing::warn!(%error, "message of another replica cannot be read"),
        }
    }
}

fn topic(replica: u32) -> String {
    format!("{replica:08x}")
}
