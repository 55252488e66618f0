//! The embedded store: one SQLite file in the data folder, in WAL mode, which other programs may read and write too.

mod adopt;
mod keys;
mod mail;
mod news;
mod schema;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row as _};
use tokio::time::Instant;
use toolrail_core::{
    Action, AuditEntry, AuditHead, Author, Change, Changes, HistoryQuery, MailLimits, News, NewsKind,
    Retention, Revision, Row, Store, StoreError, ToolKey, ToolName, Usage, Uses, Version,
};

const FILE: &str = "toolrail.db";

/// How long a writer waits while another process holds the lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a call waits for its turn among the callers of this process; each may wait out `BUSY_TIMEOUT`.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

const READERS: u32 = 2;

const REVISION: &str = "SELECT version FROM mcp_config_version WHERE id = 1";

// Any program may have written the row, so nothing is taken for granted: text may be a blob or not UTF-8, a boolean
// may be the word. `row_of` reads the columns in this order.
macro_rules! select_rows {
    ($condition:literal) => {
        concat!(
            "SELECT CAST(name AS BLOB), ",
            "CASE typeof(enabled) WHEN 'text' THEN lower(enabled) IN ('true', 't', 'yes', 'y', 'on') ",
            "ELSE coalesce(enabled, 0) <> 0 END, ",
            "CAST(config_json AS BLOB), CAST(version AS INTEGER), CAST(updated_at AS BLOB), CAST(updated_by AS BLOB) ",
            "FROM mcp_tool ",
            $condition
        )
    };
}

const ALL_ROWS: &str = select_rows!("ORDER BY rowid");
const CHANGED_ROWS: &str = select_rows!("WHERE version > ? ORDER BY rowid");
const ONE_ROW: &str = select_rows!("WHERE lower(name) = ?");

const REMOVED: &str = "SELECT CAST(name_key AS BLOB) FROM mcp_tool_tombstone \
    WHERE version > ? AND NOT EXISTS (SELECT 1 FROM mcp_tool WHERE lower(mcp_tool.name) = name_key)";

/// A store that ends with the process.
pub(crate) async fn open_in_memory() -> Result<std::sync::Arc<dyn Store>, StoreError> {
    Err(unavailable(Path::new("memory"), std::io::Error::other("not built yet")))
}

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    /// Which file it was when it was opened.
    identity: Option<(u64, u64)>,
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteStore {
    pub(crate) async fn open(folder: &Path) -> Result<Self, StoreError> {
        let file = folder.join(FILE);
        std::fs::create_dir_all(folder).map_err(|error| unavailable(&file, error))?;
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .create_if_missing(true)
            .busy_timeout(BUSY_TIMEOUT)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            // In KiB where negative: what is read is compiled and kept elsewhere, so a large cache would keep it twice.
            .pragma("cache_size", "-256")
            .disable_statement_logging();
        let first = prepare(&file, &options).await?;
        let writer = pool(1).connect_lazy_with(options.clone());
        let readers = pool(READERS).connect_with(options).await.map_err(|error| unavailable(&file, error))?;
        // Closed only now: closing the last connection folds the log into the file, which the next would start anew.
        first.close().await.map_err(|error| unavailable(&file, error))?;
        let identity = identity(&file);
        Ok(Self { file, identity, writer, readers })
    }

    /// The database file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A file that was removed or replaced under an open connection still takes writes, which nobody would find again.
    fn check_file(&self) -> Result<(), StoreError> {
        if identity(&self.file) == self.identity {
            return Ok(());
        }
        let reason = std::io::Error::other(
            "the file was removed or replaced while it was in use; put it back or restart",
        );
        Err(unavailable(&self.file, reason))
    }

    fn not_yet(&self) -> StoreError {
        unavailable(&self.file, std::io::Error::other("not built yet"))
    }

    fn failed(&self) -> impl Fn(sqlx::Error) -> StoreError + '_ {
        |error| unavailable(&self.file, error)
    }

    async fn read_changes(&self, since: Revision) -> Result<Changes, sqlx::Error> {
        // One transaction is one state of the database: the rows are those of the revision.
        let mut transaction = self.readers.begin().await?;
        let mut changes = Changes {
            revision: sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?,
            ..Changes::default()
        };
        let query = if since == 0 { sqlx::query(ALL_ROWS) } else { sqlx::query(CHANGED_ROWS).bind(since) };
        let mut rows = query.fetch(&mut *transaction);
        while let Some(row) = rows.try_next().await? {
            changes.rows.push(row_of(&row)?);
        }
        drop(rows);
        if since != 0 {
            let removed = sqlx::query(REMOVED).bind(since).fetch_all(&mut *transaction).await?;
            changes.removed = removed
                .iter()
                .map(|row| Ok(ToolKey { tenant: None, name: text(row, 0)? }))
                .collect::<Result<_, sqlx::Error>>()?;
        }
        transaction.commit().await?;
        Ok(changes)
    }

    async fn write_all(&self, changes: &[Change], author: &Author) -> Result<Revision, sqlx::Error> {
        // Immediate: a transaction that reads before it locks can be refused instead of being made to wait.
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        for change in changes {
            apply(&mut transaction, change, &author.who).await?;
        }
        let revision = sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(revision)
    }

    async fn add_uses(&self, uses: &[Uses]) -> Result<(), sqlx::Error> {
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        for Uses { tool, calls } in uses {
            sqlx::query(
                "INSERT INTO mcp_tool_use (name_key, use_frequency, last_used) \
                 VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) \
                 ON CONFLICT (name_key) DO UPDATE \
                 SET use_frequency = use_frequency + excluded.use_frequency, last_used = excluded.last_used",
            )
            .bind(&tool.name)
            .bind(calls)
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn describe(&self) -> String {
        describe(&self.file)
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.check_file()?;
        sqlx::query_scalar(REVISION).fetch_one(&self.readers).await.map_err(self.failed())
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.read_changes(since).await.map_err(self.failed())
    }

    async fn find(&self, _tenant: Option<&str>, name: &str) -> Result<Option<Row>, StoreError> {
        let query = sqlx::query(ONE_ROW).bind(ToolName::fold(name));
        let row = query.fetch_optional(&self.readers).await.map_err(self.failed())?;
        row.as_ref().map(row_of).transpose().map_err(self.failed())
    }

    async fn count(&self) -> Result<u64, StoreError> {
        Err(self.not_yet())
    }

    async fn history(&self, _query: &HistoryQuery) -> Result<Vec<Version>, StoreError> {
        Err(self.not_yet())
    }

    async fn state_at(&self, _revision: Revision) -> Result<Vec<Version>, StoreError> {
        Err(self.not_yet())
    }

    async fn forget(&self, _retention: &Retention) -> Result<u64, StoreError> {
        Err(self.not_yet())
    }

    async fn audit(&self, _after: i64, _most: u32) -> Result<Vec<AuditEntry>, StoreError> {
        Err(self.not_yet())
    }

    async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        Err(self.not_yet())
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, StoreError> {
        self.check_file()?;
        self.write_all(changes, author).await.map_err(self.failed())
    }

    async fn record_uses(&self, uses: &[Uses]) -> Result<(), StoreError> {
        self.add_uses(uses).await.map_err(self.failed())
    }

    async fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        let rows =
            sqlx::query("SELECT name_key, use_frequency, last_used FROM mcp_tool_use ORDER BY name_key")
                .fetch_all(&self.readers)
                .await
                .map_err(self.failed())?;
        let usage = |row: &SqliteRow| {
            let tool = ToolKey { tenant: None, name: row.try_get(0)? };
            Ok(Usage { tool, count: row.try_get(1)?, last_used: row.try_get(2)? })
        };
        rows.iter().map(usage).collect::<Result<_, _>>().map_err(self.failed())
    }

    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.check_file()?;
        let key = keys::shared(&self.readers, &self.writer, name).await;
        key.map_err(|error| unavailable(&self.file, error))
    }

    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        self.check_file()?;
        match mail::leave(&self.writer, topic, body).await.map_err(self.failed())? {
            mail::Left::Taken => Ok(()),
            mail::Left::Refused(reason) => {
                Err(StoreError::Undelivered { store: self.describe(), topic: topic.to_owned(), reason })
            }
        }
    }

    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.check_file()?;
        mail::collect(&self.readers, &self.writer, topic).await.map_err(self.failed())
    }

    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        self.check_file()?;
        if bodies.iter().any(|body| body.len() > MailLimits::ALL.largest_news) {
            let (topic, reason) = ("everybody".to_owned(), "it is larger than 4 KiB");
            return Err(StoreError::Undelivered { store: self.describe(), topic, reason });
        }
        news::announce(&self.writer, kind, bodies).await.map_err(self.failed())
    }

    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        self.check_file()?;
        news::after(&self.readers, number).await.map_err(self.failed())
    }
}

#[cfg(unix)]
fn identity(file: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(file: &Path) -> Option<(u64, u64)> {
    file.exists().then_some((0, 0))
}

async fn apply(connection: &mut SqliteConnection, change: &Change, by: &str) -> Result<(), sqlx::Error> {
    let (name, key) = (&change.name, ToolName::fold(&change.name));
    match &change.action {
        Action::Put { enabled, config_json } => {
            let updated = sqlx::query(
                "UPDATE mcp_tool SET name = ?, enabled = ?, config_json = ? WHERE lower(name) = ?",
            )
            .bind(name)
            .bind(enabled)
            .bind(config_json)
            .bind(&key)
            .execute(&mut *connection)
            .await?;
            if updated.rows_affected() == 0 {
                sqlx::query("INSERT INTO mcp_tool (name, enabled, config_json) VALUES (?, ?, ?)")
                    .bind(name)
                    .bind(enabled)
                    .bind(config_json)
                    .execute(&mut *connection)
                    .await?;
            }
            sign(connection, &key, by).await
        }
        Action::SetEnabled(enabled) => {
            sqlx::query("UPDATE mcp_tool SET enabled = ? WHERE lower(name) = ?")
                .bind(enabled)
                .bind(&key)
                .execute(&mut *connection)
                .await?;
            sign(connection, &key, by).await
        }
        Action::Purge => {
            sqlx::query("DELETE FROM mcp_tool WHERE lower(name) = ?")
                .bind(&key)
                .execute(&mut *connection)
                .await?;
            sqlx::query("DELETE FROM mcp_tool_use WHERE name_key = ?").bind(&key).execute(connection).await?;
            Ok(())
        }
    }
}

// After the change, not with it: the trigger cannot tell a writer who signs with the same name from one who does not sign.
async fn sign(connection: &mut SqliteConnection, key: &str, by: &str) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE mcp_tool SET updated_by = ? WHERE lower(name) = ?")
        .bind(by)
        .bind(key)
        .execute(connection)
        .await?;
    Ok(())
}

/// Puts the file into WAL mode and migrates it. Neither switching nor the first reads of a file that another process
/// is creating wait for the lock by themselves, so this tries again until the time is up.
async fn prepare(file: &Path, options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let options = options.clone().journal_mode(SqliteJournalMode::Wal);
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let error = match connect_and_migrate(&options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        match error {
            schema::MigrateError::Sql(error) if is_busy(&error) && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            schema::MigrateError::Sql(error) => return Err(unavailable(file, error)),
            schema::MigrateError::Table(error) => return Err(unavailable(file, error)),
            schema::MigrateError::TooNew { found, known } => {
                return Err(StoreError::TooNew { store: describe(file), found, known });
            }
        }
    }
}

async fn connect_and_migrate(
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection, schema::MigrateError> {
    let mut connection = options.connect().await?;
    schema::migrate(&mut connection).await?;
    Ok(connection)
}

fn pool(connections: u32) -> SqlitePoolOptions {
    // A connection to a file does not go stale: no reason to test it before every use, or to renew it.
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(TURN_TIMEOUT)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
}

fn row_of(row: &SqliteRow) -> Result<Row, sqlx::Error> {
    let updated_by: Option<&[u8]> = row.try_get(5)?;
    Ok(Row {
        tenant: None,
        name: text(row, 0)?,
        enabled: row.try_get(1)?,
        config_json: text(row, 2)?,
        version: row.try_get(3)?,
        updated_at: text(row, 4)?,
        updated_by: updated_by.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
    })
}

fn text(row: &SqliteRow, column: usize) -> Result<String, sqlx::Error> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned())
}

fn is_busy(error: &sqlx::Error) -> bool {
    // The primary code is the low byte of the extended one (https://sqlite.org/rescode.html); 5 is SQLITE_BUSY.
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

fn describe(file: &Path) -> String {
    format!("sqlite {}", file.display())
}

fn unavailable(file: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unavailable { store: describe(file), source: error.into() }
}
