//! Publishing: what the sources and the upstreams have now becomes the snapshot that everybody sees, and whoever follows
//! hears of what changed.

use std::time::Duration;

use tokio::time::Instant;
use toolrail_core::{Change, Revision, Severity, UpstreamState};

use super::Intake;
use super::layer::Layer;
use super::merge::{MergeState, Offers};
use crate::catalog::{STATES, Snapshot, Updated};
use crate::gauges;
use crate::source_id::SourceId;

impl Intake {
    /// Waits until every upstream has offered something or failed, and publishes that, but no longer than `within`. For
    /// the start: [`crate::Registry::follow`] must not run yet, as both listen to the same bell.
    pub async fn await_upstreams(&self, within: Duration) {
        let deadline = Instant::now() + within;
        while self.catalog.snapshot().upstreams_that_are(UpstreamState::Connecting) > 0
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

    /// Takes off what those changes, which led to that revision, took off, unless they were read back.
    pub(crate) fn withdraw_unread(&self, changes: &[Change], revision: Revision) {
        let mut state = self.state();
        let store = state.layers.iter_mut().find(|layer| layer.id == SourceId::Store);
        let unread = |layer: &&mut Layer| layer.revision.is_none_or(|read| read < revision);
        let Some(layer) = store.filter(unread) else {
            return;
        };
        tracing::warn!(revision, "what was written to the store could not be read back yet");
        layer.withdrawn.note(changes, revision);
        let changed = layer.withdraw();
        let journal = self.settings.last_good.as_ref().map(|last_good| &last_good.journal);
        let lines = journal.map(|journal| journal.lines(layer, &changed)).unwrap_or_default();
        state.note(changed);
        self.publish(&mut state);
        drop(state);
        if let Some(journal) = journal {
            tokio::task::block_in_place(|| journal.append(lines));
        }
    }

    /// Makes what changed in the layers and offers the snapshot that everybody sees, once every source was looked at.
    pub(crate) fn publish(&self, state: &mut MergeState) {
        if !state.is_whole() {
            return;
        }
        let offers = if self.offers.take() { Offers::Changed } else { Offers::Same };
        let differences = state.merge(&self.compiler, offers);
        let limits = &self.settings.limits;
        let snapshot = self.catalog.snapshot_of(state.published((limits.page_tools, limits.page_bytes)));
        measure(&snapshot);
        let revision = snapshot.revision;
        self.catalog.swap(snapshot);
        // Afterwards: whoever sees this revision finds the snapshot that has it.
        toolrail_core::publish_revision(revision);
        let unmade = differences.unmade;
        if !unmade.is_empty() {
            tokio::task::spawn_blocking(move || unmade.iter().for_each(|index| index.make()));
        }
        if let Some(tell) = &self.settings.on_found {
            tell(differences.found);
        }
        let feed = self.catalog.feed();
        feed.lists_changed(differences.tools, differences.prompts, differences.resources);
        for (uri, of) in differences.updated {
            feed.tell(Updated { uri: uri.into(), of: Some(of), conversation: None });
        }
    }
}

/// Sets the gauges to what is published now.
fn measure(snapshot: &Snapshot) {
    gauges::serves(snapshot.revision);
    let tally = snapshot.tally();
    for source in SourceId::ALL {
        for state in STATES {
            gauges::tools(source, state, tally.entries(source, state));
        }
    }
    let of_sources =
        |severity| snapshot.source_problems().filter(move |one| one.severity == severity).count();
    gauges::problems(Severity::Error, tally.errors + of_sources(Severity::Error));
    gauges::problems(Severity::Warning, tally.warnings + of_sources(Severity::Warning));
}
