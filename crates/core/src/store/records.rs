//! Small documents of the gateway itself, which every gateway on a store knows within a moment: the keys of clients, for
//! instance. One number, +1 with every write, lets each read only what is new.

use async_trait::async_trait;

use super::{Author, StoreError};

/// What a store takes of records.
#[derive(Clone, Copy, Debug)]
pub struct RecordLimits {
    /// The longest kind and id, in bytes.
    pub longest_name: usize,
    /// The most bytes of one body.
    pub largest: usize,
    /// The most records that are there of one kind.
    pub most: u32,
    /// The most that are read at once.
    pub at_once: u32,
    /// For how many days it is remembered that a record was removed.
    pub removed_days: u32,
}

impl RecordLimits {
    /// Those of every store.
    pub const ALL: Self =
        Self { longest_name: 200, largest: 64 * 1024, most: 100_000, at_once: 1_000, removed_days: 30 };
}

/// One record, as it stands after its last write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is one of.
    pub kind: String,
    /// Which of them.
    pub id: String,
    /// What it says; nothing if it was removed.
    pub body: Option<String>,
    /// The number of the write that led to this.
    pub number: i64,
}

/// A record to be written, or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordWrite {
    /// What it is one of.
    pub kind: String,
    /// Which of them.
    pub id: String,
    /// What it is to say; nothing to remove it.
    pub body: Option<String>,
    /// The number it must have, 0 if there must be none (or one that was removed); whatever there is if absent.
    pub expected: Option<i64>,
    /// What stands in the audit record about it; nothing for what is no act of administration.
    pub audited: Option<RecordAudit>,
}

/// What the audit record says of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordAudit {
    /// Who wrote.
    pub author: Author,
    /// What was done, such as `key.create`.
    pub action: String,
    /// Whose it is; everybody's if absent.
    pub tenant: Option<String>,
    /// What it was done to, as people call it.
    pub name: String,
    /// What became otherwise, as JSON text.
    pub changes: String,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordWritten {
    /// It was made, under that number.
    Done(i64),
    /// The record is not the one that was expected; nothing was written.
    Otherwise,
    /// There are too many of that kind, or it is too large; nothing was written.
    NoRoom,
}

/// What a store keeps of records.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// The number of the newest write. Whoever has seen it has seen all writes up to it.
    async fn record_number(&self) -> Result<i64, StoreError>;

    /// The records of those kinds, or of any if none is named, that were written after that number, also those that were removed,
    /// in the order of their numbers, at most so many as [`RecordLimits::ALL`] says; from 0 on, all.
    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError>;

    /// The record of that kind and id, unless it was removed.
    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError>;

    /// Writes a record, and what the audit record says of it, in one step. Changes no definition, hence no revision.
    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError>;
}

/// Whoever holds in memory what some records say, and hears of those that are new.
#[async_trait]
pub trait RecordListener: Send + Sync {
    /// The kinds of records that are for it.
    fn kinds(&self) -> &'static [&'static str];

    /// Takes in records, in the order of their numbers: all that are new, or a part of them. It may get some twice.
    fn take(&self, records: &[Record]);

    /// All that are new were taken in, and hold from now on.
    async fn settle(&self) -> Result<(), StoreError>;

    /// Does what is to be done a few times a second.
    async fn tend(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
