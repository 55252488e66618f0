//! How often tools are used: counted with each call, written to the store in batches (R75). Only tools that were called
//! are looked at then.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use toolrail_core::{StoreError, Usage, Uses};

use crate::entry::Entry;
use crate::entry_key::EntryKey;
use crate::registry::Registry;
use crate::tool::Tool;

/// Which tools were called since their counts were last written.
#[derive(Default)]
pub(crate) struct UseLog {
    used: Mutex<HashSet<EntryKey>>,
    /// Whether they could not be written the last time.
    failing: AtomicBool,
}

impl UseLog {
    fn note(&self, key: EntryKey) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    fn take(&self) -> HashSet<EntryKey> {
        std::mem::take(&mut self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The calls of one tool that are not in the store yet.
pub(crate) struct UseCount {
    calls: AtomicU32,
    log: Arc<UseLog>,
}

impl UseCount {
    pub(crate) fn new(log: Arc<UseLog>) -> Self {
        Self { calls: AtomicU32::new(0), log }
    }

    /// Counts a call of the tool that this belongs to.
    pub(crate) fn count(&self, tool: &Tool) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.log.note(EntryKey::new(tool.tenant.clone(), tool.name.as_str()));
        }
    }

    fn take(&self) -> u32 {
        self.calls.swap(0, Ordering::Relaxed)
    }

    fn give_back(&self, calls: u32) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
    }
}

impl Registry {
    /// Writes the calls counted since the last time to the store. Counts that cannot be written are kept.
    pub async fn record_uses(&self) {
        let used = self.compiler.uses.take();
        let Some(store) = &self.store else {
            return;
        };
        let snapshot = self.snapshot();
        let tool = |key: &EntryKey| {
            snapshot.entry_of(key.tenant.as_deref(), &key.name).and_then(|entry| entry.tool())
        };
        let counted = |key: EntryKey| {
            let calls = tool(&key)?.uses.take();
            (calls > 0).then_some((key, calls))
        };
        let counted: Vec<(EntryKey, u32)> = used.into_iter().filter_map(counted).collect();
        if counted.is_empty() {
            return;
        }
        let uses: Vec<_> =
            counted.iter().map(|(key, calls)| Uses { tool: key.to_tool_key(), calls: *calls }).collect();
        let written = store.record_uses(&uses).await;
        let failed_before = self.compiler.uses.failing.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = written {
            if !failed_before {
                tracing::warn!(%error, "use counts could not be written; they are kept until they can be");
            }
            for (key, calls) in counted {
                if let Some(tool) = tool(&key) {
                    tool.uses.give_back(calls);
                    self.compiler.uses.note(key);
                }
            }
        }
    }

    /// How much each tool has been used, as far as the store knows.
    pub async fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        match &self.store {
            Some(store) => store.usage().await,
            None => Ok(Vec::new()),
        }
    }
}

/// A definition that is replaced hands its count on.
pub(crate) fn carry_over(before: Option<&Arc<Entry>>, after: &Arc<Entry>) {
    if let (Some(before), Some(after)) = (before.and_then(|entry| entry.tool()), after.tool())
        && !Arc::ptr_eq(before, after)
    {
        after.uses.give_back(before.uses.take());
    }
}
