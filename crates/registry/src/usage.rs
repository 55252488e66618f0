//! How often tools are used: counted with each call, written to the store in batches (R75).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolrail_core::{StoreError, ToolKey, ToolName, Usage, Uses};

use crate::entry::Entry;
use crate::registry::Registry;

impl Registry {
    /// Writes the calls counted since the last time to the store. Counts that cannot be written are kept.
    pub async fn record_uses(&self) {
        let Some(store) = &self.store else {
            return;
        };
        let snapshot = self.snapshot();
        let counted = |tool: &crate::Tool| tool.uses.swap(0, Ordering::Relaxed);
        let uses: Vec<Uses> = snapshot
            .tools()
            .iter()
            .filter(|tool| tool.uses.load(Ordering::Relaxed) > 0)
            .map(|tool| Uses {
                tool: ToolKey { tenant: None, name: ToolName::fold(tool.name.as_str()) },
                calls: counted(tool),
            })
            .collect();
        if uses.is_empty() {
            return;
        }
        if let Err(error) = store.record_uses(&uses).await {
            tracing::warn!(%error, "use counts could not be written; they are kept for the next time");
            for Uses { tool, calls } in uses {
                if let Some(tool) = snapshot.find(&tool.name) {
                    tool.uses.fetch_add(calls, Ordering::Relaxed);
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
        after.uses.fetch_add(before.uses.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}
