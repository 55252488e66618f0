//! A registry is put together: what it is told about itself before it begins, and which part that goes to.

use std::path::PathBuf;
use std::sync::Arc;

use toolrail_core::{Embedder, HistoryStore, Offer, Store, Upstream};

use crate::catalog::{BuiltIns, Catalog, Endpoints};
use crate::change::Changes;
use crate::find::{Finder, Meaning, SearchMethod};
use crate::gauges;
use crate::intake::{
    Compiler, Intake, IntakeSettings, LastGood, OnBroken, OnProgress, RegistryLimits, Source, built_ins,
};
use crate::registry::Registry;
use crate::store::{Replicas, WriteHealth};
use crate::usage::{Learning, Usage};

/// A registry to be.
pub struct RegistryBuilder {
    compiler: Compiler,
    store: Arc<dyn Store>,
    sources: Vec<Arc<dyn Source>>,
    intake: IntakeSettings,
    endpoints: Endpoints,
    built_ins: BuiltIns,
    default_method: SearchMethod,
    meaning: Meaning,
}

impl Registry {
    /// A registry over those sources; empty until the first [`Registry::refresh`]. Registrations go to `store`.
    pub fn new(
        compiler: Compiler,
        store: Arc<dyn Store>,
        sources: Vec<Arc<dyn Source>>,
        limits: RegistryLimits,
    ) -> Self {
        Self::builder(compiler, store, sources, limits).build()
    }

    /// The same, to be told more before it is built.
    pub fn builder(
        compiler: Compiler,
        store: Arc<dyn Store>,
        sources: Vec<Arc<dyn Source>>,
        limits: RegistryLimits,
    ) -> RegistryBuilder {
        RegistryBuilder {
            compiler,
            store,
            sources,
            intake: IntakeSettings { limits, ..IntakeSettings::default() },
            endpoints: Endpoints::default(),
            built_ins: BuiltIns::default(),
            default_method: SearchMethod::default(),
            meaning: Meaning::default(),
        }
    }
}

impl RegistryBuilder {
    /// The same with what this program offers by itself, each under a name for people: it comes after files and before the
    /// demonstration.
    #[must_use]
    pub fn with_natives(mut self, natives: Vec<(String, Arc<dyn Upstream>)>) -> Self {
        self.intake.natives = natives;
        self
    }

    /// The same with those endpoints, instead of one that lists everything.
    #[must_use]
    pub fn with_endpoints(mut self, endpoints: Endpoints) -> Self {
        self.endpoints = endpoints;
        self
    }

    /// The same with what the gateway has by itself.
    #[must_use]
    pub fn with_built_ins(mut self, offer: &Offer) -> Self {
        self.built_ins = built_ins(offer);
        self
    }

    /// The same, telling of the progress of long loads.
    #[must_use]
    pub fn with_progress(mut self, progress: OnProgress) -> Self {
        self.intake.progress = Some(progress);
        self
    }

    /// The same, keeping the last good definitions of the store in that file, and serving them when the store cannot be
    /// read at the start.
    #[must_use]
    pub fn with_fallback(mut self, file: impl Into<PathBuf>) -> Self {
        self.intake.last_good = Some(LastGood::new(file.into()));
        self
    }

    /// The same, with that to be done about stored definitions whose newest version has errors.
    #[must_use]
    pub fn with_on_broken(mut self, on_broken: OnBroken) -> Self {
        self.intake.on_broken = on_broken;
        self
    }

    /// The same, learning from use or not; it does unless this is said.
    #[must_use]
    pub fn with_learning(self, learning: Learning) -> Self {
        self.compiler.uses.lessons.switch(learning == Learning::On);
        self
    }

    /// The same, looking for tools by that method where nobody says.
    #[must_use]
    pub fn with_default_method(mut self, method: SearchMethod) -> Self {
        self.default_method = method;
        self
    }

    /// The same with a semantic tier, or with the reason why the configured one cannot be used.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Result<Arc<dyn Embedder>, String>) -> Self {
        self.meaning = Meaning::new(embedder);
        self
    }

    /// The registry.
    pub fn build(self) -> Registry {
        gauges::describe();
        let Self { compiler, store, sources, mut intake, endpoints, built_ins, default_method, meaning } =
            self;
        let (log, poll) = (Arc::clone(&compiler.uses), intake.limits.poll);
        let approvals = Arc::clone(&compiler.approvals);
        approvals.connect(store.clone());
        let catalog = Arc::new(Catalog::new(endpoints, built_ins));
        let meaning = Arc::new(meaning);
        let changing = Arc::clone(&meaning);
        intake.on_found = Some(Box::new(move |changed| changing.note_changed(changed)));
        let history: Arc<dyn HistoryStore> = store.clone();
        let supply = (history, sources);
        let intake = Arc::new(Intake::new(Arc::clone(&catalog), Arc::new(compiler), supply, intake));
        let writes = Arc::new(WriteHealth::default());
        let usage = Arc::new(Usage::new(Arc::clone(&catalog), log, store.clone(), Arc::clone(&writes)));
        Registry {
            changes: Changes::new(
                Arc::clone(&catalog),
                Arc::clone(&intake),
                store.clone(),
                Arc::clone(&writes),
            ),
            finder: Finder::new(Arc::clone(&catalog), Arc::clone(&usage), default_method, meaning),
            replicas: Replicas::new(store.clone()),
            approvals,
            catalog,
            intake,
            usage,
            store,
            writes,
            poll,
        }
    }
}
