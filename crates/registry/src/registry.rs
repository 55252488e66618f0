//! The registry itself: what it keeps, and how it follows the changes of its sources and upstreams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;
use toolrail_core::{Problem, Store, Upstream};

use crate::compile::Compiler;
use crate::entry::SourceId;
use crate::feed::Feed;
use crate::publish::{self, OffersBell};
use crate::snapshot::{Contents, Snapshot};
use crate::source::Source;
use crate::tracked::Tracked;
use crate::upstreams::{Offerer, Upstreams};

/// Limits of a registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// The most entries on one page of a list.
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

/// The tools, prompts and resources there are, always as one consistent snapshot.
pub struct Registry {
    pub(crate) compiler: Arc<Compiler>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) limits: RegistryLimits,
    pub(crate) current: ArcSwap<Snapshot>,
    pub(crate) state: Mutex<State>,
    pub(crate) offers: Arc<OffersBell>,
    pub(crate) feed: Arc<Feed>,
    /// Keys of this process, where there is no store to keep them.
    pub(crate) keys: Mutex<BTreeMap<String, [u8; 32]>>,
}

/// What a snapshot is made from.
pub(crate) struct State {
    /// Sorted, the winner first.
    pub(crate) sources: Vec<Tracked>,
    pub(crate) upstreams: Upstreams,
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
        let empty = Snapshot::new(Contents::default(), (limits.page_tools, limits.page_bytes));
        let (offers, feed) = (Arc::new(OffersBell::default()), Arc::new(Feed::default()));
        let upstreams = Upstreams::new(publish::listener(&offers, &feed));
        Self {
            compiler: Arc::new(compiler),
            store,
            limits,
            current: ArcSwap::from_pointee(empty),
            state: Mutex::new(State { sources: tracked, upstreams }),
            offers,
            feed,
            keys: Mutex::default(),
        }
    }

    /// The same with what this program offers by itself, each under a name for people: it comes after files and before the
    /// demonstration.
    #[must_use]
    pub fn with_natives(mut self, natives: Vec<(String, Arc<dyn Upstream>)>) -> Self {
        let native = |(name, upstream): (String, Arc<dyn Upstream>)| Offerer {
            origin: name.clone(),
            name,
            kind: "native".into(),
            source: SourceId::Native,
            upstream,
        };
        self.state.get_mut().upstreams.natives = natives.into_iter().map(native).collect();
        self.offers.ring();
        self
    }

    /// The tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// What somebody of that tenant sees: its own definitions, and the shared ones whose names it does not use.
    pub fn catalogue(&self, _tenant: Option<&str>) -> Arc<Snapshot> {
        self.snapshot()
    }

    /// Where changes are told.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// The published JSON Schema of a file of definitions.
    pub fn definition_schema(&self) -> &Value {
        self.compiler.schema()
    }

    /// Everything that would keep a document from being registered, or is poor about it.
    pub fn check(&self, document: &Value) -> Vec<Problem> {
        self.compiler.check(document, SourceId::Store)
    }

    /// Follows the sources and the upstreams until the future is dropped.
    pub async fn follow(&self) {
        /// An upstream that tells of several changes is given this long to finish.
        const SETTLE_OFFERS: Duration = Duration::from_millis(20);
        let mut bells: Vec<Arc<Notify>> =
            self.state.lock().await.sources.iter().filter_map(|tracked| tracked.source.bell()).collect();
        let offers = bells.len();
        bells.push(Arc::clone(&self.offers.bell));
        let mut look_at_sources = Instant::now() + self.limits.poll;
        loop {
            match tokio::time::timeout_at(look_at_sources, first_of(&bells)).await {
                Ok(rung) if rung == offers => {
                    tokio::time::sleep(SETTLE_OFFERS).await;
                    self.refresh_offers().await;
                    if Instant::now() < look_at_sources {
                        continue;
                    }
                }
                Ok(_) => tokio::time::sleep(self.limits.settle).await,
                Err(_) => {}
            }
            self.refresh().await;
            self.record_uses().await;
            look_at_sources = Instant::now() + self.limits.poll;
        }
    }
}

/// Which bell rings first.
async fn first_of(bells: &[Arc<Notify>]) -> usize {
    let mut waiting: Vec<_> = bells.iter().map(|bell| Box::pin(bell.notified())).collect();
    std::future::poll_fn(|context| {
        match waiting.iter_mut().position(|bell| bell.as_mut().poll(context).is_ready()) {
            Some(index) => Poll::Ready(index),
            None => Poll::Pending,
        }
    })
    .await
}
