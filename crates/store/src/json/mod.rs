//! A store in one readable JSON file: the store in memory, with everything worth keeping written to the file before a
//! change is acknowledged, and what somebody edits in the file taken over as another program's writes are.
//!
//! One process at a time: a lock beside the file sees to that. Each change writes the whole file, so this is for
//! catalogues that people read and edit; SQLite is for large ones.

mod contents;
mod file;
mod state;

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::Instant;
use toolrail_core::{
    AuditEntry, AuditHead, AuditStore, Author, Change, Changes, DefinitionStore, Forget, HistoryQuery,
    HistoryStore, LearntQuery, News, NewsKind, QueryPage, Record, RecordStore, RecordWrite, RecordWritten,
    ReplicaStore, Retention, Revision, Row, Store, StoreError, Usage, UseStore, Uses, Version,
};

use self::contents::Contents;
use self::file::{Held, Stamp};
use crate::SqliteStore;

/// How long what was only learnt from use may wait to be written.
const LEARNT_WAITS: Duration = Duration::from_secs(10);

/// A store in a JSON file.
pub(crate) struct JsonStore {
    file: Held,
    kept: RwLock<Kept>,
}

/// What is in memory, and how the file stands to it.
struct Kept {
    memory: SqliteStore,
    /// Which file has what is in memory.
    stamp: Option<Stamp>,
    /// Whether a change may be in memory and not in the file.
    is_ahead: bool,
    /// Whether something learnt from use is not in the file yet.
    has_learnt: bool,
    saved: Instant,
}

impl Kept {
    /// Whether the file must be looked at or written before anything else.
    fn is_unsettled(&self, stamp: Option<Stamp>) -> bool {
        let learnt = self.has_learnt && self.saved.elapsed() >= LEARNT_WAITS;
        self.is_ahead || learnt || self.stamp != stamp
    }
}

impl JsonStore {
    /// Opens that file, creating it and its folder as needed.
    pub(crate) async fn open(file: &Path) -> Result<Self, StoreError> {
        let file = Held::open(file).await?;
        let is_new = file.stamp().is_none_or(|stamp| stamp.is_empty());
        let mut kept = if is_new { restored(&file, Contents::default()).await? } else { load(&file).await? };
        kept.is_ahead |= is_new;
        let kept = RwLock::new(kept);
        let store = Self { file, kept };
        drop(store.settled().await?);
        Ok(store)
    }

    /// What is in memory, once the file has it and it has what is in the file.
    async fn settled(&self) -> Result<RwLockReadGuard<'_, Kept>, StoreError> {
        let kept = self.kept.read().await;
        if !kept.is_unsettled(self.file.stamp()) {
            return Ok(kept);
        }
        drop(kept);
        Ok(self.to_change().await?.downgrade())
    }

    /// The same, for a change: nobody reads what is not in the file yet.
    async fn to_change(&self) -> Result<RwLockWriteGuard<'_, Kept>, StoreError> {
        let mut kept = self.kept.write().await;
        let stamp = self.file.stamp();
        if kept.stamp != stamp {
            let edited = self.file.read().await?;
            let is_other = contents::take_over(&kept.memory, &edited).await;
            if is_other.map_err(|error| self.file.failed(error))? {
                kept.is_ahead = true;
            }
            // Only now: while it cannot be read, it must not be written over.
            kept.stamp = stamp;
        }
        if kept.is_unsettled(stamp) {
            self.save(&mut kept).await?;
        }
        Ok(kept)
    }

    /// Writes the file anew.
    async fn save(&self, kept: &mut Kept) -> Result<(), StoreError> {
        let text = contents::text_of(&kept.memory).await.map_err(|error| self.file.failed(error))?;
        kept.stamp = Some(self.file.replace(kept.stamp, text).await?);
        (kept.is_ahead, kept.has_learnt, kept.saved) = (false, false, Instant::now());
        Ok(())
    }

    /// Writes what is now in memory; if that fails, memory becomes what the file has.
    async fn save_or_undo(&self, kept: &mut Kept) -> Result<(), StoreError> {
        let Err(error) = self.save(kept).await else { return Ok(()) };
        match load(&self.file).await {
            Ok(before) => {
                let undone = std::mem::replace(kept, before);
                undone.memory.close().await;
            }
            Err(unread) => tracing::warn!(%unread, "a change that could not be written is tried again"),
        }
        Err(error)
    }

    /// What was learnt from use is worth no writing of its own.
    async fn learn(&self) -> Result<RwLockWriteGuard<'_, Kept>, StoreError> {
        let mut kept = self.to_change().await?;
        kept.has_learnt = true;
        Ok(kept)
    }
}

/// What the file has. One that is gone or empty is no new store here: somebody may be saving it.
async fn load(file: &Held) -> Result<Kept, StoreError> {
    let stamp = file.stamp();
    let contents = file.read().await?;
    Ok(Kept { stamp, ..restored(file, contents).await? })
}

/// What was written, with what was edited since.
async fn restored(file: &Held, contents: Contents) -> Result<Kept, StoreError> {
    let stamp = file.stamp();
    let memory = SqliteStore::open_in_memory().await?;
    let put_back = state::restore(&memory, &contents.state).await;
    put_back.map_err(|error| file.failed(error))?;
    let is_ahead = contents::take_over(&memory, &contents).await.map_err(|error| file.failed(error))?;
    Ok(Kept { memory, stamp, is_ahead, has_learnt: false, saved: Instant::now() })
}

#[async_trait]
impl DefinitionStore for JsonStore {
    async fn revision(&self) -> Result<Revision, StoreError> {
        self.settled().await?.memory.revision().await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.settled().await?.memory.count().await
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.settled().await?.memory.changes_since(since).await
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        self.settled().await?.memory.find(tenant, name).await
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError> {
        let mut kept = self.to_change().await?;
        let before = kept.memory.revision().await?;
        // Before it is made: should this be dropped half-way, the next call writes what was done.
        kept.is_ahead = true;
        let written = kept.memory.write(changes, author).await;
        if written.as_ref().is_ok_and(|revision| *revision != before) {
            self.save_or_undo(&mut kept).await?;
        }
        kept.is_ahead = false;
        written
    }
}

#[async_trait]
impl HistoryStore for JsonStore {
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        self.settled().await?.memory.history(query).await
    }

    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError> {
        self.settled().await?.memory.state_at(revision).await
    }

    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError> {
        let mut kept = self.to_change().await?;
        let forgotten = kept.memory.forget(retention).await?;
        if forgotten > 0 {
            self.save_or_undo(&mut kept).await?;
        }
        Ok(forgotten)
    }
}

#[async_trait]
impl AuditStore for JsonStore {
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError> {
        self.settled().await?.memory.audit(after, most).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.settled().await?.memory.audit_head().await
    }
}

#[async_trait]
impl UseStore for JsonStore {
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        self.learn().await?.memory.record_uses(uses).await
    }

    async fn learnt_number(&self) -> Result<i64, StoreError> {
        self.settled().await?.memory.learnt_number().await
    }

    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError> {
        self.settled().await?.memory.usage_after(number).await
    }

    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError> {
        self.learn().await?.memory.record_queries(learnt).await
    }

    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError> {
        self.settled().await?.memory.queries_after(number).await
    }

    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError> {
        let mut kept = self.to_change().await?;
        let forgotten = kept.memory.forget_queries(what).await?;
        self.save_or_undo(&mut kept).await?;
        Ok(forgotten)
    }
}

#[async_trait]
impl ReplicaStore for JsonStore {
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let mut kept = self.to_change().await?;
        let known =
            async |kept: &Kept| state::keys(&kept.memory).await.map_err(|error| self.file.failed(error));
        let before = known(&kept).await?;
        let key = kept.memory.shared_key(name).await?;
        if known(&kept).await? != before {
            self.save_or_undo(&mut kept).await?;
        }
        Ok(key)
    }

    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        self.settled().await?.memory.leave(topic, body).await
    }

    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.settled().await?.memory.collect(topic).await
    }

    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        let mut kept = self.to_change().await?;
        kept.memory.announce(kind, bodies).await?;
        match kind {
            NewsKind::Lasting => self.save_or_undo(&mut kept).await,
            // No other gateway uses the file, and this one has heard them.
            NewsKind::Passing => Ok(()),
        }
    }

    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        self.settled().await?.memory.news_after(number).await
    }
}

#[async_trait]
impl RecordStore for JsonStore {
    async fn record_number(&self) -> Result<i64, StoreError> {
        self.settled().await?.memory.record_number().await
    }

    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError> {
        self.settled().await?.memory.records_after(number, kinds).await
    }

    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        self.settled().await?.memory.record(kind, id).await
    }

    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError> {
        let mut kept = self.to_change().await?;
        // Before it is made: should this be dropped half-way, the next call writes what was done.
        kept.is_ahead = true;
        let written = kept.memory.write_record(write).await;
        if matches!(written, Ok(RecordWritten::Done(_))) {
            self.save_or_undo(&mut kept).await?;
        }
        kept.is_ahead = false;
        written
    }
}

#[async_trait]
impl Store for JsonStore {
    fn describe(&self) -> String {
        self.file.describe()
    }

    async fn close(&self) {
        let mut kept = self.kept.write().await;
        // Whoever edits the file at this moment keeps the edit; what was learnt from use is worth less.
        let is_ours = kept.stamp == self.file.stamp();
        if is_ours
            && (kept.is_ahead || kept.has_learnt)
            && let Err(error) = self.save(&mut kept).await
        {
            tracing::warn!(%error, "what was learnt from use could not be kept");
        }
        kept.memory.close().await;
        self.file.release();
    }
}
