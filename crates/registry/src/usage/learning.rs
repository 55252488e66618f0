//! Learning from use: what calls taught (`calls/lessons.rs`) is kept in the store, read back by every replica, and forgotten
//! with the definitions it is about, or when it has not been asked for long.

use std::collections::HashSet;
use std::time::Duration;

use toolrail_core::{Forget, LearntLimits, LearntQuery, StoreError, ToolKey};
use toolrail_search::Learnt;

use super::Usage;
use crate::calls::Pair;
use crate::entry_key::EntryKey;

/// The most that are written, or forgotten, at once.
const AT_ONCE: usize = 500;
/// How often it is looked for what has not been asked for long.
const EVERY: Duration = Duration::from_hours(1);

/// Whether a registry learns from use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learning {
    /// What was called after which query is remembered, and counts in searches.
    #[default]
    On,
    /// Nothing is remembered, and what was remembered before does not count. It stays in the store.
    Off,
}

impl Usage {
    /// What was learnt from the use of a tenant, or of those without one. A copy costs nothing.
    pub(crate) fn learnt_of(&self, tenant: Option<&str>) -> Option<Learnt> {
        self.log.lessons.of(tenant)
    }

    /// Whether it learns from use.
    pub fn learns(&self) -> bool {
        self.log.lessons.are_on()
    }

    /// What was learnt from the use of a tenant, or of those without one: the queries by tool, each with the number of
    /// conversations; about one tool or all of them, at most so many.
    pub fn learnt_about(
        &self,
        tenant: Option<&str>,
        tool: Option<&str>,
        most: usize,
    ) -> Vec<(String, Vec<(String, u32)>)> {
        self.log.lessons.about(tenant, tool, most)
    }

    /// Remembers what a conversation of a tenant was looking for, and which tools it was shown, by their folded names.
    pub(crate) fn note_search<'h>(
        &self,
        of: (Option<&str>, &str),
        query: &str,
        hits: impl Iterator<Item = &'h str>,
    ) {
        self.log.lessons.note_search(of, query, hits);
    }

    /// Forgets queries that were learnt, here and on every replica, and returns about how many tools there were some.
    pub async fn forget_learnt(&self, what: &Forget) -> Result<u64, StoreError> {
        self.log.lessons.drop_waiting(what);
        let forgotten = self.store.forget_queries(what).await?;
        self.log.read(&*self.store).await?;
        Ok(forgotten)
    }

    /// Writes what was learnt since the last time, and forgets what was learnt about definitions that are gone.
    pub(crate) async fn write_lessons(&self) -> Result<(), StoreError> {
        let log = &self.log;
        let gone = log.take_gone();
        // First: a tool may be taught and removed between two writes.
        let lost = if gone.is_empty() { Vec::new() } else { self.lose(&gone) };
        for lost in lost.chunks(AT_ONCE) {
            if let Err(error) = self.store.forget_queries(&Forget::Tools(lost.to_vec())).await {
                log.give_back_gone(gone);
                return Err(error);
            }
        }
        self.write_waiting().await
    }

    /// Lets go of what was learnt about definitions that are gone, and returns about which of them the store has more.
    fn lose(&self, gone: &HashSet<EntryKey>) -> Vec<ToolKey> {
        let snapshot = self.catalog.snapshot();
        let has_own = |tenant: Option<&str>, name: &str| snapshot.entry_of(tenant, name).is_some();
        self.log.lessons.lose(gone, &has_own)
    }

    async fn write_waiting(&self) -> Result<(), StoreError> {
        let lessons = &self.log.lessons;
        let waiting = lessons.take_waiting();
        // A call may have ended after its tool was gone.
        let is_there = |pair: &Pair| self.catalog.seen_by(pair.tenant.as_deref()).find(&pair.name).is_some();
        let mut waiting: Vec<(Pair, u32)> = waiting.into_iter().filter(|(pair, _)| is_there(pair)).collect();
        while !waiting.is_empty() {
            let rest = waiting.split_off(AT_ONCE.min(waiting.len()));
            let learnt: Vec<LearntQuery> =
                waiting.iter().map(|(pair, times)| pair.to_learnt_query(*times)).collect();
            if let Err(error) = self.store.record_queries(&learnt).await {
                lessons.put_back(waiting.into_iter().chain(rest));
                return Err(error);
            }
            waiting = rest;
        }
        Ok(())
    }

    /// Forgets what has not been asked for long, every hour, until the future is dropped. Every replica may do that.
    pub(crate) async fn keep_learnt(&self) {
        let mut hours = tokio::time::interval(EVERY);
        hours.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            match self.store.forget_queries(&Forget::Unused { days: LearntLimits::ALL.days }).await {
                Ok(0) => {}
                Ok(tools) => tracing::info!(tools, "what was learnt from old queries was forgotten"),
                Err(error) => tracing::debug!(%error, "what was learnt from old queries cannot be forgotten"),
            }
        }
    }
}
