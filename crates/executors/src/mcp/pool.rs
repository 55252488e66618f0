//! Connections that one call at a time has for itself, so that whatever the server asks on them concerns that call. They
//! are few, and kept for a while between calls of the same client.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use toolrail_core::{CallError, ErrorCode, Principal};

use super::connection::Connection;
use super::handshake::{Connector, Way};
use super::wire::Unsolicited;

/// How many processes, and how many HTTP sessions, there are at most beside the shared one.
const MOST_PROCESSES: usize = 8;
const MOST_SESSIONS: usize = 32;
const KEPT: Duration = Duration::from_mins(1);

/// For whom a connection was made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) principal: Principal,
    /// What the client can be asked.
    pub(super) capabilities: Value,
}

/// Connections for single calls.
pub(super) struct Pool {
    room: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

struct Idle {
    owned: Owned,
    since: Instant,
}

/// A connection that belongs to one call.
struct Owned {
    connection: Arc<Connection>,
    unsolicited: Unsolicited,
    key: Key,
    _permit: OwnedSemaphorePermit,
}

/// A connection for one call, its own or the shared one.
pub(super) struct Lease {
    pub(super) connection: Arc<Connection>,
    own: Option<(Owned, Arc<Mutex<Vec<Idle>>>)>,
    /// Whether it was used before.
    pub(super) is_used: bool,
}

impl Pool {
    pub(super) fn new(connector: &Connector) -> Self {
        let most = match connector.way {
            Way::Http(_) => MOST_SESSIONS,
            Way::Stdio(_) => MOST_PROCESSES,
        };
        Self { room: Arc::new(Semaphore::new(most)), idle: Arc::default() }
    }

    /// A connection that was kept for a client of that sort.
    pub(super) fn kept(&self, key: &Key) -> Option<Lease> {
        self.take(key).map(|owned| Lease { is_used: true, ..self.lend(owned) })
    }

    /// A new connection for a client of that sort.
    pub(super) async fn lease(&self, connector: &Connector, key: Key) -> Result<Lease, CallError> {
        let permit = self.permit(connector).await?;
        let (connection, mut unsolicited) = connector.connect(&key.capabilities).await?;
        unsolicited.ready().await;
        let owned = Owned { connection: Arc::new(connection), unsolicited, key, _permit: permit };
        Ok(self.lend(owned))
    }

    /// Closes what nobody has used for a while.
    pub(super) fn sweep(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).retain(|idle| idle.since.elapsed() < KEPT);
    }

    fn take(&self, key: &Key) -> Option<Owned> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|idle| idle.since.elapsed() < KEPT);
        let at = idle.iter().rposition(|idle| idle.owned.key == *key)?;
        Some(idle.swap_remove(at).owned)
    }

    /// Makes room by closing the connection that nobody has used for longest; false if all of them are in use.
    pub(super) fn make_room(&self) -> bool {
        if self.room.available_permits() > 0 {
            return true;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.is_empty() {
            return false;
        }
        drop(idle.remove(0));
        true
    }

    async fn permit(&self, connector: &Connector) -> Result<OwnedSemaphorePermit, CallError> {
        let waiting = Arc::clone(&self.room).acquire_owned();
        match tokio::time::timeout(connector.limits.answer, waiting).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(CallError::new(
                ErrorCode::Timeout,
                format!(
                    "too many calls to {} at once, by clients that it may ask something; try again",
                    connector.place()
                ),
            )),
        }
    }

    fn lend(&self, owned: Owned) -> Lease {
        let connection = Arc::clone(&owned.connection);
        Lease { connection, own: Some((owned, Arc::clone(&self.idle))), is_used: false }
    }
}

impl Lease {
    pub(super) fn shared(connection: Arc<Connection>) -> Self {
        Self { connection, own: None, is_used: true }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.own.is_none()
    }

    /// What the server sends on a connection that belongs to this call alone; waits for ever on a shared one.
    pub(super) async fn unsolicited(&mut self) -> Option<super::message::Message> {
        match &mut self.own {
            Some((owned, _)) => owned.unsolicited.next().await,
            None => std::future::pending().await,
        }
    }

    /// The server will send nothing more of its own.
    pub(super) fn close_unsolicited(&mut self) {
        if let Some((owned, _)) = &mut self.own {
            owned.unsolicited = Unsolicited::None;
        }
    }

    /// The call is over and the connection in order: it is kept for the next. Without this it is closed.
    pub(super) fn give_back(self) {
        if let Some((owned, home)) = self.own
            && !matches!(owned.unsolicited, Unsolicited::None)
        {
            let idle = Idle { owned, since: Instant::now() };
            home.lock().unwrap_or_else(PoisonError::into_inner).push(idle);
        }
    }
}
