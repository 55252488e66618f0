//! The registry itself: keeps the snapshot, refreshes it from the sources, and follows their changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{Mutex, Notify};
use toolrail_core::{Problem, Store};

use crate::compile::Compiler;
use crate::entry::{Entry, SourceId};
use crate::feed::Feed;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::tracked::Tracked;

/// Limits of a registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// The most tools on one page of a list.
    pub page_tools: usize,
    /// About the most bytes on one page of a list.
    pub page_bytes: usize,
    /// How often sources that cannot ring are looked at.
    pub poll: Duration,
    /// How long a ringing source is given to finish what it is doing.
    pub settle: Duration,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            page_tools: 10_000,
            page_bytes: 16 * 1024 * 1024,
            poll: Duration::from_millis(500),
            settle: Duration::from_millis(100),
        }
    }
}

/// The tools there are, always as one consistent snapshot.
pub struct Registry {
    pub(crate) compiler: Arc<Compiler>,
    pub(crate) store: Option<Arc<dyn Store>>,
    limits: RegistryLimits,
    current: ArcSwap<Snapshot>,
    sources: Mutex<Vec<Tracked>>,
    bell: Arc<Notify>,
    feed: Feed,
}

impl Registry {
    /// A registry over those sources; empty until the first [`Registry::refresh`]. Registrations go to `store`.
    pub fn new(
        compiler: Compiler,
        store: Option<Arc<dyn Store>>,
        sources: Vec<Arc<dyn Source>>,
        limits: RegistryLimits,
    ) -> Self {
        let mut tracked: Vec<Tracked> = sources.into_iter().map(Tracked::new).collect();
        tracked.sort_by_key(|tracked| tracked.source.id());
        let empty =
            Snapshot::new(0, BTreeMap::new(), Vec::new(), Vec::new(), (limits.page_tools, limits.page_bytes));
        Self {
            compiler: Arc::new(compiler),
            store,
            limits,
            current: ArcSwap::from_pointee(empty),
            sources: Mutex::new(tracked),
            bell: Arc::new(Notify::new()),
            feed: Feed::default(),
        }
    }

    /// The tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Where changes are told.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// The published JSON Schema of a file of definitions.
    pub fn definition_schema(&self) -> &Value {
        self.compiler.schema()
    }

    /// Everything wrong with a document, without registering it.
    pub fn check(&self, document: &Value) -> Vec<Problem> {
        self.compiler.check(document)
    }

    /// Looks at every source and publishes what changed. A source that fails keeps its last good definitions.
    pub async fn refresh(&self) {
        // Held over the awaits below on purpose: two refreshes at once could publish the older state last.
        let mut sources = self.sources.lock().await;
        let mut changed = false;
        for tracked in sources.iter_mut() {
            changed |= tracked.refresh(&self.compiler).await;
        }
        if changed {
            self.publish(&sources);
        }
    }

    /// Follows the sources until the future is dropped.
    pub async fn follow(&self) {
        let bells: Vec<Arc<Notify>> = {
            let sources = self.sources.lock().await;
            sources
                .iter()
                .filter_map(|tracked| tracked.source.bell())
                .chain([Arc::clone(&self.bell)])
                .collect()
        };
        loop {
            let rung = futures_any(&bells);
            if tokio::time::timeout(self.limits.poll, rung).await.is_ok() {
                tokio::time::sleep(self.limits.settle).await;
            }
            self.refresh().await;
            self.record_uses().await;
        }
    }

    fn publish(&self, sources: &[Tracked]) {
        let mut entries: BTreeMap<Arc<str>, Arc<Entry>> = BTreeMap::new();
        let mut revision = 0;
        let mut problems = Vec::new();
        // Sources are sorted, the winner first.
        for tracked in sources {
            if tracked.source.id() == SourceId::Store {
                revision = tracked.revision.unwrap_or(0);
            }
            problems.extend(tracked.problems.iter().cloned());
            if entries.is_empty() {
                entries.clone_from(&tracked.entries);
                continue;
            }
            for (key, entry) in &tracked.entries {
                entries.entry(key.clone()).or_insert_with(|| Arc::clone(entry));
            }
        }
        let statuses = sources.iter().map(Tracked::status).collect();
        let limits = (self.limits.page_tools, self.limits.page_bytes);
        self.current.store(Arc::new(Snapshot::new(revision, entries, statuses, problems, limits)));
    }
}

async fn futures_any(bells: &[Arc<Notify>]) {
    let mut waiting: Vec<_> = bells.iter().map(|bell| Box::pin(bell.notified())).collect();
    std::future::poll_fn(|context| {
        if waiting.iter_mut().any(|bell| bell.as_mut().poll(context).is_ready()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
