//! The registry itself: the parts it is put together from, and what everybody asks it for.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use toolrail_core::Store;

use crate::approvals::ApprovalDesk;
use crate::catalog::{Catalog, Endpoint, Endpoints, Feed, Snapshot, Viewer};
use crate::change::Changes;
use crate::find::Finder;
use crate::intake::Intake;
use crate::store::{Replicas, WriteFailure, WriteHealth};
use crate::usage::Usage;

/// Everything about the tools, prompts and resources there are, each concern in a part of its own.
pub struct Registry {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) intake: Arc<Intake>,
    pub(crate) changes: Changes,
    pub(crate) usage: Arc<Usage>,
    pub(crate) finder: Finder,
    pub(crate) replicas: Replicas,
    pub(crate) approvals: Arc<ApprovalDesk>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) writes: Arc<WriteHealth>,
    /// How often use counts are written, and a store that takes no writes is tried.
    pub(crate) poll: Duration,
}

impl Registry {
    /// What there is.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// How definitions come in.
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Changing what is in the store, and what it was before.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// How tools are used.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Finding tools.
    pub fn finder(&self) -> &Finder {
        &self.finder
    }

    /// The other gateways on the same store.
    pub fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// The calls that a person must approve of.
    pub fn approvals(&self) -> &ApprovalDesk {
        &self.approvals
    }

    /// What is there now for somebody without a tenant.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.catalog.snapshot()
    }

    /// What somebody sees: the definitions of his tenant, and the shared ones whose names it does not use; of both what is
    /// within his reach.
    pub fn catalogue<'v>(&self, viewer: impl Into<Viewer<'v>>) -> Arc<Snapshot> {
        self.catalog.seen_by(viewer)
    }

    /// What somebody sees at that endpoint.
    pub fn catalogue_at<'v>(&self, viewer: impl Into<Viewer<'v>>, endpoint: &Arc<Endpoint>) -> Arc<Snapshot> {
        self.catalog.seen_at(viewer, endpoint)
    }

    /// The endpoints there are.
    pub fn endpoints(&self) -> &Endpoints {
        self.catalog.endpoints()
    }

    /// Where changes are told.
    pub fn feed(&self) -> &Feed {
        self.catalog.feed()
    }

    /// Looks at every source and publishes what changed: see [`Intake::refresh`].
    pub async fn refresh(&self) {
        self.intake.refresh().await;
    }

    /// Since when and why the store takes no writes, if the last one failed.
    pub fn write_failure(&self) -> Option<WriteFailure> {
        self.writes.failure()
    }

    /// Since when and why what was switched off cannot be kept for a start without the store, if it cannot.
    pub fn journal_failure(&self) -> Option<WriteFailure> {
        self.intake.journal_failure()
    }

    /// Follows the sources and the upstreams, and does what is done now and then, until the future is dropped.
    pub async fn follow(&self) {
        let following: Vec<BoxFuture<'_, ()>> = vec![
            Box::pin(self.intake.follow()),
            Box::pin(self.usage.keep_counts(self.poll)),
            Box::pin(self.usage.keep_learnt()),
            Box::pin(self.writes.follow(&*self.store, self.poll)),
            Box::pin(self.finder.follow_meanings()),
            Box::pin(self.approvals.follow()),
        ];
        join_all(following).await;
    }
}
