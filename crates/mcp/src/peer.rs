//! Who is at the other end of a message, as far as answering it depends on that.

use std::sync::OnceLock;

use toolrail_core::Principal;

use crate::headers::Claims;

/// The other end of one message.
pub(crate) struct Peer<'a> {
    /// What HTTP headers said beside the message, where it came over HTTP.
    pub(crate) claims: Option<Claims<'a>>,
    /// What `initialize` settled, where messages share a connection.
    pub(crate) session: &'a Session,
    /// Who calls.
    pub(crate) principal: &'a Principal,
}

/// What one connection has settled.
#[derive(Default)]
pub(crate) struct Session {
    /// The legacy revision that `initialize` negotiated.
    pub(crate) revision: OnceLock<&'static str>,
    /// Whether the connection offers the shapes of plain JSON-RPC (`/mcp/ws`).
    pub(crate) plain_shapes: bool,
}
