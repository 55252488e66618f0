//! The registry itself: keeps the snapshot, refreshes it from the sources, and follows their changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{Mutex, Notify};
use toolrail_core::{Problem, Revision, Severity, Store, ToolName};

use crate::compile::Compiler;
use crate::entry::{Entry, SourceId};
use crate::snapshot::{Snapshot, SourceStatus};
use crate::source::{Draft, Loaded, Source};
use crate::usage;

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
}

/// A source and what it gave.
struct Tracked {
    source: Arc<dyn Source>,
    revision: Option<Revision>,
    entries: BTreeMap<Arc<str>, Arc<Entry>>,
    problems: Vec<Problem>,
    failure: Option<String>,
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
        }
    }

    /// The tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The published JSON Schema of a definition.
    pub fn definition_schema(&self) -> &Value {
        self.compiler.schema()
    }

    /// Everything wrong with a document, without registering it.
    pub fn check(&self, document: &Value) -> Vec<Problem> {
        self.compiler.compile(document).1
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

impl Tracked {
    fn new(source: Arc<dyn Source>) -> Self {
        Self { source, revision: None, entries: BTreeMap::new(), problems: Vec::new(), failure: None }
    }

    fn status(&self) -> SourceStatus {
        SourceStatus {
            source: self.source.id(),
            description: self.source.describe(),
            definitions: self.entries.len(),
            failure: self.failure.clone(),
        }
    }

    /// Whether anything changed, the failure included.
    async fn refresh(&mut self, compiler: &Arc<Compiler>) -> bool {
        match self.source.load(self.revision).await {
            Ok(loaded) => {
                let recovered = self.failure.take().is_some();
                if recovered {
                    tracing::info!(source = self.source.id().word(), "source can be read again");
                }
                match loaded {
                    Some(loaded) => {
                        self.apply(loaded, compiler);
                        true
                    }
                    None => recovered,
                }
            }
            Err(error) => {
                let failure = Some(chain(&error));
                let news = self.failure != failure;
                if news {
                    tracing::warn!(
                        source = self.source.id().word(),
                        error = failure.as_deref(),
                        "source cannot be read; its last good definitions stay in place"
                    );
                }
                self.failure = failure;
                news
            }
        }
    }

    fn apply(&mut self, loaded: Loaded, compiler: &Compiler) {
        let Loaded { revision, complete, drafts, removed, problems } = loaded;
        let source = self.source.id();
        let compiled = tokio::task::block_in_place(|| compile_all(drafts, &self.entries, source, compiler));
        self.problems = problems;
        // What a complete load does not name is gone; otherwise only what is said to be.
        let before = if complete { std::mem::take(&mut self.entries) } else { BTreeMap::new() };
        for key in removed {
            self.entries.remove(key.as_str());
        }
        for (key, entry) in compiled {
            usage::carry_over(before.get(&key).or(self.entries.get(&key)), &entry);
            self.insert(key, entry);
        }
        for problem in &self.problems {
            tracing::warn!(origin = problem.origin, problem = problem.message, "source has a problem");
        }
        self.revision = Some(revision);
    }

    /// Within one source the first definition of a name wins; a second is a problem (R26, R36). A row of the store
    /// replaces itself.
    fn insert(&mut self, key: Arc<str>, entry: Arc<Entry>) {
        let first = self.entries.get(&key).filter(|_| self.source.id() != SourceId::Store);
        let Some(first) = first else {
            self.entries.insert(key, entry);
            return;
        };
        self.problems.push(Problem {
            severity: Severity::Error,
            tool: Some(entry.name.clone()),
            origin: Some(entry.origin.clone()),
            pointer: "/name".into(),
            message: format!(
                "the name {:?} is taken by {}, which wins; rename one of them",
                entry.name, first.origin
            ),
        });
    }
}

/// Compiles what changed; many definitions are spread over the cores.
fn compile_all(
    drafts: Vec<Draft>,
    before: &BTreeMap<Arc<str>, Arc<Entry>>,
    source: SourceId,
    compiler: &Compiler,
) -> Vec<(Arc<str>, Arc<Entry>)> {
    let work = |draft: Draft| {
        let name =
            draft.name.clone().or_else(|| named(&draft)).unwrap_or_else(|| format!("({})", draft.origin));
        let key: Arc<str> = ToolName::fold(&name).into();
        let known = before.get(&key).filter(|entry| is_same(entry, &draft));
        let entry = known.map_or_else(|| Arc::new(compile_one(name, draft, source, compiler)), Arc::clone);
        (key, entry)
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if drafts.len() < 64 || cores == 1 {
        return drafts.into_iter().map(work).collect();
    }
    let share = drafts.len().div_ceil(cores);
    let mut drafts = drafts.into_iter();
    let shares: Vec<Vec<Draft>> = (0..cores).map(|_| drafts.by_ref().take(share).collect()).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(|| share.into_iter().map(work).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

fn is_same(entry: &Entry, draft: &Draft) -> bool {
    entry.document == draft.text
        && entry.switched_on == draft.enabled
        && entry.origin == draft.origin
        && entry.version == draft.version
        && draft.name.as_ref().is_none_or(|name| *name == entry.name)
}

/// The name inside the document, for sources that keep none beside it.
fn named(draft: &Draft) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(&draft.text).ok().map(|named| named.name)
}

fn compile_one(name: String, draft: Draft, source: SourceId, compiler: &Compiler) -> Entry {
    let document = match &draft.fault {
        Some(fault) => Err(fault.clone()),
        None => serde_json::from_str(&draft.text)
            .map_err(|error| format!("{} is not valid JSON: {error}; correct it", source.field())),
    };
    let (tool, mut problems, document_enabled) = match document {
        Err(fault) => (None, vec![whole_document(&name, fault)], true),
        Ok(document) => {
            let (found, problems) = compiler.compile(&with_name(document, draft.name.as_deref()));
            let enabled = found.as_ref().is_none_or(|(_, enabled)| *enabled);
            (found.map(|(tool, _)| tool), problems, enabled)
        }
    };
    let mut tool = tool;
    if let (Some(kept), Some(compiled)) = (&draft.name, &tool)
        && kept != compiled.name.as_str()
    {
        let message = format!(
            "the definition says {:?} but is kept under {kept:?}; make them the same",
            compiled.name.as_str()
        );
        problems.insert(0, Problem { pointer: "/name".into(), ..whole_document(&name, message) });
        tool = None;
    }
    for problem in &mut problems {
        problem.origin = Some(draft.origin.clone());
        problem.tool = Some(name.clone());
    }
    let entry = Entry {
        name,
        source,
        origin: draft.origin,
        enabled: draft.enabled && document_enabled,
        switched_on: draft.enabled,
        document: draft.text,
        tool,
        problems,
        version: draft.version,
        updated_at: draft.updated_at,
        updated_by: draft.updated_by,
    };
    log(&entry);
    entry
}

/// A row's document may leave the name out: the column has it.
fn with_name(mut document: Value, name: Option<&str>) -> Value {
    if let (Some(members), Some(name)) = (document.as_object_mut(), name)
        && !members.contains_key("name")
    {
        members.shift_insert(0, "name".into(), name.into());
    }
    document
}

fn whole_document(name: &str, message: String) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: Some(name.to_owned()),
        origin: None,
        pointer: String::new(),
        message,
    }
}

fn log(entry: &Entry) {
    for problem in entry.problems.iter().filter(|problem| problem.severity == Severity::Error) {
        tracing::warn!(
            tool = entry.name,
            origin = entry.origin,
            pointer = problem.pointer,
            problem = problem.message,
            "definition is not live"
        );
    }
}

/// The error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
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
