//! The discovery tools: what an agent finds, looks at and calls tools with when it cannot read the whole list (R59–R73).
//! They are tools like others, but belong to the gateway: no definition has them, and no search finds them.

use std::sync::Weak;

use toolrail_core::Offer;
use toolrail_registry::Registry;

/// The discovery tools of a registry. It has them itself, so they must not hold it.
pub fn offer(_registry: &Weak<Registry>) -> Offer {
    Offer::default()
}
