//! The server: what it holds. `dispatch.rs` has what it does with a message, `replicas.rs` what it does for other replicas.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolrail_registry::Registry;

use crate::introduction::{Introduction, ServerInfo};
use crate::live::Sessions;
use crate::long_lists::LongLists;
use crate::mailboxes::Mailboxes;
use crate::peer::Session;
use crate::relay::Relay;
use crate::sign::Signer;
use crate::stamp::now;
use crate::tasks::Tasks;

/// The MCP server over one registry.
pub struct Server {
    pub(crate) registry: Arc<Registry>,
    pub(crate) me: Introduction,
    pub(crate) signer: Signer,
    /// To and from other replicas.
    pub(crate) relay: Arc<Relay>,
    pub(crate) sessions: Sessions,
    /// Connections of the transport of 2024-11-05.
    pub(crate) mailboxes: Mailboxes,
    /// Cancelled when the server is about to end: streams then end by themselves.
    pub(crate) closing: CancellationToken,
    /// Calls that go on although their client has lost the connection.
    pub(crate) tracker: TaskTracker,
    /// Open WebSockets, which have left the HTTP connections that they began as.
    pub(crate) sockets: TaskTracker,
    /// Calls that run on while their clients ask for them now and then.
    pub(crate) tasks: Tasks,
    pub(crate) long_lists: LongLists,
    /// When it was made, in seconds since 1970.
    started: u64,
}

impl Server {
    /// A server over that registry. Replicas that share `key` know each other's sessions.
    pub fn new(registry: Arc<Registry>, info: ServerInfo, key: &[u8; 32]) -> Arc<Self> {
        let signer = Signer::new(key);
        let replica = signer.random().map_or_else(std::process::id, u32::from_be_bytes);
        let relay = Relay::new(Arc::clone(&registry), replica);
        Arc::new(Self {
            registry,
            me: Introduction::new(info),
            signer,
            tasks: Tasks::new(Arc::clone(&relay)),
            relay,
            sessions: Sessions::default(),
            mailboxes: Mailboxes::default(),
            closing: CancellationToken::new(),
            tracker: TaskTracker::new(),
            sockets: TaskTracker::new(),
            long_lists: LongLists::default(),
            started: now(),
        })
    }

    /// Ends every stream in an orderly way; calls under way go on.
    pub fn close(&self) {
        self.closing.cancel();
        self.tracker.close();
        self.sockets.close();
    }

    /// Waits after [`close`](Self::close) until every WebSocket has said goodbye.
    pub async fn closed(&self) {
        self.sockets.wait().await;
    }

    /// Whether a client held its session with a process before this one and has not been told yet that the lists may be
    /// others now; from then on it has.
    pub(crate) fn may_have_missed(&self, session: &Session) -> bool {
        session.begun.is_some_and(|begun| begun < self.started)
            && session.live.as_ref().is_some_and(|live| !live.catch_up())
    }

    /// Tells this process from other replicas.
    pub(crate) fn replica(&self) -> u32 {
        self.relay.replica
    }

    /// Warns of endpoints whose lists are very long, at the start; later that is noticed when somebody lists.
    pub fn look_at_lists(&self) {
        let endpoints = self.registry.endpoints();
        for endpoint in std::iter::once(endpoints.main()).chain(endpoints.groups()) {
            self.long_lists.look(&self.registry.catalogue_at(None, endpoint));
        }
    }
}
