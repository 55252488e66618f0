//! What a write of ours switched off or removed is so here at once, even while the store can be written but not read: it is
//! kept off until a reading has come as far as that write.

use std::collections::HashMap;

use toolrail_core::{Action, Change, Revision};

use crate::entry_key::EntryKey;

/// What was written and not read yet.
#[derive(Default)]
pub(crate) struct Withdrawn(HashMap<EntryKey, (Revision, Withdrawal)>);

/// How a definition was taken off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// It was switched off.
    Off,
    /// It was removed.
    Gone,
}

impl Withdrawn {
    /// Notes what those changes, which led to that revision, took off.
    pub(crate) fn note(&mut self, changes: &[Change], revision: Revision) {
        for change in changes {
            let way = match change.action {
                Action::Put { enabled: false, .. } | Action::SetEnabled(false) => Withdrawal::Off,
                Action::Purge => Withdrawal::Gone,
                Action::Put { enabled: true, .. } | Action::SetEnabled(true) => continue,
            };
            let key = EntryKey::new(change.tenant.as_deref().map(Into::into), &change.name);
            self.0.insert(key, (revision, way));
        }
    }

    /// The source was read up to there.
    pub(crate) fn read_up_to(&mut self, read: Revision) {
        self.0.retain(|_, (revision, _)| *revision > read);
    }

    /// What was taken off, and how.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&EntryKey, Withdrawal)> {
        self.0.iter().map(|(key, (_, way))| (key, *way))
    }
}
