//! How we answer: which revision, and whether the client speaks standard MCP or plain JSON-RPC.
//! The dialect is chosen by what the client said, never by configuration.

use toolrail_protocol::Era;
use toolrail_protocol::revision::{LEGACY, NEWEST_LEGACY};

/// How one request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The request names a modern revision.
    Modern,
    /// `initialize` or a header named a legacy revision.
    Legacy,
    /// The client negotiated nothing.
    Plain,
}

impl Dialect {
    /// The generation whose shapes the answer has.
    pub(crate) fn era(self) -> Era {
        match self {
            Self::Modern => Era::Modern,
            Self::Legacy | Self::Plain => Era::Legacy,
        }
    }
}

/// The legacy revision to answer an `initialize` with: the client's own if we know it, else our newest.
pub(crate) fn negotiate(requested: &str) -> &'static str {
    LEGACY.iter().find(|known| **known == requested).copied().unwrap_or(NEWEST_LEGACY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_revision_is_kept_and_an_unknown_one_becomes_our_newest() {
        assert_eq!(negotiate("2024-11-05"), "2024-11-05");
        assert_eq!(negotiate("2099-01-01"), "2025-11-25");
        // A modern revision cannot be negotiated by initialize.
        assert_eq!(negotiate("2026-07-28"), "2025-11-25");
    }
}
