//! PostgreSQL 13 or newer: a table that other programs may read and write too, triggers that keep the books whoever
//! writes, and a connection that hears of changes at once.

mod adopt;
mod audit;
mod commit;
mod failure;
mod history;
mod holder;
mod keys;
mod listen;
mod mail;
mod news;
mod pool;
mod queries;
mod reconcile;
mod records;
mod rows;
mod schema;
mod triggers;
mod uses;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::Connection;
use sqlx::postgres::PgPool;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use toolrail_core::{
    AuditEntry, AuditHead, AuditStore, Author, Change, Changes, DefinitionStore, Forget, HistoryQuery,
    HistoryStore, LearntQuery, News, NewsKind, QueryPage, Record, RecordStore, RecordWrite, RecordWritten,
    ReplicaStore, Retention, Revision, Row, Store, StoreError, Usage, UseStore, Uses, Version,
};
use url::Url;

use self::failure::Failure;
pub(crate) use self::pool::wrong_parameter;
use crate::commit::Commit;
use crate::limits::{LOOKING, READING, WRITING, writing};
use crate::mail::check_news;
use crate::url::without_password;

/// How long work under way may take while the store is closed.
const CLOSE: Duration = Duration::from_secs(5);

/// Opens the database at `url`, creating and migrating it as needed.
pub(crate) async fn open(url: &Url) -> Result<Arc<dyn Store>, StoreError> {
    let name = without_password(url);
    let store = PostgresStore::open(url, name.clone()).await;
    store.map(|store| Arc::new(store) as Arc<dyn Store>).map_err(|failure| failure.of(&name))
}

struct PostgresStore {
    /// For people.
    name: String,
    /// For writes of definitions.
    writes: PgPool,
    /// For everything else.
    pool: PgPool,
    /// To mend it.
    server: pool::Server,
    bell: Arc<Notify>,
    listening: AbortOnDropHandle<()>,
}

impl PostgresStore {
    async fn open(url: &Url, name: String) -> Result<Self, Failure> {
        let options = pool::options(url)?;
        let mut first = pool::first(&options).await?;
        let schema = schema::migrate(&mut first, &name, schema::Patience::Start).await?;
        timeout(CLOSE, first.close()).await.ok();
        let server = pool::Server { options, schema };
        let (writes, pool) = (server.pool_for_writes(), server.pool_for_the_rest());
        let bell = Arc::new(Notify::new());
        let listener = listen::ring(server.clone(), Arc::clone(&bell), name.clone());
        let listening = AbortOnDropHandle::new(tokio::spawn(listener));
        Ok(Self { name, writes, pool, server, bell, listening })
    }

    async fn read<T>(&self, work: impl Future<Output = Result<T, Failure>> + Send) -> Result<T, StoreError> {
        self.within(READING, work).await
    }

    async fn change<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>> + Send,
    ) -> Result<T, StoreError> {
        self.within(WRITING, work).await
    }

    async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Failure>> + Send,
    ) -> Result<T, StoreError> {
        in_time(limit, work).await.map_err(|failure| failure.of(&self.name))
    }

    async fn write_once(&self, changes: &[Change], author: &Author) -> Result<Revision, Failure> {
        let commit = Commit::default();
        let work = in_time(writing(changes.len()), write::write(&self.writes, changes, author, &commit));
        match holder::naming(&self.pool, work).await {
            Err(failure) if failure.code().is_none() => {
                commit::settle(&commit, &self.pool, failure, &self.name).await
            }
            written => written,
        }
    }
}

async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Failure> {
    timeout(limit, work).await.unwrap_or(Err(Failure::slow(limit)))
}

#[async_trait]
impl DefinitionStore for PostgresStore {
    fn bell(&self) -> Option<Arc<Notify>> {
        Some(Arc::clone(&self.bell))
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.within(LOOKING, rows::revision(&self.pool)).await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.read(rows::count(&self.pool)).await
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.read(rows::changes_since(&self.pool, since)).await
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        self.read(rows::find(&self.pool, tenant, name)).await
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError> {
        if changes.is_empty() {
            return self.revision().await;
        }
        let written = match self.write_once(changes, author).await {
            Err(failure) if reconcile::is_called_for(&failure) => {
                reconcile::reconcile(&self.pool, &self.server, &self.name)
                    .await
                    .map_err(|failure| failure.of(&self.name))?;
                self.write_once(changes, author).await
            }
            written => written,
        };
        written.map_err(|failure| failure.of(&self.name))
    }

    async fn reconcile(&self) -> Result<u64, StoreError> {
        let reconciling = reconcile::reconcile(&self.pool, &self.server, &self.name);
        reconciling.await.map_err(|failure| failure.of(&self.name))
    }
}

#[async_trait]
impl HistoryStore for PostgresStore {
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        self.read(history::read(&self.pool, query)).await
    }

    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError> {
        self.read(history::state_at(&self.pool, revision)).await
    }

    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError> {
        self.change(history::forget(&self.writes, retention)).await
    }
}

#[async_trait]
impl AuditStore for PostgresStore {
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError> {
        self.read(audit::read(&self.pool, after, most)).await
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.read(audit::head(&self.pool)).await
    }
}

#[async_trait]
impl UseStore for PostgresStore {
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        self.change(uses::record(&self.pool, uses)).await
    }

    async fn learnt_number(&self) -> Result<i64, StoreError> {
        self.read(uses::number(&self.pool)).await
    }

    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError> {
        self.read(uses::after(&self.pool, number)).await
    }

    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError> {
        self.change(queries::record(&self.pool, learnt)).await
    }

    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError> {
        self.read(queries::after(&self.pool, number)).await
    }

    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError> {
        self.change(queries::forget(&self.pool, what)).await
    }
}

#[async_trait]
impl ReplicaStore for PostgresStore {
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.change(keys::shared(&self.pool, name)).await
    }

    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        self.change(mail::leave(&self.pool, topic, body)).await?.told(self.describe(), topic)
    }

    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.change(mail::collect(&self.pool, topic)).await
    }

    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        check_news(bodies, || self.describe())?;
        self.change(news::announce(&self.pool, kind, bodies)).await
    }

    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        self.read(news::after(&self.pool, number)).await
    }
}

#[async_trait]
impl RecordStore for PostgresStore {
    async fn record_number(&self) -> Result<i64, StoreError> {
        self.read(records::number(&self.pool)).await
    }

    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError> {
        self.read(records::after(&self.pool, number, kinds)).await
    }

    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        self.read(records::one(&self.pool, kind, id)).await
    }

    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError> {
        // Who appends to the audit record may wait for writes of definitions.
        let pool = if write.audited.is_some() { &self.writes } else { &self.pool };
        let commit = Commit::default();
        let written = match in_time(WRITING, records::write(pool, write, &commit)).await {
            Err(failure) if failure.code().is_none() => {
                commit::settle(&commit, &self.pool, failure, &self.name).await.map(RecordWritten::Done)
            }
            written => written,
        };
        written.map_err(|failure| failure.of(&self.name))
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn describe(&self) -> String {
        self.name.clone()
    }

    async fn close(&self) {
        self.listening.abort();
        // Whoever does not finish in time is cut off when the store is dropped.
        let closing = async { tokio::join!(self.writes.close(), self.pool.close()) };
        timeout(CLOSE, closing).await.ok();
    }
}
