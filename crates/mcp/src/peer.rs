//! Who is at the other end of a message, as far as answering it depends on that.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use toolrail_core::{CallerToken, Principal};
use toolrail_protocol::revision::V2025_11_25;
use toolrail_registry::Endpoint;

use crate::dialect::Dialect;
use crate::headers::Claims;
use crate::live::Live;
use crate::outbox::Outbox;

/// The other end of one message.
pub(crate) struct Peer<'a> {
    /// What HTTP headers said beside the message, where it came over HTTP.
    pub(crate) claims: Option<Claims<'a>>,
    /// What `initialize` settled.
    pub(crate) session: &'a Session,
    /// Who calls.
    pub(crate) principal: &'a Principal,
    /// The token with which it came, if it did.
    pub(crate) token: Option<&'a CallerToken>,
    /// What it speaks to.
    pub(crate) endpoint: &'a Arc<Endpoint>,
    /// Where it comes from, where it has an address and keeps no connection.
    pub(crate) address: Option<IpAddr>,
    /// Whether a web page from elsewhere sent the message, which may call tools but not change definitions.
    pub(crate) foreign_page: bool,
    /// Takes what is to be sent beside the answer; absent if the client cannot be sent anything else.
    pub(crate) outbox: Option<&'a Outbox>,
}

/// What a client has settled with us, on one connection or under one session id.
#[derive(Default)]
pub(crate) struct Session {
    /// The legacy revision that `initialize` negotiated.
    pub(crate) revision: OnceLock<&'static str>,
    /// What the client said it can do, in `initialize`.
    pub(crate) capabilities: OnceLock<Value>,
    /// How the client introduced itself, in `initialize`.
    pub(crate) client_info: OnceLock<Value>,
    /// Whether the connection offers the shapes of plain JSON-RPC (`/mcp/ws`).
    pub(crate) plain_shapes: bool,
    /// Whether a web page from elsewhere opened it: then it sends every message.
    pub(crate) foreign_page: bool,
    /// Where the connection was opened from.
    pub(crate) address: Option<IpAddr>,
    /// When it began, in seconds since 1970, where its id says so.
    pub(crate) begun: Option<u64>,
    /// What this process holds for it.
    pub(crate) live: Option<Arc<Live>>,
}

impl Session {
    /// What one connection settles, with everything it may need.
    pub(crate) fn of_connection() -> Self {
        Self { live: Some(Arc::new(Live::of_connection())), ..Self::default() }
    }

    /// Whether a client of that dialect knows tasks as 2025-11-25 has them, which neither earlier nor later revisions do.
    pub(crate) fn has_tasks(&self, dialect: Dialect) -> bool {
        dialect == Dialect::Legacy && self.revision.get() == Some(&V2025_11_25)
    }
}
