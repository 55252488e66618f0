//! One source as the registry follows it: what it gave, what has become of that, and what changed with a reload.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolrail_core::{Problem, Revision, Severity};

use crate::changes;
use crate::compile::Compiler;
use crate::compile_drafts::compile_all;
use crate::entry::{Entry, SourceId};
use crate::snapshot::SourceStatus;
use crate::source::{Loaded, Source};
use crate::usage;

type Entries = BTreeMap<Arc<str>, Arc<Entry>>;

/// A source and what it gave.
pub(crate) struct Tracked {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) revision: Option<Revision>,
    pub(crate) entries: Entries,
    pub(crate) problems: Vec<Problem>,
    failure: Option<String>,
}

impl Tracked {
    pub(crate) fn new(source: Arc<dyn Source>) -> Self {
        Self { source, revision: None, entries: BTreeMap::new(), problems: Vec::new(), failure: None }
    }

    pub(crate) fn status(&self) -> SourceStatus {
        SourceStatus {
            source: self.source.id(),
            description: self.source.describe(),
            definitions: self.entries.len(),
            failure: self.failure.clone(),
        }
    }

    /// Whether anything changed, the failure included.
    pub(crate) async fn refresh(&mut self, compiler: &Arc<Compiler>) -> bool {
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

    fn apply(&mut self, loaded: Loaded, compiler: &Arc<Compiler>) {
        let Loaded { revision, complete, drafts, removed, problems } = loaded;
        let source = self.source.id();
        let compiled =
            tokio::task::block_in_place(|| compile_all(drafts, &self.entries, &*self.source, compiler));
        let problems_before = std::mem::replace(&mut self.problems, problems);
        let before = self.concerned(complete, &removed, &compiled);
        // What a complete load does not name is gone; otherwise only what is said to be.
        if complete {
            self.entries.clear();
        }
        let mut keys: BTreeSet<Arc<str>> = before.keys().cloned().collect();
        keys.extend(compiled.iter().map(|(key, _)| Arc::clone(key)));
        for key in removed {
            self.entries.remove(key.as_str());
        }
        for (key, entry) in compiled {
            usage::carry_over(before.get(&key), &entry);
            self.insert(key, entry);
        }
        for problem in self.problems.iter().filter(|problem| !problems_before.contains(problem)) {
            let at = problem.spot.as_ref().map(tracing::field::display);
            tracing::warn!(origin = problem.origin, at, problem = problem.message, "source has a problem");
        }
        // The first load is the start, of which the gateway tells by itself.
        if self.revision.is_some() {
            changes::log(source, keys.iter().map(|key| (before.get(key), self.entries.get(key))));
        }
        self.revision = Some(revision);
    }

    /// The entries that a load may change, as they are before it.
    fn concerned(&self, complete: bool, removed: &[String], compiled: &[(Arc<str>, Arc<Entry>)]) -> Entries {
        if complete {
            return self.entries.clone();
        }
        let keys = removed.iter().map(String::as_str).chain(compiled.iter().map(|(key, _)| &**key));
        keys.filter_map(|key| self.entries.get_key_value(key))
            .map(|(key, entry)| (Arc::clone(key), Arc::clone(entry)))
            .collect()
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
            spot: self.source.spot(&entry.origin, "/name"),
        });
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
