//! Connections: to a file in WAL mode, migrated first, or to nothing but memory.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};
use tokio::time::Instant;
use toolrail_core::StoreError;

use super::failure::is_busy;
use super::place::Place;
use super::schema::{self, MigrateError};

/// How long a writer waits while another process holds the lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a call waits for its turn among the callers of this process; each may wait out `BUSY_TIMEOUT`.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

const READERS: u32 = 2;

/// How a store is connected to.
#[derive(Debug)]
pub(super) struct Pools {
    pub(super) options: SqliteConnectOptions,
    pub(super) writer: SqlitePool,
    pub(super) readers: SqlitePool,
}

/// Opens a file, creating and migrating it as needed.
pub(super) async fn file(file: &Path, place: &Place) -> Result<Pools, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .busy_timeout(BUSY_TIMEOUT)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // In KiB where negative: what is read is compiled and kept elsewhere, so a large cache would keep it twice.
        .pragma("cache_size", "-256")
        .disable_statement_logging();
    let first = prepare(place, &options).await?;
    let writer = renewing(pool(1)).connect_lazy_with(options.clone());
    let readers =
        renewing(pool(READERS)).connect_with(options.clone()).await.map_err(|error| place.failed(error))?;
    // Closed only now: closing the last connection folds the log into the file, which the next would start anew.
    first.close().await.map_err(|error| place.failed(error))?;
    Ok(Pools { options, writer, readers })
}

/// One connection for all: what it holds is gone when it is closed.
pub(super) async fn memory(place: &Place) -> Result<Pools, StoreError> {
    let options = SqliteConnectOptions::new().in_memory(true).disable_statement_logging();
    let pool = pool(1).connect_with(options.clone()).await.map_err(|error| place.failed(error))?;
    let mut connection = pool.acquire().await.map_err(|error| place.failed(error))?;
    schema::migrate(&mut connection).await.map_err(|error| place.failed(error))?;
    drop(connection);
    Ok(Pools { options, writer: pool.clone(), readers: pool })
}

/// Puts the file into WAL mode and migrates it. Neither switching nor the first reads of a file that another process
/// is creating wait for the lock by themselves, so this tries again until the time is up.
async fn prepare(place: &Place, options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let options = options.clone().journal_mode(SqliteJournalMode::Wal).foreign_keys(false);
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let error = match connect_and_migrate(&options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        match error {
            MigrateError::Sql(error) if is_busy(&error) && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            MigrateError::TooNew { found, known } => {
                return Err(StoreError::TooNew { store: place.describe(), found, known });
            }
            MigrateError::Sql(error) => return Err(place.failed(error)),
            error @ (MigrateError::Table(_) | MigrateError::Unique(_)) => return Err(place.failed(error)),
        }
    }
}

async fn connect_and_migrate(options: &SqliteConnectOptions) -> Result<SqliteConnection, MigrateError> {
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

/// With a connection replaced whose transaction has ended otherwise than its driver believes: SQLite itself takes back what
/// a full disk or a failed write broke off, and the driver would refuse every transaction from then on.
fn renewing(options: SqlitePoolOptions) -> SqlitePoolOptions {
    options.before_acquire(|connection, _| {
        Box::pin(async move { Ok::<_, sqlx::Error>(!connection.is_in_transaction()) })
    })
}
