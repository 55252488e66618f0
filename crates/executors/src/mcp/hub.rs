//! What the calls to one server share: the connection of the moment, the sessions of conversations, calls that wait for
//! their client, and the resources that are watched. The supervisor keeps the connection alive.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde_json::Value;
use tokio::sync::{Notify, watch};
use toolrail_core::{CallError, Caller, Changed, ErrorCode, Notice, Principal};
use toolrail_protocol::Era;

use super::connection::Connection;
use super::failure::Failure;
use super::following::ServerEvent;
use super::gate::Gates;
use super::handshake::ServerConnector;
use super::message;
use super::meta::{self, Claims};
use super::on_behalf::{self, Holder};
use super::parked::ParkingLot;
use super::session::{News, Session};
use super::sessions::{Lease, Seat, SessionKey, SessionLimits, SessionUse, Sessions};
use super::task;

/// What the calls to one server share.
pub(super) struct Hub {
    /// The name of the definition.
    pub(super) name: String,
    pub(super) connector: ServerConnector,
    state: watch::Sender<HubState>,
    /// Wakes the supervisor: the connection is gone, or somebody needs one now.
    pub(super) wake: Notify,
    /// Wakes the supervisor: the lists may have changed.
    pub(super) lists: Notify,
    /// Wakes the supervisor: other resources are watched than before.
    pub(super) watched_changed: Notify,
    watched: Mutex<HashMap<String, usize>>,
    /// What clients keep of this server as long as their conversations last has this name.
    token: String,
    sharing: Sharing,
    pub(super) sessions: Arc<Sessions>,
    pub(super) parked: ParkingLot,
    pub(super) gates: Gates,
    /// Who is told of changes.
    pub(super) listener: OnceLock<Listener>,
}

/// Tells the registry of changes.
pub(super) type Listener = Arc<dyn Fn(Changed) + Send + Sync>;

/// Who shares a session with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    Everybody,
    Conversation,
}

/// Ends what a conversation has at a server when it is dropped.
struct Ending {
    hub: Weak<Hub>,
    conversation: Box<str>,
}

/// The connection of the moment.
#[derive(Clone, Default)]
struct HubState {
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
    pub(super) fn new(
        name: String,
        connector: ServerConnector,
        (sharing, limits): (Sharing, SessionLimits),
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            name,
            connector,
            state: watch::channel(HubState::default()).0,
            wake: Notify::new(),
            lists: Notify::new(),
            watched_changed: Notify::new(),
            watched: Mutex::default(),
            token: format!("mcp-{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            sharing,
            sessions: Sessions::new(limits),
            parked: ParkingLot::default(),
            gates: Gates::default(),
            listener: OnceLock::new(),
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

    /// A connection for one call: that of its conversation's session, or the shared one where the server cannot tell clients
    /// apart by it, or must not.
    pub(super) async fn lease(
        self: &Arc<Self>,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Result<Lease, CallError> {
        let holder = self.connector.holder((principal, caller), &self.name)?;
        let shared = self.connection().await?;
        let mut is_renewed = false;
        loop {
            let Some((key, how)) = self.whose(&shared, (principal, holder.as_ref()), caller) else {
                return Ok(Lease::shared(shared));
            };
            let seat = self.seat(key, how).await?;
            let is_used = seat.cell.initialized();
            match self.session_of(&seat).await {
                Ok(session) => return Ok(Lease::own(&session, seat, is_used)),
                Err(failure) if shared.era != seat.key.era && !failure.is_refusal() => {
                    let reason = failure.into_error();
                    tracing::debug!(server = self.name, %reason, "knows no older revision");
                    // And so it is not tried again.
                    shared.may_know_legacy.store(false, Ordering::Relaxed);
                }
                Err(failure) if failure.is_unauthorised() && !is_renewed => {
                    is_renewed = true;
                    if !on_behalf::renew(self, principal).await {
                        return Err(failure.into_error());
                    }
                }
                Err(failure) => return Err(failure.into_error()),
            }
        }
    }

    /// A seat in the session of that key.
    pub(super) async fn seat(&self, key: SessionKey, how: SessionUse) -> Result<Seat, CallError> {
        // A client that answers by calling again may never do so; whoever calls now goes before.
        self.sessions.seat(key, how, || self.parked.end_oldest()).await
    }

    /// The session of a seat, opened if it is not.
    pub(super) async fn session_of(self: &Arc<Self>, seat: &Seat) -> Result<Arc<Session>, Failure> {
        Ok(Arc::clone(seat.cell.get_or_try_init(|| self.open(&seat.key)).await?))
    }

    /// The session of that client's conversation, in which it alone is told; none where all are told together.
    pub(super) async fn own_session(
        self: &Arc<Self>,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Result<Option<SessionKey>, CallError> {
        let holder = self.connector.holder((principal, caller), &self.name)?;
        let known = self.state.borrow().connection.clone();
        let shared = match known {
            Some(shared) => shared,
            None if holder.is_some() => self.connection().await?,
            None => return Ok(None),
        };
        let found = self.whose(&shared, (principal, holder.as_ref()), caller);
        // Whom to tell is known by the conversation, whoever else uses the session for calls.
        let told = |key| SessionKey { conversation: caller.conversation().map(Box::from), ..key };
        Ok(found.map(|(key, _)| told(key)))
    }

    /// The session that a call belongs to, and how it is used; none where the shared connection will do.
    fn whose(
        self: &Arc<Self>,
        shared: &Connection,
        (principal, holder): (&Principal, Option<&Holder>),
        caller: &dyn Caller,
    ) -> Option<(SessionKey, SessionUse)> {
        let (principal, holder) = (principal.clone(), holder.cloned());
        if self.sharing == Sharing::Everybody {
            holder.as_ref()?;
            let (conversation, era) = (None, shared.era);
            let capabilities = Claims::Nothing.capabilities();
            let key = SessionKey { principal, holder, conversation, era, capabilities, lane: 0 };
            return Some((key, SessionUse::Together));
        }
        let askable = meta::askable(caller);
        let can_be_asked = !askable.is_empty();
        // What a client of an older revision can be asked, a server of both eras may ask only as that revision has it; and it may
        // remember things only in a session, which such a client has.
        let is_older = caller.resumed().is_none() && (can_be_asked || self.is_told_of_the_end(caller));
        let as_legacy = is_older && shared.may_know_legacy.load(Ordering::Relaxed);
        let era = if as_legacy { Era::Legacy } else { shared.era };
        let may_ask = era == Era::Legacy && can_be_asked;
        let may_log = shared.is_process() && caller.log_level().is_some();
        let may_remember = (as_legacy || shared.keeps_state())
            && !(caller.conversation().is_none() && principal == Principal::Anonymous);
        // What was promised where the server is listed does not hold for this client.
        let may_mistake = era == Era::Legacy && shared.claims == Claims::Everything && shared.keeps_state();
        if holder.is_none() && !may_ask && !may_log && !may_remember && !may_mistake {
            return None;
        }
        let capabilities =
            if era == Era::Legacy { Value::Object(askable) } else { Claims::Nothing.capabilities() };
        let conversation = caller.conversation().map(Box::from);
        let how = if self.is_told_of_the_end(caller) || !(may_ask || may_log) {
            SessionUse::Together
        } else {
            SessionUse::InTurn
        };
        Some((SessionKey { principal, holder, conversation, era, capabilities, lane: 0 }, how))
    }

    /// Whether the end of the client's conversation will be heard of, which also says that it is surely one client's.
    fn is_told_of_the_end(self: &Arc<Self>, caller: &dyn Caller) -> bool {
        caller.conversation().is_some_and(|conversation| {
            caller.keep(&self.token, &mut || {
                Box::new(Ending { hub: Arc::downgrade(self), conversation: conversation.into() })
            })
        })
    }

    async fn open(self: &Arc<Self>, key: &SessionKey) -> Result<Arc<Session>, Failure> {
        let connecting = self.connector.connect_as(key.era, &key.capabilities, key.holder.clone());
        let (connection, mut unsolicited) = connecting.await?;
        unsolicited.ready().await;
        Ok(Session::new((connection, unsolicited), self.news(key)))
    }

    /// What is heard in a session beside its calls.
    fn news(self: &Arc<Self>, key: &SessionKey) -> News {
        let (hub, principal) = (Arc::downgrade(self), key.principal.clone());
        let conversation = key.conversation.as_deref().map(str::to_owned);
        Box::new(move |heard| {
            let Some(hub) = hub.upgrade() else { return };
            match heard {
                ServerEvent::ListsChanged => hub.lists.notify_one(),
                // What a tenant's session hears is nobody else's business.
                ServerEvent::Resource(_) if conversation.is_none() && principal != Principal::Anonymous => {}
                ServerEvent::Resource(uri) => {
                    hub.tell(Changed::Resource { uri, conversation: conversation.clone() });
                }
                ServerEvent::Notice(notice) => {
                    if let Some(conversation) = conversation.clone() {
                        hub.tell(Changed::Told { conversation, notice: hub.named_outside(notice) });
                    }
                }
                ServerEvent::Question { .. } | ServerEvent::Gone => {}
            }
        })
    }

    /// Tells the server, in the sessions of that conversation, that the roots of the client have changed. What it asks then is
    /// asked of the client with its next call, and before that call is made.
    pub(super) fn roots_changed(&self, conversation: &str) {
        for session in self.sessions.of(conversation) {
            session.connection.wire.send_soon(message::notice("notifications/roots/list_changed", None));
        }
    }

    fn named_outside(&self, notice: Notice) -> Notice {
        match notice {
            Notice::Task { id, params } => {
                Notice::Task { id: format!("{}{}{id}", self.name, task::SEPARATOR), params }
            }
            other @ (Notice::Log { .. } | Notice::Elicited { .. }) => other,
        }
    }

    pub(super) fn tell(&self, changed: Changed) {
        if let Some(listener) = self.listener.get() {
            listener(changed);
        }
    }

    /// There is a connection.
    pub(super) fn connected(&self, connection: &Arc<Connection>) {
        self.state.send_modify(|state| {
            *state = HubState {
                connection: Some(Arc::clone(connection)),
                failure: None,
                attempts: state.attempts + 1,
            };
        });
    }

    /// There is none, and this is why.
    pub(super) fn disconnected(&self, error: CallError) {
        self.state.send_modify(|state| {
            *state = HubState { connection: None, failure: Some(error), attempts: state.attempts + 1 };
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
        self.sessions.forget(connection);
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

    /// Watches a resource for everybody as long as what comes back lives.
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

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.sessions.end(&self.conversation);
            hub.parked.end_of(&self.conversation);
        }
    }
}
