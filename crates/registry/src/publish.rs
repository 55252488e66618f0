//! Publishing: what the sources and the upstreams have now becomes the snapshot that everybody sees, and whoever follows
//! hears of what changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use toolrail_core::{Changed, UpstreamState};

use crate::entry::Entry;
use crate::feed::Feed;
use crate::item::Item;
use crate::merge::merge;
use crate::registry::{Registry, State};
use crate::snapshot::Snapshot;
use crate::upstreams::Listener;

/// Says that an upstream offers something else than what is published.
#[derive(Default)]
pub(crate) struct OffersBell {
    rung: AtomicBool,
    /// Rings when it happens.
    pub(crate) bell: Arc<Notify>,
}

impl OffersBell {
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.bell.notify_one();
    }

    /// Whether it was rung since the last time.
    fn take(&self) -> bool {
        self.rung.swap(false, Ordering::AcqRel)
    }
}

/// What upstreams are given to tell of their changes.
pub(crate) fn listener(offers: &Arc<OffersBell>, feed: &Arc<Feed>) -> Listener {
    let (offers, feed) = (Arc::clone(offers), Arc::clone(feed));
    Arc::new(move |changed| match changed {
        Changed::Offer => offers.ring(),
        Changed::Resource(uri) => feed.resource_changed(&uri),
    })
}

impl Registry {
    /// Looks at every source and publishes what changed. A source that fails keeps its last good definitions.
    pub async fn refresh(&self) {
        // Held over the awaits below on purpose: two refreshes at once could publish the older state last.
        let mut state = self.state.lock().await;
        let mut changed = false;
        for tracked in &mut state.sources {
            changed |= tracked.refresh(&self.compiler).await;
        }
        if self.offers.take() || changed {
            self.publish(&mut state);
        }
    }

    /// Waits until every upstream has offered something or failed, and publishes that, but no longer than `within`. For
    /// the start: [`Registry::follow`] must not run yet, as both listen to the same bell.
    pub async fn await_upstreams(&self, within: Duration) {
        let deadline = Instant::now() + within;
        while self.snapshot().upstreams_that_are(UpstreamState::Connecting) > 0
            && tokio::time::timeout_at(deadline, self.offers.bell.notified()).await.is_ok()
        {
            self.refresh_offers().await;
        }
    }

    /// Publishes what upstreams offer otherwise than before, without looking at the sources.
    pub(crate) async fn refresh_offers(&self) {
        let mut state = self.state.lock().await;
        if self.offers.take() {
            self.publish(&mut state);
        }
    }

    fn publish(&self, state: &mut State) {
        self.let_go_of_shadowed(state);
        let contents = merge(&state.sources, &mut state.upstreams);
        let limits = (self.limits.page_tools, self.limits.page_bytes);
        let snapshot = Arc::new(Snapshot::new(contents, limits));
        let before = self.current.swap(Arc::clone(&snapshot));
        toolrail_core::publish_revision(snapshot.revision);
        snapshot.tell_changes(&before, &self.feed);
    }

    /// An upstream whose definition has lost its name to another source ends: its definition gets one that was not started.
    fn let_go_of_shadowed(&self, state: &mut State) {
        let State { sources, upstreams } = state;
        for index in 1..sources.len() {
            let (earlier, later) = sources.split_at_mut(index);
            for (key, entry) in later.iter_mut().take(1).flat_map(|tracked| &mut tracked.entries) {
                let Some(Item::Upstream { document, upstream, .. }) = entry.live() else {
                    continue;
                };
                if upstreams.has(upstream) && earlier.iter().any(|tracked| tracked.entries.contains_key(key))
                {
                    let value = serde_json::from_str(document).unwrap_or_default();
                    let (finished, _) = self.compiler.compile(&value, document, entry.source);
                    let item = finished.map(|finished| finished.item);
                    *entry = Arc::new(Entry { item, ..Entry::clone(entry) });
                }
            }
        }
    }
}
