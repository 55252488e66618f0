//! Warns once when an endpoint lists so many tools that models read little else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolrail_registry::{ListingMode, Snapshot};

/// More listed tools than this are worth a word.
const MANY: usize = 200;

/// Whether it was said already.
#[derive(Default)]
pub(crate) struct LongLists {
    told: AtomicBool,
}

impl LongLists {
    /// Looks at what is about to be listed.
    pub(crate) fn look(&self, snapshot: &Arc<Snapshot>) {
        let listing = snapshot.listing();
        if listing.mode != ListingMode::Full
            || listing.listed <= MANY
            || self.told.swap(true, Ordering::Relaxed)
        {
            return;
        }
        // Counting what it costs takes some milliseconds, for which nobody shall wait.
        let snapshot = Arc::clone(snapshot);
        tokio::task::spawn_blocking(move || warn_of(&snapshot));
    }
}

fn warn_of(snapshot: &Snapshot) {
    let tokens = snapshot.context_cost().formats.iter().map(|cost| cost.full).max();
    let group = snapshot.endpoint().and_then(|endpoint| endpoint.group.as_deref());
    tracing::warn!(
        tools = snapshot.listing().listed,
        tokens,
        group,
        "every client is shown a long list, at about that many tokens; --listing search, or listing: auto in the configuration, lets it search instead"
    );
}
