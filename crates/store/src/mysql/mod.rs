//! MySQL and MariaDB: a database that other programs may read and write too. Only SQL that both understand.

mod adopt;
mod audit;
mod commit;
mod failure;
mod history;
mod keys;
mod kinds;
mod mail;
mod news;
mod pieces;
mod plan;
mod pool;
mod queries;
mod reconcile;
mod records;
mod rows;
mod schema;
mod triggers;
mod truncated;
mod uses;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolrail_core::{
    AuditEntry, AuditHead, AuditStore, Author, Change, Changes, DefinitionStore, Forget, HistoryQuery,
    HistoryStore, LearntQuery, News, NewsKind, QueryPage, Record, RecordStore, RecordWrite, RecordWritten,
    ReplicaStore, Retention, Revision, Row, Store, StoreError, Usage, UseStore, Uses, Version,
};
use url::Url;

use self::failure::Failure;
use self::pool::Connections;
use crate::commit::Commit;
use crate::limits::{LOOKING, READING, WRITING, writing};
use crate::mail::check_news;
use crate::url::without_password;

/// How long comparing everything, and entering what is found, may take.
const RECONCILING: Duration = Duration::from_mins(1);

/// Opens the database at `url`, creating and migrating it as needed.
pub(crate) async fn open(url: &Url) -> Result<Arc<dyn Store>, StoreError> {
    let described = without_password(url);
    match prepare(url).await {
        Ok(connections) => Ok(Arc::new(MysqlStore { described, url: url.clone(), connections })),
        Err(failure) => Err(failure.of(described)),
    }
}

async fn prepare(url: &Url) -> Result<Connections, Failure> {
    let options = pool::options(url)?;
    if options.get_database().is_none() {
        return Err(Failure::Told(
            "its URL names no database; write one behind the host, such as /toolrail".into(),
        ));
    }
    schema::migrate(url, &options).await?;
    Ok(Connections::new(options))
}

struct MysqlStore {
    described: String,
    url: Url,
    connections: Connections,
}

/// Does some work on a connection within a time limit, and again while others are in the way.
macro_rules! attempted {
    ($store:ident, $lease:ident, $limit:ident, |$connection:ident| $work:expr) => {{
        let work = async {
            let mut lease = $store.connections.$lease().await?;
            let mut tries = 0;
            loop {
                let $connection = &mut *lease;
                let done: Result<_, Failure> = $work.await;
                tries += 1;
                match done {
                    Err(failure) if tries < failure.tries() => tokio::time::sleep(pause(tries)).await,
                    done => {
                        if done.as_ref().err().is_none_or(Failure::is_answer) {
                            lease.give_back();
                        }
                        return done;
                    }
                }
            }
        };
        pool::within($limit, work).await
    }};
}

/// The same, with what went wrong as an error of the store.
macro_rules! bounded {
    ($store:ident, $lease:ident, $limit:ident, |$connection:ident| $work:expr) => {
        attempted!($store, $lease, $limit, |$connection| $work)
            .map_err(|failure: Failure| failure.of($store.describe()))
    };
}

/// Before the next try.
fn pause(tries: u32) -> Duration {
    Duration::from_millis(10) * tries
}

impl MysqlStore {
    /// Makes the triggers again, and catches up with what they missed, if the table was swapped or restored by itself.
    async fn keep_watch(&self) -> Result<(), StoreError> {
        match bounded!(self, lease, READING, |connection| schema::is_current(connection)) {
            Ok(false) => {
                tracing::warn!(
                    store = %self.described,
                    "mcp_tool is another table than before or has no triggers of ours; catching up with it"
                );
                let migrated = schema::migrate(&self.url, &self.connections.options()).await;
                migrated.map_err(|failure| failure.of(self.describe()))
            }
            // A newer gateway looks after it.
            Ok(true) | Err(StoreError::TooNew { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl MysqlStore {
    async fn write_once(&self, changes: &[Change], author: &Author) -> Result<Revision, Failure> {
        let commit = Commit::default();
        let limit = writing(changes.len());
        let written = attempted!(self, lease_to_write, limit, |connection| write::write(
            connection, changes, author, &commit
        ));
        match written {
            Err(failure) if !failure.is_answer() => {
                commit::settle(&commit, &self.connections, failure, &self.described).await
            }
            written => written,
        }
    }

    /// Who appends to the audit record may wait for writes of definitions.
    async fn write_audited(&self, write: &RecordWrite) -> Result<RecordWritten, Failure> {
        let commit = Commit::default();
        let written = attempted!(self, lease_to_write, WRITING, |connection| records::write(
            connection, write, &commit
        ));
        match written {
            Err(failure) if !failure.is_answer() => {
                let settled = commit::settle(&commit, &self.connections, failure, &self.described);
                settled.await.map(RecordWritten::Done)
            }
            written => written,
        }
    }
}

#[async_trait]
impl DefinitionStore for MysqlStore {
    async fn revision(&self) -> Result<Revision, StoreError> {
        bounded!(self, lease, LOOKING, |connection| rows::revision(connection))
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.keep_watch().await?;
        bounded!(self, lease, READING, |connection| rows::count(connection))
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        bounded!(self, lease, READING, |connection| rows::changes_since(connection, since))
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        bounded!(self, lease, READING, |connection| rows::find(connection, tenant, name))
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError> {
        let written = match self.write_once(changes, author).await {
            Err(Failure::Unwatched) => {
                self.reconcile().await?;
                self.write_once(changes, author).await
            }
            written => written,
        };
        written.map_err(|failure| failure.of(self.describe()))
    }

    async fn reconcile(&self) -> Result<u64, StoreError> {
        self.keep_watch().await?;
        let entered =
            bounded!(self, lease_to_write, RECONCILING, |connection| reconcile::reconcile(connection))?;
        if entered > 0 {
            tracing::warn!(
                store = %self.described,
                changes = entered,
                "mcp_tool was changed while its triggers were away; entered that as changes made now"
            );
        }
        Ok(entered)
    }
}

#[async_trait]
impl HistoryStore for MysqlStore {
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        bounded!(self, lease, READING, |connection| history::read(connection, query))
    }

    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError> {
        bounded!(self, lease, READING, |connection| history::state_at(connection, revision))
    }

    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError> {
        bounded!(self, lease_to_write, WRITING, |connection| history::forget(connection, retention))
    }
}

#[async_trait]
impl AuditStore for MysqlStore {
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError> {
        bounded!(self, lease, READING, |connection| audit::read(connection, after, most))
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        bounded!(self, lease, READING, |connection| audit::head(connection))
    }
}

#[async_trait]
impl UseStore for MysqlStore {
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        bounded!(self, lease, WRITING, |connection| uses::record(connection, uses))
    }

    async fn learnt_number(&self) -> Result<i64, StoreError> {
        bounded!(self, lease, READING, |connection| uses::number(connection))
    }

    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError> {
        bounded!(self, lease, READING, |connection| uses::after(connection, number))
    }

    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError> {
        bounded!(self, lease, WRITING, |connection| queries::record(connection, learnt))
    }

    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError> {
        bounded!(self, lease, READING, |connection| queries::after(connection, number))
    }

    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError> {
        bounded!(self, lease, WRITING, |connection| queries::forget(connection, what))
    }
}

#[async_trait]
impl ReplicaStore for MysqlStore {
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        bounded!(self, lease, WRITING, |connection| keys::shared(connection, name))
    }

    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        let left = bounded!(self, lease, WRITING, |connection| mail::leave(connection, topic, body))?;
        left.told(self.describe(), topic)
    }

    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        bounded!(self, lease, WRITING, |connection| mail::collect(connection, topic))
    }

    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        check_news(bodies, || self.describe())?;
        bounded!(self, lease, WRITING, |connection| news::announce(connection, kind, bodies))
    }

    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        bounded!(self, lease, READING, |connection| news::after(connection, number))
    }
}

#[async_trait]
impl RecordStore for MysqlStore {
    async fn record_number(&self) -> Result<i64, StoreError> {
        bounded!(self, lease, READING, |connection| records::number(connection))
    }

    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError> {
        bounded!(self, lease, READING, |connection| records::after(connection, number, kinds))
    }

    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        bounded!(self, lease, READING, |connection| records::one(connection, kind, id))
    }

    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError> {
        if write.audited.is_none() {
            let commit = Commit::default();
            return bounded!(self, lease, WRITING, |connection| records::write(connection, write, &commit));
        }
        self.write_audited(write).await.map_err(|failure| failure.of(self.describe()))
    }
}

#[async_trait]
impl Store for MysqlStore {
    fn describe(&self) -> String {
        self.described.clone()
    }

    async fn close(&self) {
        self.connections.close().await;
    }
}
