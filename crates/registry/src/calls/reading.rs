//! What changed in the store is read: the counts of all replicas go on the board, what was learnt becomes lessons.

use std::sync::atomic::Ordering;

use toolrail_core::{LearntLimits, StoreError, UseStore};

use super::board::Position;
use super::log::UseLog;

/// How often what was forgotten meanwhile may make one reading begin anew.
const MOST_BEGINNINGS: u32 = 3;

impl UseLog {
    /// Sees to it that the store was read once.
    pub(crate) async fn read_once(&self, store: &dyn UseStore) -> Result<(), StoreError> {
        if self.board.begun.load(Ordering::Relaxed) { Ok(()) } else { self.read(store).await }
    }

    /// Reads what changed in the store since the last time: counts, and what was learnt.
    pub(crate) async fn read(&self, store: &dyn UseStore) -> Result<(), StoreError> {
        let mut position = self.board.position.lock().await;
        let read = self.read_on(store, &mut position).await;
        self.board.begun.store(true, Ordering::Relaxed);
        read
    }

    async fn read_on(&self, store: &dyn UseStore, position: &mut Position) -> Result<(), StoreError> {
        let newest = store.learnt_number().await?;
        if newest < position.uses {
            // Another database, or an older state of it.
            *position = Position::default();
            self.board.clear();
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
        store: &dyn UseStore,
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
