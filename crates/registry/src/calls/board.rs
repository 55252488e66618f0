//! What the store knows of the use of tools, on every replica: read as it changes, about once a second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Mutex;
use toolrail_core::{LearntLimits, Store, StoreError, Usage, moment_of};

use super::log::UseLog;
use crate::entry_key::EntryKey;

/// How often what was forgotten meanwhile may make one reading begin anew.
const MOST_BEGINNINGS: u32 = 3;

/// The counts of the store.
#[derive(Default)]
pub(crate) struct UseBoard {
    counts: RwLock<HashMap<EntryKey, Used>>,
    /// Which state of the counts this is, so that whoever has looked one up knows whether to look again.
    generation: AtomicU32,
    /// How far the store was read; held while it is.
    position: Mutex<Position>,
    /// Whether it was read, or tried to be, at all.
    begun: AtomicBool,
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

#[derive(Default)]
struct Position {
    uses: i64,
    queries: i64,
    /// The number of the last great forgetting that was heeded.
    forgotten: i64,
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

    fn put(&self, usage: &[Usage]) {
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

    fn change(&self, change: impl FnOnce(&mut HashMap<EntryKey, Used>)) {
        change(&mut self.counts.write().unwrap_or_else(PoisonError::into_inner));
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

impl UseLog {
    /// Sees to it that the store was read once.
    pub(crate) async fn read_once(&self, store: &dyn Store) -> Result<(), StoreError> {
        if self.board.begun.load(Ordering::Relaxed) { Ok(()) } else { self.read(store).await }
    }

    /// Reads what changed in the store since the last time: counts, and what was learnt.
    pub(crate) async fn read(&self, store: &dyn Store) -> Result<(), StoreError> {
        let mut position = self.board.position.lock().await;
        let read = self.read_on(store, &mut position).await;
        self.board.begun.store(true, Ordering::Relaxed);
        read
    }

    async fn read_on(&self, store: &dyn Store, position: &mut Position) -> Result<(), StoreError> {
        let newest = store.learnt_number().await?;
        if newest < position.uses {
            // Another database, or an older state of it.
            *position = Position::default();
            self.board.change(HashMap::clear);
            self.lessons.clear();
        }
        while position.uses < newest {
            let page = store.usage_after(position.uses).await?;
            let last = page.last().map_or(newest, |last| last.number);
            let is_last = page.len() < LearntLimits::ALL.counts_at_once as usize;
            if !page.is_empty() {
                self.board.put(&page);
            }
            position.uses = if is_last { last.max(newest) } else { last };
        }
        if self.lessons.are_on() { self.read_queries(store, newest, position).await } else { Ok(()) }
    }

    async fn read_queries(
        &self,
        store: &dyn Store,
        newest: i64,
        position: &mut Position,
    ) -> Result<(), StoreError> {
        let lessons = &self.lessons;
        let mut beginnings = 0;
        while position.queries < newest {
            let page = store.queries_after(position.queries).await?;
            if page.forgotten != position.forgotten {
                lessons.clear();
                (position.queries, position.forgotten) = (0, page.forgotten);
                beginnings += 1;
                if beginnings > MOST_BEGINNINGS {
                    break;
                }
                continue;
            }
            let last = page.tools.last().map_or(newest, |last| last.number);
            let is_last = page.tools.len() < LearntLimits::ALL.tools_at_once as usize;
            lessons.put(&page.tools);
            position.queries = if is_last { last.max(newest) } else { last };
        }
        Ok(())
    }
}
