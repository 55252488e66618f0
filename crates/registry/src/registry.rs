//! The registry itself: what it keeps, and what it gives to those who ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use toolrail_core::{Offer, Problem, Store, Upstream};

use crate::catalog::{BuiltIns, Endpoint, Endpoints, Feed, Published, Snapshot};
use crate::entry_key::EntryKey;
use crate::find::{Meaning, SearchMethod, pattern};
use crate::gauges;
use crate::intake::{
    Compiler, LastGood, Layer, Offerer, OffersBell, OnBroken, OnProgress, Source, State, Tracked, Upstreams,
    built_ins, publish,
};
use crate::source_id::SourceId;
use crate::store::WriteHealth;

/// Limits of a registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// The most entries on one page of a list.
    pub page_tools: usize,
    /// About the most bytes on one page of a list.
    pub page_bytes: usize,
    /// How often a store that cannot ring is asked for its revision.
    pub look: Duration,
    /// How often other sources are looked at, and those that ring all the same.
    pub poll: Duration,
    /// How long a folder that rings is given to finish what it is doing.
    pub settle: Duration,
    /// The longest time from the beginning of a refresh to the next, where changes come one after another. It is ten times
    /// as long as the refresh took, if that is less.
    pub window: Duration,
    /// How often a source is asked how many definitions it has, and to compare them with what was written down of them: for
    /// changes that its revision does not tell. More rarely where that takes long.
    pub recount: Duration,
    /// How long a source is given to answer one question. Stores give up earlier by themselves.
    pub patience: Duration,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            page_tools: 10_000,
            page_bytes: 16 * 1024 * 1024,
            look: Duration::from_millis(100),
            poll: Duration::from_secs(1),
            settle: Duration::from_millis(100),
            window: Duration::from_millis(300),
            recount: Duration::from_secs(30),
            patience: Duration::from_secs(30),
        }
    }
}

/// The tools, prompts and resources there are, always as one consistent snapshot.
pub struct Registry {
    pub(crate) compiler: Arc<Compiler>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) limits: RegistryLimits,
    pub(crate) current: ArcSwap<Snapshot>,
    /// Sorted, the winner first.
    pub(crate) sources: Vec<Tracked>,
    pub(crate) progress: Option<OnProgress>,
    pub(crate) last_good: Option<LastGood>,
    pub(crate) on_broken: OnBroken,
    pub(crate) writes: WriteHealth,
    state: StdMutex<State>,
    pub(crate) offers: Arc<OffersBell>,
    pub(crate) feed: Arc<Feed>,
    /// What the gateway has by itself.
    pub(crate) built_ins: Arc<BuiltIns>,
    endpoints: Endpoints,
    /// How tools are looked for where nobody says.
    pub(crate) default_method: SearchMethod,
    /// The semantic tier of search.
    pub(crate) meaning: Meaning,
    /// Who may look for a pattern.
    pub(crate) patterns: Semaphore,
    /// Keys of this process, where there is no store to keep them.
    pub(crate) keys: Mutex<BTreeMap<String, [u8; 32]>>,
}

impl Registry {
    /// A registry over those sources; empty until the first [`Registry::refresh`]. Registrations go to `store`.
    pub fn new(
        compiler: Compiler,
        store: Option<Arc<dyn Store>>,
        sources: Vec<Arc<dyn Source>>,
        limits: RegistryLimits,
    ) -> Self {
        gauges::describe();
        let mut sources = sources;
        sources.sort_by_key(|source| source.id());
        let layers = sources.iter().map(|source| Layer::new(source.id())).collect();
        let (offers, feed) = (Arc::new(OffersBell::default()), Arc::new(Feed::default()));
        let upstreams = Upstreams::new(publish::listener(&offers, &feed), Arc::clone(&compiler.uses));
        let sources = sources.into_iter().enumerate();
        Self {
            compiler: Arc::new(compiler),
            store,
            limits,
            current: ArcSwap::from_pointee(Snapshot::shared(Arc::default())),
            sources: sources.map(|(index, source)| Tracked::new(source, index)).collect(),
            progress: None,
            last_good: None,
            on_broken: OnBroken::default(),
            writes: WriteHealth::default(),
            state: StdMutex::new(State::new(layers, upstreams)),
            offers,
            feed,
            built_ins: Arc::default(),
            endpoints: Endpoints::default(),
            default_method: SearchMethod::default(),
            meaning: Meaning::Absent,
            patterns: Semaphore::new(pattern::AT_ONCE),
            keys: Mutex::default(),
        }
    }

    /// The same with what this program offers by itself, each under a name for people: it comes after files and before the
    /// demonstration.
    #[must_use]
    pub fn with_natives(self, natives: Vec<(String, Arc<dyn Upstream>)>) -> Self {
        let uses = &self.compiler.uses;
        let native = |(name, upstream): (String, Arc<dyn Upstream>)| Offerer {
            key: EntryKey::new(None, &name),
            uses: Arc::clone(uses),
            origin: name.clone(),
            name,
            kind: "native".into(),
            source: SourceId::Native,
            upstream,
        };
        let natives = natives.into_iter().map(native).collect();
        self.state().upstreams.natives = natives;
        self.offers.ring();
        self
    }

    /// The same with those endpoints, instead of one that lists everything.
    #[must_use]
    pub fn with_endpoints(mut self, endpoints: Endpoints) -> Self {
        self.endpoints = endpoints;
        self
    }

    /// The same with what the gateway has by itself. To be said after [`Registry::with_endpoints`].
    #[must_use]
    pub fn with_built_ins(mut self, offer: &Offer) -> Self {
        self.built_ins = Arc::new(built_ins(offer));
        let discovery = self.endpoints().main().discovery;
        let built_ins = Arc::clone(&self.built_ins);
        let nothing = Published { built_ins, discovery, ..Published::default() };
        self.current.store(Arc::new(Snapshot::shared(Arc::new(nothing))));
        self
    }

    /// The same, telling of the progress of long loads.
    #[must_use]
    pub fn with_progress(mut self, progress: OnProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// The same, looking for tools by that method where nobody says.
    #[must_use]
    pub fn with_default_method(mut self, method: SearchMethod) -> Self {
        self.default_method = method;
        self
    }

    /// How tools are looked for where nobody says.
    pub fn default_method(&self) -> SearchMethod {
        self.default_method
    }

    /// What is there now for somebody without a tenant.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// What somebody of that tenant sees: its own definitions, and the shared ones whose names it does not use.
    pub fn catalogue(&self, tenant: Option<&str>) -> Arc<Snapshot> {
        let snapshot = self.snapshot();
        let own = tenant.and_then(|tenant| snapshot.of_tenant(tenant));
        own.unwrap_or(snapshot)
    }

    /// What somebody of that tenant sees at that endpoint.
    pub fn catalogue_at(&self, tenant: Option<&str>, endpoint: &Arc<Endpoint>) -> Arc<Snapshot> {
        self.current.load().at(tenant, endpoint)
    }

    /// The endpoints there are.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
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

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
