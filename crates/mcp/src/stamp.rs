//! Who and when, as it stands in what we seal.

use std::time::{SystemTime, UNIX_EPOCH};

use toolrail_core::Principal;

/// A principal in what we seal: no two that differ have the same.
pub(crate) fn tag(principal: &Principal) -> &str {
    match principal {
        // No tenant has an empty name, nor one with a colon, which every id has.
        Principal::Anonymous => "",
        Principal::Member { tenant } => tenant,
        Principal::Known(identity) => &identity.id,
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
