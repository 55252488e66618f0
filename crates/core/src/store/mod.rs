//! The store: where registered definitions are kept. One revision counts every change, whoever made it.

mod audit;
mod error;
mod history;
mod learnt;
mod messages;
mod records;
mod row;

use async_trait::async_trait;

pub use audit::{
    AUDIT_START, AuditBroken, AuditCheck, AuditEntry, AuditHead, AuditStore, Standing, audit_changes,
    hexadecimal,
};
pub use error::StoreError;
pub use history::{HistoryQuery, HistoryStore, Retention, Version, VersionKind};
pub use learnt::{
    Forget, LearntLimits, LearntQuery, PastQuery, QueryPage, ToolQueries, Usage, UseStore, Uses,
};
pub use messages::{MailLimits, News, NewsKind, ReplicaStore};
pub use records::{
    Record, RecordAudit, RecordLimits, RecordListener, RecordStore, RecordWrite, RecordWritten,
};
pub use row::{
    Action, Author, Change, Changes, DefinitionStore, Expected, OverTls, PeerAddress, Row, ToolKey,
};

/// The counter of the whole store, +1 with every change.
pub type Revision = i64;

/// A store: the sum of its concerns, for whoever opens or holds one; others take the trait of their concern. Every
/// implementation passes the same behaviour suite. No call waits for ever: a database that does not answer is unavailable
/// after some seconds.
#[async_trait]
pub trait Store: DefinitionStore + HistoryStore + AuditStore + UseStore + ReplicaStore + RecordStore {
    /// Which store this is, for people; without credentials.
    fn describe(&self) -> String;

    /// Waits for work under way and leaves everything tidy. Every later use fails.
    async fn close(&self);
}
