//! What the calls to one server share: the connection of the moment, connections for single calls, calls that wait for
//! their client, and the resources that are watched. The supervisor keeps the connection alive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{Notify, watch};
use toolrail_core::{CallError, Caller, ErrorCode, Principal};

use super::connection::{Connection, Era};
use super::handshake::Connector;
use super::meta;
use super::parked::ParkingLot;
use super::pool::{Key, Lease, Pool};

/// What the calls to one server share.
pub(super) struct Hub {
    /// The name of the definition.
    pub(super) name: String,
    pub(super) connector: Connector,
    state: watch::Sender<State>,
    /// Wakes the supervisor: the connection is gone, or somebody needs one now.
    pub(super) wake: Notify,
    /// Wakes the supervisor: the lists may have changed.
    pub(super) lists: Notify,
    /// Wakes the supervisor: other resources are watched than before.
    pub(super) watched_changed: Notify,
    watched: Mutex<HashMap<String, usize>>,
    pub(super) pool: Pool,
    pub(super) parked: ParkingLot,
}

/// The connection of the moment.
#[derive(Clone, Default)]
struct State {
    connection: Option<Arc<Connection>>,
    failure: Option<CallError>,
    /// How many attempts to connect have ended.
    attempts: u64,
}

/// Keeps a resource watched.
pub(super) struct Watching {
    hub: Arc<Hub>,
    uri: String,
}

impl Hub {
    pub(super) fn new(name: String, connector: Connector) -> Self {
        let pool = Pool::new(&connector);
        Self {
            name,
            connector,
            state: watch::channel(State::default()).0,
            wake: Notify::new(),
            lists: Notify::new(),
            watched_changed: Notify::new(),
            watched: Mutex::default(),
            pool,
            parked: ParkingLot::default(),
        }
    }

    /// The connection that everybody shares; if there is none, one more attempt is made and waited for.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, CallError> {
        let mut state = self.state.subscribe();
        let attempts = {
            let now = state.borrow_and_update();
            if let Some(connection) = &now.connection {
                return Ok(Arc::clone(connection));
            }
            now.attempts
        };
        self.wake.notify_one();
        let within = self.connector.limits.connect;
        let tried = state.wait_for(|now| now.connection.is_some() || now.attempts > attempts);
        let now = match tokio::time::timeout(within, tried).await {
            Ok(Ok(now)) => now.clone(),
            _ => self.state.borrow().clone(),
        };
        now.connection.ok_or_else(|| {
            let why = now.failure.map_or_else(|| "no connection yet".to_owned(), |error| error.message);
            let message = self.connector.words_for("cannot reach", &why);
            CallError::new(ErrorCode::UpstreamUnreachable, message)
        })
    }

    /// A connection for one call: its own where the server may have something to ask or to tell that could not be told
    /// apart from what concerns other calls.
    pub(super) async fn lease(&self, principal: &Principal, caller: &dyn Caller) -> Result<Lease, CallError> {
        let shared = self.connection().await?;
        let askable = meta::askable(caller);
        let may_ask = shared.era == Era::Legacy && !askable.is_empty();
        let may_tell = shared.is_process() && caller.log_level().is_some();
        if !may_ask && !may_tell {
            return Ok(Lease::shared(shared));
        }
        let key = Key { principal: principal.clone(), capabilities: Value::Object(askable) };
        if let Some(kept) = self.pool.kept(&key) {
            return Ok(kept);
        }
        if !self.pool.make_room() {
            // A client that answers by calling again may never do so; whoever calls now goes before.
            self.parked.end_oldest();
        }
        self.pool.lease(&self.connector, key).await
    }

    /// There is a connection.
    pub(super) fn connected(&self, connection: &Arc<Connection>) {
        self.state.send_modify(|state| {
            *state = State {
                connection: Some(Arc::clone(connection)),
                failure: None,
                attempts: state.attempts + 1,
            };
        });
    }

    /// There is none, and this is why.
    pub(super) fn disconnected(&self, error: CallError) {
        self.state.send_modify(|state| {
            *state = State { connection: None, failure: Some(error), attempts: state.attempts + 1 };
        });
    }

    /// A call found that the connection is gone; the supervisor makes a new one.
    pub(super) fn lost(&self, connection: &Arc<Connection>, error: &CallError) {
        self.state.send_if_modified(|state| {
            let is_it = state.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, connection));
            if is_it {
                state.connection = None;
                state.failure = Some(error.clone());
            }
            is_it
        });
        self.wake.notify_one();
    }

    /// Whether that connection is still the one that everybody shares.
    pub(super) fn is_current(&self, connection: &Arc<Connection>) -> bool {
        self.state.borrow().connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, connection))
    }

    /// Why there is no connection.
    pub(super) fn failure(&self) -> Option<CallError> {
        self.state.borrow().failure.clone()
    }

    /// Watches a resource as long as what comes back lives.
    pub(super) fn watch(self: &Arc<Self>, uri: &str) -> Watching {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let count = watched.entry(uri.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            self.watched_changed.notify_one();
        }
        Watching { hub: Arc::clone(self), uri: uri.to_owned() }
    }

    /// The resources that are watched now.
    pub(super) fn watched(&self) -> Vec<String> {
        let mut uris: Vec<String> =
            self.watched.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        uris.sort_unstable();
        uris
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watched = self.hub.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = watched.get_mut(&self.uri) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.uri);
                self.hub.watched_changed.notify_one();
            }
        }
    }
}
