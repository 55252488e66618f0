//! Use counts are written to the store in batches, as often as sources are looked at, and at the end. Only tools that were
//! called are looked at then. What other replicas counted is on the board (`calls/board.rs`).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolrail_core::{StoreError, UseStore, Uses};

use super::Usage;
use crate::catalog::{Entry, Tool};
use crate::entry_key::EntryKey;

/// Calls that are being written.
struct CallsInWriting {
    key: EntryKey,
    tool: Arc<Tool>,
    calls: u32,
}

impl Usage {
    /// Writes the calls counted since the last time to the store, with what was learnt from them, and reads what other
    /// replicas wrote. What cannot be written is kept.
    pub async fn record_uses(&self) {
        let log = &self.log;
        let counted = self.take_counted();
        let store = &*self.store;
        let mut written = write(store, &counted).await;
        if !counted.is_empty() {
            self.writes.note(&written);
        }
        if written.is_err() {
            self.keep(&counted);
        } else {
            written = self.write_lessons().await;
        }
        let read = match written {
            Ok(()) => log.read(store).await,
            error => error,
        };
        // Only now: until they are on the board they count here.
        for counted in &counted {
            counted.tool.uses.written();
        }
        let anew = log.fails_anew(read.is_err());
        if let Some(error) = read.err().filter(|_| anew) {
            tracing::warn!(%error, "use counts could not be written or read; they are kept until they can be");
        }
    }

    /// Sees to it that use counts and what was learnt were read from the store once, where nothing follows it: a command
    /// that ends soon, or the first moments of a gateway.
    pub async fn ready_uses(&self) {
        if let Err(error) = self.log.read_once(&*self.store).await {
            tracing::debug!(%error, "use counts cannot be read");
        }
    }

    /// Writes and reads counts so often, until the future is dropped.
    pub(crate) async fn keep_counts(&self, every: Duration) {
        loop {
            self.record_uses().await;
            tokio::time::sleep(every).await;
        }
    }

    fn take_counted(&self) -> Vec<CallsInWriting> {
        let snapshot = self.catalog.snapshot();
        let counted = |key: EntryKey| {
            let entry = snapshot.entry_of(key.tenant.as_deref(), &key.name)?;
            let tool = Arc::clone(entry.tool()?);
            let calls = tool.uses.take();
            (calls > 0).then_some(CallsInWriting { key, tool, calls })
        };
        self.log.take().into_iter().filter_map(counted).collect()
    }

    /// Keeps calls that could not be written, with whatever their definitions are now.
    fn keep(&self, counted: &[CallsInWriting]) {
        let snapshot = self.catalog.snapshot();
        for CallsInWriting { key, calls, .. } in counted {
            let entry = snapshot.entry_of(key.tenant.as_deref(), &key.name);
            if let Some(tool) = entry.and_then(|entry| entry.tool()) {
                tool.uses.give_back(*calls);
                self.log.note(key.clone());
            }
        }
    }

    /// How often the tool of a definition was called, whether or not it compiles now.
    pub fn use_of_entry(&self, entry: &Entry, tenant: Option<&str>) -> (u64, Option<SystemTime>) {
        if let Some(tool) = entry.tool() {
            let used = self.use_of(tool, tenant);
            return (used.count, used.last_used);
        }
        if tenant.is_some() && entry.tenant.is_none() {
            return (0, None);
        }
        let used = self.log.board.of(&EntryKey::new(entry.tenant.clone(), &entry.name));
        (used.count, used.last_used())
    }
}

async fn write(store: &dyn UseStore, counted: &[CallsInWriting]) -> Result<(), StoreError> {
    if counted.is_empty() {
        return Ok(());
    }
    let uses = |counted: &CallsInWriting| Uses { tool: counted.key.to_tool_key(), calls: counted.calls };
    store.record_uses(&counted.iter().map(uses).collect::<Vec<_>>()).await
}
