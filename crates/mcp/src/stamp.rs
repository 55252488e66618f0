//! Who and when, as it stands in what we seal.

use std::time::{SystemTime, UNIX_EPOCH};

use toolrail_core::Principal;

/// A principal in what we seal.
pub(crate) fn tag(principal: &Principal) -> &str {
    // No tenant has an empty name.
    principal.tenant().unwrap_or_default()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
