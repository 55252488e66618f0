//! What calls leave behind until it is written to the store.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::board::UseBoard;
use super::lessons::Lessons;
use crate::entry_key::EntryKey;

/// What calls leave behind: which tools were called since their counts were last written, and what was learnt from them.
#[derive(Default)]
pub(crate) struct UseLog {
    used: Mutex<HashSet<EntryKey>>,
    /// Definitions that were removed from the store since the last time.
    gone: Mutex<HashSet<EntryKey>>,
    /// Whether they could not be written the last time.
    failing: AtomicBool,
    pub(crate) board: UseBoard,
    pub(crate) lessons: Lessons,
}

impl UseLog {
    /// A tool was called for the first time since its count was taken.
    pub(crate) fn note(&self, key: EntryKey) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// Which tools were called.
    pub(crate) fn take(&self) -> HashSet<EntryKey> {
        std::mem::take(&mut self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// That definition was removed from the store.
    pub(crate) fn note_gone(&self, key: EntryKey) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    pub(crate) fn take_gone(&self) -> HashSet<EntryKey> {
        std::mem::take(&mut self.gone.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn give_back_gone(&self, gone: HashSet<EntryKey>) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).extend(gone);
    }

    /// Notes whether the store failed, and returns whether that is new.
    pub(crate) fn fails_anew(&self, fails: bool) -> bool {
        !self.failing.swap(fails, Ordering::Relaxed) && fails
    }
}
