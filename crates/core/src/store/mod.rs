//! The store: where registered definitions are kept. One revision counts every change, whoever made it.

mod audit;
mod error;
mod history;
mod learnt;
mod messages;
mod row;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Notify;

pub use audit::{AUDIT_START, AuditBroken, AuditCheck, AuditEntry, AuditHead, Standing, audit_changes};
pub use error::StoreError;
pub use history::{HistoryQuery, Retention, Version, VersionKind};
pub use learnt::{Forget, LearntLimits, LearntQuery, PastQuery, QueryPage, ToolQueries, Usage, Uses};
pub use messages::{MailLimits, News, NewsKind};
pub use row::{Action, Author, Change, Changes, Expected, PeerAddress, Row, ToolKey};

/// The counter of the whole store, +1 with every change.
pub type Revision = i64;

/// A store. Every implementation passes the same behaviour suite. No call waits for ever: a database that does not answer
/// is unavailable after some seconds.
#[async_trait]
pub trait Store: Send + Sync {
    /// Which store this is, for people; without credentials.
    fn describe(&self) -> String;

    /// Rings when the store has heard of a change or may have missed one, if it can hear.
    fn bell(&self) -> Option<Arc<Notify>> {
        None
    }

    /// The current revision.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// How many definitions there are.
    async fn count(&self) -> Result<u64, StoreError>;

    /// What changed after `since`, oldest first and at most [`Changes::MOST`] rows; with 0, everything there is, from the
    /// start. Whoever goes on from each revision he got while there is more has seen every change.
    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError>;

    /// One row of exactly that tenant, or of the shared ones, by name in any case.
    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError>;

    /// Makes all the changes or none, durably and in their order, and returns the revision they lead to. Each that has an
    /// effect moves the revision by one and is entered in the audit record in the same transaction.
    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError>;

    /// Compares every definition with the newest of its versions, and enters what happened behind the store's back (rows that
    /// came, changed or went while nothing kept the books) as changes made now; makes anew what keeps the books, where that is
    /// missing. Returns how many changes were entered: like all others, they move the revision.
    async fn reconcile(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Versions of definitions, the newest first; of one definition, whatever the case of its name.
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError>;

    /// The newest version that each definition had at that revision, leaving out those that were removed; in the order of
    /// their keys. `Forgotten` if versions that count for it are no longer kept.
    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError>;

    /// Forgets what need not be kept, and returns how many versions that were.
    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError>;

    /// Entries of the audit record after that number, oldest first.
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError>;

    /// The newest entry of the audit record, kept apart from it.
    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError>;

    /// Adds calls made just now to the count of each tool. Changes no definition, hence no revision.
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError>;

    /// The number of the newest write of use counts or of queries. Whoever has seen it has seen all writes up to it.
    async fn learnt_number(&self) -> Result<i64, StoreError>;

    /// The use counts that changed after that number, in the order of their numbers, at most so many as
    /// [`LearntLimits::ALL`] says; from 0 on, all. A tool that was never used is absent, and so is one that was removed.
    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError>;

    /// How much each tool has been used, in the order of the keys.
    async fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        let newest = self.learnt_number().await?;
        let (mut all, mut number) = (BTreeMap::new(), 0);
        while number < newest {
            let page = self.usage_after(number).await?;
            let Some(last) = page.last() else {
                break;
            };
            number = last.number;
            // One that is used meanwhile comes again, with its new count.
            all.extend(page.into_iter().map(|usage| (usage.tool.clone(), usage)));
        }
        Ok(all.into_values().collect())
    }

    /// Adds queries after which tools were called, within [`LearntLimits::ALL`]. Changes no definition, hence no revision.
    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError>;

    /// The tools about which something was learnt or forgotten after that number, with all their queries.
    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError>;

    /// Forgets queries, and returns about how many tools there were some.
    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError>;

    /// The key of that name, made of the system's randomness on first use. Everybody who uses the store gets the same.
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError>;

    /// Leaves a message for whoever collects that topic, within [`MailLimits::ALL`]. Changes no definition, hence no
    /// revision.
    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError>;

    /// Takes the oldest messages of a topic, in the order in which they were left. Each is given to one collector only, and
    /// to none when it has lain for too long.
    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Tells everybody on the store, in one write. Changes no definition, hence no revision.
    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError>;

    /// The oldest news after that number, in order; from 0 on, all that are kept. Whoever goes on from the last number he
    /// got misses none, unless more have come than are kept.
    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError>;

    /// Waits for work under way and leaves everything tidy. Every later use fails.
    async fn close(&self);
}
