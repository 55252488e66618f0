//! What the store knows of the use of tools, on every replica: read as it changes, about once a second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Mutex;
use toolrail_core::{Usage, moment_of};

use crate::entry_key::EntryKey;

/// The counts of the store.
#[derive(Default)]
pub(crate) struct UseBoard {
    counts: RwLock<HashMap<EntryKey, Used>>,
    /// Which state of the counts this is, so that whoever has looked one up knows whether to look again.
    generation: AtomicU32,
    /// How far the store was read; held while it is.
    pub(crate) position: Mutex<Position>,
    /// Whether it was read, or tried to be, at all.
    pub(crate) begun: AtomicBool,
}

/// How much a tool was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) count: u64,
    /// When last, in seconds since 1970; 0 if that is not known.
    pub(crate) last: u32,
}

impl Used {
    /// When last.
    pub(crate) fn last_used(self) -> Option<SystemTime> {
        (self.last > 0).then(|| UNIX_EPOCH + Duration::from_secs(self.last.into()))
    }
}

/// How far the store was read.
#[derive(Default)]
pub(crate) struct Position {
    pub(crate) uses: i64,
    pub(crate) queries: i64,
    /// The number of the last great forgetting that was heeded.
    pub(crate) forgotten: i64,
}

impl UseBoard {
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn of(&self, key: &EntryKey) -> Used {
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        counts.get(key).copied().unwrap_or_default()
    }

    pub(crate) fn remove(&self, key: &EntryKey) {
        self.change(|counts| {
            counts.remove(key);
        });
    }

    /// Takes over what the store has counted.
    pub(crate) fn put(&self, usage: &[Usage]) {
        self.change(|counts| {
            for Usage { tool, count, last_used, .. } in usage {
                let key = EntryKey {
                    tenant: tool.tenant.as_deref().map(Into::into),
                    name: tool.name.as_str().into(),
                };
                let since = moment_of(last_used).and_then(|last| last.duration_since(UNIX_EPOCH).ok());
                let last = since.map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(u32::MAX));
                counts.insert(key, Used { count: u64::try_from(*count).unwrap_or(0), last });
            }
        });
    }

    /// Forgets all counts; they are in the store.
    pub(crate) fn clear(&self) {
        self.change(HashMap::clear);
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<EntryKey, Used>)) {
        change(&mut self.counts.write().unwrap_or_else(PoisonError::into_inner));
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}
