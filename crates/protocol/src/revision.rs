//! The revisions of MCP.

/// The first one, with the transport HTTP+SSE.
pub const V2024_11_05: &str = "2024-11-05";
/// Streamable HTTP, batches.
pub const V2025_03_26: &str = "2025-03-26";
/// Structured results, elicitation; no batches.
pub const V2025_06_18: &str = "2025-06-18";
/// Tasks as they were first; streams that say when to come back.
pub const V2025_11_25: &str = "2025-11-25";
/// Every request says everything by itself.
pub const V2026_07_28: &str = "2026-07-28";

/// Revisions negotiated by `initialize`, oldest first.
pub const LEGACY: &[&str] = &[V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25];
/// Revisions named in each request, oldest first.
pub const MODERN: &[&str] = &[V2026_07_28];

/// The newest that `initialize` can settle.
pub const NEWEST_LEGACY: &str = V2025_11_25;

/// The generations of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Each request names its revision.
    Modern,
    /// A session begins with `initialize`; structured content and its schema must be objects.
    Legacy,
}

/// Every revision there is, newest first.
pub fn all() -> Vec<&'static str> {
    LEGACY.iter().chain(MODERN).rev().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_told_newest_first() {
        assert_eq!(all(), ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    }
}
