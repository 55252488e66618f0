//! What one source gave: its entries, and what is wrong with the source itself. Layers lie over one another; the first to
//! have a name keeps it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolrail_core::{Problem, Revision, published_revision};

use super::changes;
use super::gathered::Gathered;
use super::withdrawn::{Withdrawal, Withdrawn};
use crate::catalog::{Entry, SourceStatus};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// The entries of a source.
pub(crate) struct Layer {
    pub(crate) id: SourceId,
    pub(crate) entries: HashMap<EntryKey, Arc<Entry>>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) revision: Option<Revision>,
    /// How the source is; absent until it was looked at.
    pub(crate) status: Option<SourceStatus>,
    pub(crate) withdrawn: Withdrawn,
}

impl Layer {
    pub(crate) fn new(id: SourceId) -> Self {
        Self {
            id,
            entries: HashMap::new(),
            problems: Vec::new(),
            revision: None,
            status: None,
            withdrawn: Withdrawn::default(),
        }
    }

    /// Takes over what was read, logs it, and returns the keys whose entries are others now.
    pub(crate) fn apply(&mut self, gathered: Gathered) -> Vec<EntryKey> {
        let Gathered { revision, complete, entries, problems, .. } = gathered;
        for problem in problems.iter().filter(|problem| !self.problems.contains(problem)) {
            let at = problem.spot.as_ref().map(tracing::field::display);
            tracing::warn!(origin = problem.origin, at, problem = problem.message, "source has a problem");
        }
        self.problems = problems;
        let mut changed = self.replace(complete, entries);
        // The first load is the start, of which the gateway tells by itself.
        if self.revision.replace(revision).is_some() {
            changed.sort_unstable_by(|(one, _), (another, _)| one.cmp(another));
            let pairs = changed.iter().map(|(key, before)| (before.as_ref(), self.entries.get(key)));
            // Not published yet, and these lines are about what leads there.
            let revision = match self.id {
                SourceId::Store => Some(revision),
                SourceId::Files | SourceId::Native | SourceId::Demo | SourceId::Upstream => {
                    published_revision()
                }
            };
            changes::log(self.id, revision, pairs);
        }
        changed.into_iter().map(|(key, _)| key).collect()
    }

    /// The keys whose entries are others now, and what they were.
    fn replace(
        &mut self,
        complete: bool,
        entries: HashMap<EntryKey, Option<Arc<Entry>>>,
    ) -> Vec<(EntryKey, Option<Arc<Entry>>)> {
        let mut changed = Vec::new();
        if complete {
            // What a complete load does not name is gone; otherwise only what is said to be.
            let gone: HashSet<EntryKey> = self
                .entries
                .keys()
                .filter(|key| !matches!(entries.get(*key), Some(Some(_))))
                .cloned()
                .collect();
            changed.extend(gone.into_iter().map(|key| {
                let before = self.entries.remove(&key);
                if let Some(before) = &before {
                    before.let_go_of_uses(&key);
                }
                (key, before)
            }));
        }
        for (key, entry) in entries {
            let before = match &entry {
                Some(entry) => self.entries.insert(key.clone(), Arc::clone(entry)),
                None => self.entries.remove(&key),
            };
            let is_same = match (&before, &entry) {
                (Some(before), Some(entry)) => Arc::ptr_eq(before, entry),
                (None, None) => true,
                _ => false,
            };
            if !is_same {
                match (&before, &entry) {
                    (Some(before), Some(entry)) => before.hand_on_uses(entry),
                    (Some(before), None) => before.let_go_of_uses(&key),
                    (None, _) => {}
                }
                changed.push((key, before));
            }
        }
        changed
    }

    /// Takes off again what a reading brought back that had not come far enough, and returns the keys.
    pub(crate) fn keep_withdrawn(&mut self, read: Revision) -> Vec<EntryKey> {
        self.withdrawn.read_up_to(read);
        self.withdraw()
    }

    /// Takes off what was written to be off and not read yet, and returns the keys.
    pub(crate) fn withdraw(&mut self) -> Vec<EntryKey> {
        let mut changed = Vec::new();
        for (key, way) in self.withdrawn.iter() {
            match way {
                Withdrawal::Gone => {
                    if let Some(before) = self.entries.remove(key) {
                        before.let_go_of_uses(key);
                        changed.push(key.clone());
                    }
                }
                Withdrawal::Off => {
                    if let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.enabled) {
                        *entry =
                            Arc::new(Entry { enabled: false, switched_on: false, ..Entry::clone(entry) });
                        changed.push(key.clone());
                    }
                }
            }
        }
        changed
    }
}
