//! How we answer: which revision, and whether the client speaks standard MCP or plain JSON-RPC.
//! The dialect is chosen by what the client said, never by configuration.

use toolrail_registry::Era;

/// Revisions negotiated by `initialize`, oldest first.
pub(crate) const LEGACY: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// Revisions named in each request, oldest first.
pub(crate) const MODERN: &[&str] = &["2026-07-28"];

/// Every revision there is, newest first, as errors and `server/discover` tell it.
pub(crate) fn supported() -> Vec<&'static str> {
    LEGACY.iter().chain(MODERN).rev().copied().collect()
}

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
    LEGACY.iter().find(|known| **known == requested).copied().unwrap_or(LEGACY[LEGACY.len() - 1])
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

    #[test]
    fn supported_revisions_are_told_newest_first() {
        assert_eq!(supported(), ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    }
}
