//! The embedded store: one SQLite file in WAL mode, which other programs may read and write too, or the same in memory.

mod adopt;
mod audit;
mod failure;
mod history;
mod keys;
mod mail;
mod news;
mod place;
mod pool;
mod put;
mod queries;
mod reconcile;
mod records;
mod rows;
mod schema;
mod triggers;
mod unique;
mod uses;
mod write;

use std::path::Path;

use async_trait::async_trait;
use sqlx::ConnectOptions;
use toolrail_core::{
    AuditEntry, AuditHead, AuditStore, Author, Change, Changes, DefinitionStore, Forget, HistoryQuery,
    HistoryStore, LearntQuery, News, NewsKind, QueryPage, Record, RecordStore, RecordWrite, RecordWritten,
    ReplicaStore, Retention, Revision, Row, Store, StoreError, Usage, UseStore, Uses, Version,
};

use self::failure::Failure;
use self::place::Place;
use self::pool::Pools;
use crate::mail::check_news;

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    place: Place,
    pools: Pools,
}

impl SqliteStore {
    /// Opens that file; its folder is created as needed.
    pub(crate) async fn open(file: &Path) -> Result<Self, StoreError> {
        let mut place = Place::File { file: file.to_owned(), identity: None };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| place.failed(error))?;
        }
        keep_private(file);
        let pools = pool::file(file, &place).await?;
        place.identify();
        Ok(Self { place, pools })
    }

    /// A store that ends with the process.
    pub(crate) async fn open_in_memory() -> Result<Self, StoreError> {
        let place = Place::Memory;
        let pools = pool::memory(&place).await?;
        Ok(Self { place, pools })
    }

    /// The database file, if it is in one.
    pub fn file(&self) -> Option<&Path> {
        self.place.file()
    }

    /// Connections that may write.
    pub(crate) fn connections(&self) -> &sqlx::SqlitePool {
        &self.pools.writer
    }

    fn failed(&self) -> impl Fn(sqlx::Error) -> StoreError + '_ {
        |error| self.place.failed(error)
    }

    async fn write_once(&self, changes: &[Change], author: &Author) -> Result<Revision, Failure> {
        let result = write::write(&self.pools.writer, changes, author).await;
        match result {
            Err(Failure::Sql(error)) if unique_name_is_in_the_way(&error) => {
                self.free_names().await?;
                write::write(&self.pools.writer, changes, author).await
            }
            other => other,
        }
    }

    /// A tenant needs a name that another has, in a table that came from another program.
    async fn free_names(&self) -> Result<(), Failure> {
        tracing::warn!(
            store = %self.place.describe(),
            "taking UNIQUE (name) off the table mcp_tool, because two tenants use one name; \
             ON CONFLICT (name) of other programs no longer works there"
        );
        // A connection of its own: what it does not enforce must not last.
        let options = self.pools.options.clone().foreign_keys(false);
        let mut connection = options.connect().await?;
        unique::drop_in_turn(&mut connection).await.map_err(|error| match error {
            unique::UniqueError::Sql(error) => Failure::Sql(error),
            stays @ unique::UniqueError::Stays => Failure::Sql(sqlx::Error::AnyDriverError(stays.into())),
        })
    }
}

fn unique_name_is_in_the_way(error: &sqlx::Error) -> bool {
    let message = error.as_database_error().map(sqlx::error::DatabaseError::message);
    message.is_some_and(|message| message.ends_with("UNIQUE constraint failed: mcp_tool.name"))
}

/// Makes the file, if there is none, for its owner alone: it holds the keys that seal and hash. Where that fails, opening it
/// tells why.
fn keep_private(file: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(file));
}

#[async_trait]
impl DefinitionStore for SqliteStore {
    async fn revision(&self) -> Result<Revision, StoreError> {
        self.place.check()?;
        sqlx::query_scalar(rows::REVISION).fetch_one(&self.pools.readers).await.map_err(self.failed())
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.place.check()?;
        rows::count(&self.pools.readers).await.map_err(self.failed())
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.place.check()?;
        rows::changes_since(&self.pools.readers, since).await.map_err(self.failed())
    }

    async fn find(&self, tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        self.place.check()?;
        rows::find(&self.pools.readers, tenant, name).await.map_err(self.failed())
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError> {
        self.place.check()?;
        self.write_once(changes, author).await.map_err(|failure| failure.of(&self.place))
    }

    async fn reconcile(&self) -> Result<u64, StoreError> {
        self.place.check()?;
        reconcile::reconcile(&self.pools.readers, &self.pools.writer).await.map_err(self.failed())
    }
}

#[async_trait]
impl HistoryStore for SqliteStore {
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        self.place.check()?;
        history::read(&self.pools.readers, query).await.map_err(self.failed())
    }

    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError> {
        self.place.check()?;
        let state = history::state_at(&self.pools.readers, revision).await.map_err(self.failed())?;
        state.map_err(|oldest| StoreError::Forgotten { asked: revision, oldest })
    }

    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError> {
        self.place.check()?;
        history::forget(&self.pools.readers, &self.pools.writer, retention).await.map_err(self.failed())
    }
}

#[async_trait]
impl AuditStore for SqliteStore {
    async fn audit(&self, after: i64, most: u32) -> Result<Vec<AuditEntry>, StoreError> {
        self.place.check()?;
        audit::read(&self.pools.readers, after, most).await.map_err(self.failed())
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.place.check()?;
        audit::head(&self.pools.readers).await.map_err(self.failed())
    }
}

#[async_trait]
impl UseStore for SqliteStore {
    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        self.place.check()?;
        uses::record(&self.pools.writer, uses).await.map_err(self.failed())
    }

    async fn learnt_number(&self) -> Result<i64, StoreError> {
        self.place.check()?;
        uses::number(&self.pools.readers).await.map_err(self.failed())
    }

    async fn usage_after(&self, number: i64) -> Result<Vec<Usage>, StoreError> {
        self.place.check()?;
        uses::after(&self.pools.readers, number).await.map_err(self.failed())
    }

    async fn record_queries(&self, learnt: &[LearntQuery]) -> Result<(), StoreError> {
        self.place.check()?;
        queries::record(&self.pools.writer, learnt).await.map_err(self.failed())
    }

    async fn queries_after(&self, number: i64) -> Result<QueryPage, StoreError> {
        self.place.check()?;
        queries::after(&self.pools.readers, number).await.map_err(self.failed())
    }

    async fn forget_queries(&self, what: &Forget) -> Result<u64, StoreError> {
        self.place.check()?;
        queries::forget(&self.pools.writer, what).await.map_err(self.failed())
    }
}

#[async_trait]
impl ReplicaStore for SqliteStore {
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.place.check()?;
        let key = keys::shared(&self.pools.readers, &self.pools.writer, name).await;
        key.map_err(|error| self.place.failed(error))
    }

    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        self.place.check()?;
        let left = mail::leave(&self.pools.writer, topic, body).await.map_err(self.failed())?;
        left.told(self.describe(), topic)
    }

    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.place.check()?;
        mail::collect(&self.pools.readers, &self.pools.writer, topic).await.map_err(self.failed())
    }

    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        self.place.check()?;
        check_news(bodies, || self.describe())?;
        news::announce(&self.pools.writer, kind, bodies).await.map_err(self.failed())
    }

    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        self.place.check()?;
        news::after(&self.pools.readers, number).await.map_err(self.failed())
    }
}

#[async_trait]
impl RecordStore for SqliteStore {
    async fn record_number(&self) -> Result<i64, StoreError> {
        self.place.check()?;
        records::number(&self.pools.readers).await.map_err(self.failed())
    }

    async fn records_after(&self, number: i64, kinds: &[&str]) -> Result<Vec<Record>, StoreError> {
        self.place.check()?;
        records::after(&self.pools.readers, number, kinds).await.map_err(self.failed())
    }

    async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        self.place.check()?;
        records::one(&self.pools.readers, kind, id).await.map_err(self.failed())
    }

    async fn write_record(&self, write: &RecordWrite) -> Result<RecordWritten, StoreError> {
        self.place.check()?;
        records::write(&self.pools.writer, write).await.map_err(self.failed())
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn describe(&self) -> String {
        self.place.describe()
    }

    async fn close(&self) {
        self.pools.readers.close().await;
        self.pools.writer.close().await;
    }
}
