//! The sessions with one server, each of which belongs to one conversation of a client: what the server remembers there,
//! asks and tells concerns that client alone. They are few: one that nobody uses goes when another is needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, OnceCell};
use tokio::time::Instant;
use toolrail_core::{CallError, ErrorCode, Principal};
use toolrail_protocol::Era;

use super::connection::Connection;
use super::message::ServerMessage;
use super::on_behalf::Holder;
use super::session::{Inbox, Session};

/// The most sessions that are held in the name of one.
const MOST_OF_ONE: usize = 32;

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionLimits {
    pub(super) most: usize,
    /// How long one is kept that nobody uses.
    pub(super) idle: Duration,
    /// How long a call waits while all of them are in use.
    pub(super) wait: Duration,
}

/// For whom a session is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    pub(super) principal: Principal,
    /// In whose name it is held, if not in the gateway's own.
    pub(super) holder: Option<Holder>,
    /// Whose conversation it is; none where nothing tells.
    pub(super) conversation: Option<Box<str>>,
    pub(super) era: Era,
    /// What the client can be asked.
    pub(super) capabilities: Value,
    /// Tells sessions of clients apart that look alike and call at the same time.
    pub(super) lane: usize,
}

/// How calls with the same key use a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionUse {
    /// No call, but somebody who watches a resource beside the calls.
    Watching,
    /// They are surely of one client.
    Together,
    /// They may be of several, none of which may hear what is said to another.
    InTurn,
}

/// The sessions with one server.
pub(super) struct Sessions {
    limits: SessionLimits,
    slots: Mutex<Slots>,
    /// Rings when a session is no longer in use.
    room: Notify,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<SessionKey, Slot>,
    next: u64,
}

/// A session, or one that is being opened.
struct Slot {
    number: u64,
    cell: Cell,
    calls: usize,
    watchers: usize,
    used: Instant,
}

type Cell = Arc<OnceCell<Arc<Session>>>;

/// One call's part in a session.
pub(super) struct Seat {
    sessions: Arc<Sessions>,
    pub(super) key: SessionKey,
    number: u64,
    pub(super) cell: Cell,
    watches: bool,
}

/// A connection for one call: that of its client's session, or the shared one.
pub(super) struct Lease {
    pub(super) connection: Arc<Connection>,
    own: Option<Own>,
    /// Whether it was used before.
    pub(super) is_used: bool,
}

struct Own {
    // Before the seat: what was not heard goes back while the session is still in use.
    inbox: Inbox,
    seat: Seat,
}

impl Sessions {
    pub(super) fn new(limits: SessionLimits) -> Arc<Self> {
        Arc::new(Self { limits, slots: Mutex::default(), room: Notify::new() })
    }

    /// A seat in the session of that key, which is to be opened if it is new. While all sessions are in use, `crowded` may
    /// make room, and one is waited for.
    pub(super) async fn seat(
        self: &Arc<Self>,
        key: SessionKey,
        how: SessionUse,
        crowded: impl Fn(),
    ) -> Result<Seat, CallError> {
        let taking = async {
            loop {
                let freed = self.room.notified();
                tokio::pin!(freed);
                // From here on, or what happens before it is waited for would be missed.
                freed.as_mut().enable();
                if let Some(seat) = self.take(&key, how) {
                    return seat;
                }
                crowded();
                freed.await;
            }
        };
        tokio::time::timeout(self.limits.wait, taking).await.map_err(|_| self.full(&key))
    }

    fn take(self: &Arc<Self>, key: &SessionKey, how: SessionUse) -> Option<Seat> {
        let mut key = key.clone();
        let mut slots = self.lock();
        let ended = slots.sweep(self.limits.idle);
        while how == SessionUse::InTurn && slots.by_key.get(&key).is_some_and(|slot| slot.calls > 0) {
            key.lane += 1;
        }
        let is_new = !slots.by_key.contains_key(&key);
        let is_full = slots.by_key.len() >= self.limits.most;
        let evicted = if is_new && slots.has_most_of_one(&key) {
            Some(slots.evict(|of| of.principal == key.principal)?)
        } else if is_new && is_full {
            Some(slots.evict(|_| true)?)
        } else {
            None
        };
        if is_new {
            slots.next += 1;
            let number = slots.next;
            let slot = Slot { number, cell: Cell::default(), calls: 0, watchers: 0, used: Instant::now() };
            slots.by_key.insert(key.clone(), slot);
        }
        let slot = slots.by_key.get_mut(&key)?;
        if slot.cell.get().is_some_and(|session| session.is_gone()) {
            slot.cell = Cell::default();
        }
        let watches = how == SessionUse::Watching;
        *slot.uses(watches) += 1;
        let (number, cell) = (slot.number, Arc::clone(&slot.cell));
        drop(slots);
        // Sessions end outside of the lock.
        drop((ended, evicted));
        Some(Seat { sessions: Arc::clone(self), key, number, cell, watches })
    }

    /// Ends the sessions of a conversation; calls that are still under way there keep theirs to their end.
    pub(super) fn end(&self, conversation: &str) {
        self.remove(|key, _| key.conversation.as_deref() == Some(conversation));
    }

    /// Forgets the session on that connection, which is gone.
    pub(super) fn forget(&self, connection: &Arc<Connection>) {
        self.remove(|_, slot| {
            slot.cell.get().is_some_and(|session| Arc::ptr_eq(&session.connection, connection))
        });
    }

    /// The sessions in which the server may offer other things than elsewhere, but for those of tenants, whose things are
    /// nobody else's business.
    pub(super) fn with_own_lists(&self) -> Vec<Arc<Session>> {
        /// The most that are asked.
        const MOST: usize = 32;
        let slots = self.lock();
        let opened = slots.by_key.iter().filter(|(key, _)| key.principal == Principal::Anonymous);
        let sessions = opened.filter_map(|(_, slot)| slot.cell.get());
        let own = sessions.filter(|session| session.has_own_lists() && !session.is_gone());
        own.take(MOST).cloned().collect()
    }

    /// The sessions of a client's conversation with a server that keeps them.
    pub(super) fn of(&self, conversation: &str) -> Vec<Arc<Session>> {
        let slots = self.lock();
        let own = slots
            .by_key
            .iter()
            .filter(|(key, _)| key.era == Era::Legacy && key.conversation.as_deref() == Some(conversation));
        own.filter_map(|(_, slot)| slot.cell.get()).filter(|session| !session.is_gone()).cloned().collect()
    }

    /// Ends what nobody has used for a while.
    pub(super) fn sweep(&self) {
        let ended = self.lock().sweep(self.limits.idle);
        drop(ended);
    }

    fn remove(&self, is_meant: impl Fn(&SessionKey, &Slot) -> bool) {
        let removed: Vec<_> = self.lock().by_key.extract_if(|key, slot| is_meant(key, slot)).collect();
        for _ in &removed {
            self.room.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn full(&self, key: &SessionKey) -> CallError {
        if self.lock().has_most_of_one(key) {
            let message = format!(
                "all {MOST_OF_ONE} sessions that one caller may have with this server are in use; wait for a call of yours to end, then try again"
            );
            return CallError::new(ErrorCode::Timeout, message);
        }
        let message = format!(
            "all {} sessions with this server are in use; try again, or raise mcp.maxSessions of its definition",
            self.limits.most
        );
        CallError::new(ErrorCode::Timeout, message)
    }
}

impl SessionKey {
    /// Whether whoever it is for may do nothing any more.
    fn has_ended(&self) -> bool {
        matches!(&self.principal, Principal::Known(identity) if identity.ending.is_here())
    }
}

impl Slot {
    fn is_unused(&self) -> bool {
        self.calls == 0 && self.watchers == 0
    }

    fn uses(&mut self, watches: bool) -> &mut usize {
        if watches { &mut self.watchers } else { &mut self.calls }
    }
}

impl Slots {
    /// Ends what was not used for so long, and what is held by somebody who may do nothing any more: his token has expired.
    fn sweep(&mut self, idle: Duration) -> Vec<(SessionKey, Slot)> {
        let is_over = |key: &SessionKey, slot: &Slot| {
            slot.used.elapsed() >= idle || (key.holder.is_some() && key.has_ended())
        };
        self.by_key.extract_if(|key, slot| slot.is_unused() && is_over(key, slot)).collect()
    }

    /// Whether somebody in whose name sessions are held has as many as one may have.
    fn has_most_of_one(&self, key: &SessionKey) -> bool {
        let is_own = |of: &&SessionKey| of.holder.is_some() && of.principal == key.principal;
        key.holder.is_some() && self.by_key.keys().filter(is_own).count() >= MOST_OF_ONE
    }

    /// Takes away the session among those that nobody has used for longest; nothing if all of them are in use.
    fn evict(&mut self, among: impl Fn(&SessionKey) -> bool) -> Option<Slot> {
        let unused = self.by_key.iter().filter(|(key, slot)| among(key) && slot.is_unused());
        let oldest = unused.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone())?;
        self.by_key.remove(&oldest)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut slots = self.sessions.lock();
        if let Some(slot) = slots.by_key.get_mut(&self.key).filter(|slot| slot.number == self.number) {
            *slot.uses(self.watches) -= 1;
            slot.used = Instant::now();
            if slot.is_unused() && slot.cell.get().is_none() {
                // It was never opened.
                slots.by_key.remove(&self.key);
            }
        }
        drop(slots);
        self.sessions.room.notify_one();
    }
}

impl Lease {
    pub(super) fn shared(connection: Arc<Connection>) -> Self {
        Self { connection, own: None, is_used: true }
    }

    /// A part of the session in which the seat is.
    pub(super) fn own(session: &Arc<Session>, seat: Seat, is_used: bool) -> Self {
        let own = Own { inbox: Inbox::new(session), seat };
        Self { connection: Arc::clone(&session.connection), own: Some(own), is_used }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.own.is_none()
    }

    /// Whether the server asked something while nobody was there to answer.
    pub(super) fn has_questions(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.inbox.has_questions)
    }

    /// Whose conversation it belongs to.
    pub(super) fn conversation(&self) -> Option<&str> {
        self.own.as_ref()?.seat.key.conversation.as_deref()
    }

    /// What the server sends in the session beside the answer; waits for ever on the shared connection.
    pub(super) async fn unsolicited(&mut self) -> ServerMessage {
        match &mut self.own {
            Some(own) => own.inbox.next().await,
            None => std::future::pending().await,
        }
    }
}
