//! What a source gave in one reading, page by page, compiled but not published yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use toolrail_core::{Problem, Revision, Severity};

use super::source::Source;
use crate::catalog::Entry;
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// Everything of one reading.
#[derive(Default)]
pub(crate) struct Gathered {
    /// The source's revision after this.
    pub(crate) revision: Revision,
    /// Whether this is everything, rather than what changed.
    pub(crate) complete: bool,
    /// What became of each definition; nothing, where it is gone.
    pub(crate) entries: HashMap<EntryKey, Option<Arc<Entry>>>,
    pub(crate) problems: Vec<Problem>,
    /// How long ago the oldest of these changes was made when it was read.
    pub(crate) age: Option<Duration>,
}

impl Gathered {
    /// Adds definitions of that source. Where two have one name the first wins, and the second is a problem; a
    /// row of the store replaces itself.
    pub(crate) fn add(&mut self, source: &dyn Source, compiled: Vec<(EntryKey, Arc<Entry>)>) {
        for (key, entry) in compiled {
            match self.entries.get(&key) {
                Some(Some(first)) if source.id() != SourceId::Store => {
                    let problem = taken(&entry, first, source);
                    self.problems.push(problem);
                }
                _ => {
                    self.entries.insert(key, Some(entry));
                }
            }
        }
    }

    /// Notes definitions that are gone.
    pub(crate) fn remove(&mut self, keys: Vec<EntryKey>) {
        self.entries.extend(keys.into_iter().map(|key| (key, None)));
    }
}

fn taken(entry: &Entry, first: &Entry, source: &dyn Source) -> Problem {
    let message =
        format!("the name {:?} is taken by {}, which wins; rename one of them", entry.name, first.origin);
    Problem {
        severity: Severity::Error,
        tool: Some(entry.name.clone()),
        origin: Some(entry.origin.clone()),
        pointer: "/name".into(),
        message,
        spot: source.spot(&entry.origin, "/name"),
    }
}
