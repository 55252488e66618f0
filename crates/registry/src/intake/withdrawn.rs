//! What a write of ours switched off or removed is so here at once, even while the store can be written but not read: it is
//! kept off until a reading has come as far as that write.

use std::collections::HashMap;
use std::sync::Arc;

use toolrail_core::{Action, Change, Revision};

use super::Intake;
use super::layer::Layer;
use crate::catalog::Entry;
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// What was written and not read yet.
#[derive(Default)]
pub(crate) struct Withdrawn(HashMap<EntryKey, (Revision, Way)>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Off,
    Gone,
}

impl Intake {
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
            tokio::task::block_in_place(|| journal.append(&lines));
        }
    }
}

impl Withdrawn {
    fn note(&mut self, changes: &[Change], revision: Revision) {
        for change in changes {
            let way = match change.action {
                Action::Put { enabled: false, .. } | Action::SetEnabled(false) => Way::Off,
                Action::Purge => Way::Gone,
                Action::Put { enabled: true, .. } | Action::SetEnabled(true) => continue,
            };
            let key = EntryKey::new(change.tenant.as_deref().map(Into::into), &change.name);
            self.0.insert(key, (revision, way));
        }
    }

    /// The source was read up to there.
    fn read_up_to(&mut self, read: Revision) {
        self.0.retain(|_, (revision, _)| *revision > read);
    }
}

impl Layer {
    /// Takes off again what a reading brought back that had not come far enough, and returns the keys.
    pub(crate) fn keep_withdrawn(&mut self, read: Revision) -> Vec<EntryKey> {
        self.withdrawn.read_up_to(read);
        self.withdraw()
    }

    fn withdraw(&mut self) -> Vec<EntryKey> {
        let mut changed = Vec::new();
        for (key, (_, way)) in &self.withdrawn.0 {
            match way {
                Way::Gone => {
                    if let Some(before) = self.entries.remove(key) {
                        before.let_go_of_uses(key);
                        changed.push(key.clone());
                    }
                }
                Way::Off => {
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
