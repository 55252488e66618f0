//! Publishing: what the sources and the upstreams have now becomes the snapshot that everybody sees, and whoever follows
//! hears of what changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use toolrail_core::{Changed, UpstreamState};

use crate::feed::{Feed, Updated};
use crate::gauges;
use crate::merge::{Offers, State};
use crate::registry::Registry;
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

    fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Whether it was rung since the last time.
    fn take(&self) -> bool {
        self.rung.swap(false, Ordering::AcqRel)
    }
}

/// Hears of the changes of upstreams.
pub(crate) fn listener(offers: &Arc<OffersBell>, feed: &Arc<Feed>) -> Listener {
    let (offers, feed) = (Arc::clone(offers), Arc::clone(feed));
    Arc::new(move |of, changed| match changed {
        Changed::Offer => offers.ring(),
        Changed::Resource { uri, conversation } => {
            feed.tell(Updated {
                uri: uri.into(),
                of: of.cloned(),
                conversation: conversation.map(Into::into),
            });
        }
        Changed::Told { conversation, notice } => feed.notices.tell(&conversation, notice),
    })
}

impl Registry {
    /// Waits until every upstream has offered something or failed, and publishes that, but no longer than `within`. For
    /// the start: [`Registry::follow`] must not run yet, as both listen to the same bell.
    pub async fn await_upstreams(&self, within: Duration) {
        let deadline = Instant::now() + within;
        while self.snapshot().upstreams_that_are(UpstreamState::Connecting) > 0
            && tokio::time::timeout_at(deadline, self.offers.bell.notified()).await.is_ok()
        {
            self.refresh_offers();
        }
    }

    /// Publishes what upstreams offer otherwise than before, without looking at the sources.
    pub(crate) fn refresh_offers(&self) {
        if self.offers.has_rung() {
            self.publish(&mut self.state());
        }
    }

    /// Makes what changed in the layers and offers the snapshot that everybody sees, once every source was looked at.
    pub(crate) fn publish(&self, state: &mut State) {
        if !state.is_whole() {
            return;
        }
        let offers = if self.offers.take() { Offers::Changed } else { Offers::Same };
        let differences = state.merge(&self.compiler, offers);
        let mut published = state.published((self.limits.page_tools, self.limits.page_bytes));
        published.built_ins = Arc::clone(&self.built_ins);
        published.discovery = self.endpoints().main().discovery;
        let snapshot = Arc::new(Snapshot::shared(Arc::new(published)));
        gauges::published(&snapshot);
        let revision = snapshot.revision;
        self.current.store(snapshot);
        // Afterwards: whoever sees this revision finds the snapshot that has it.
        toolrail_core::publish_revision(revision);
        self.note_meanings(differences.found);
        self.feed.lists_changed(differences.tools, differences.prompts, differences.resources);
        for (uri, of) in differences.updated {
            self.feed.tell(Updated { uri: uri.into(), of: Some(of), conversation: None });
        }
    }
}
