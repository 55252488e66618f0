//! Connections: few, each with our own settings, whatever those of the server are. No use of one takes for ever, and one
//! whose use was broken off is closed instead of being used again.

use std::ops::{Deref, DerefMut};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlConnection, MySqlPool};
use sqlx::pool::PoolConnection;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Transaction};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use url::Url;

use super::failure::{Failure, is_full, number, number_of};
use crate::acquire::{acquire, quiet};
use crate::limits::WRITING;

const CONNECTIONS: u32 = 8;
/// How many of them may be changing definitions.
const WRITERS: usize = 3;
/// How long to wait to be one of those: less than those wait for a lock.
const IN_LINE: Duration = Duration::from_secs(7);
const BUSY: &str = "other writes of this gateway have been under way there for 7 seconds; try again later, and if it lasts, \
    look for a transaction that does not end with SELECT * FROM information_schema.innodb_trx";
const IDLE: Duration = Duration::from_secs(30);
/// How long to try while the server takes no more connections.
const FULL: Duration = Duration::from_secs(3);

// Strict, so that nothing is cut off silently. The server gives up on a gateway that vanished without a word after
// `wait_timeout`, and with it the locks that it held.
const SETTINGS: &str = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', \
    time_zone = '+00:00', innodb_lock_wait_timeout = 4, lock_wait_timeout = 8, wait_timeout = 60, autocommit = 1";
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";

// MariaDB has the first (in seconds), MySQL the second (in milliseconds).
const TIME_LIMITS: [&str; 2] =
    ["SET SESSION max_statement_time = 10", "SET SESSION max_execution_time = 10000"];

/// How to reach the server.
pub(super) fn options(url: &Url) -> Result<MySqlConnectOptions, Failure> {
    // The driver knows the one scheme only.
    let text = url.as_str();
    let text = text.split_once(':').map_or_else(|| text.to_owned(), |(_, rest)| format!("mysql:{rest}"));
    // The modes are ours, see above.
    Ok(MySqlConnectOptions::from_str(&text)?.pipes_as_concat(false).no_engine_substitution(false))
}

/// A connection of its own, with our settings but no limit to what a statement takes: for migrations.
pub(super) async fn connect(options: &MySqlConnectOptions) -> Result<MySqlConnection, sqlx::Error> {
    let mut connection = options.connect().await?;
    connection.execute(SETTINGS).await?;
    connection.execute(ISOLATION).await?;
    Ok(connection)
}

/// A transaction, rolled back if it is dropped.
pub(super) type Begun<'a> = Transaction<'a, MySql>;

/// The connections of one store.
pub(super) struct Connections {
    pool: MySqlPool,
    writing: Arc<Semaphore>,
}

impl Connections {
    pub(super) fn new(options: MySqlConnectOptions) -> Self {
        let pool = quiet()
            .max_connections(CONNECTIONS)
            .acquire_timeout(WRITING)
            .idle_timeout(IDLE)
            .after_connect(|connection, _| Box::pin(settle(connection)));
        Self { pool: pool.connect_lazy_with(options), writing: Arc::new(Semaphore::new(WRITERS)) }
    }

    /// A connection, for work that must call `give_back` at its end. When the server takes no more of them, one of those
    /// that are in use may become free soon.
    pub(super) async fn lease(&self) -> Result<Lease, Failure> {
        let patience = Instant::now() + FULL;
        loop {
            match acquire(&self.pool).await {
                Err(error) if is_full(&error) && Instant::now() < patience => {
                    tokio::time::sleep(FULL / 20).await;
                }
                acquired => return Ok(Lease { connection: acquired?, whole: false, turn: None }),
            }
        }
    }

    /// One to change definitions with: those who do may all wait for one lock, and leave the other connections to others.
    pub(super) async fn lease_to_write(&self) -> Result<Lease, Failure> {
        let turn = tokio::time::timeout(IN_LINE, Arc::clone(&self.writing).acquire_owned()).await;
        let turn = turn.map_err(|_| Failure::Told(BUSY.into()))?.ok();
        let mut lease = self.lease().await?;
        lease.turn = turn;
        Ok(lease)
    }

    /// Everything that a store needs to be opened again.
    pub(super) fn options(&self) -> Arc<MySqlConnectOptions> {
        self.pool.connect_options()
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

async fn settle(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute(SETTINGS).await?;
    connection.execute(ISOLATION).await?;
    for limit in TIME_LIMITS {
        match connection.execute(limit).await {
            Err(error) if number_of(&error) != Some(number::UNKNOWN_SYSTEM_VARIABLE) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Begins to read: everything as it stands now, whatever others write meanwhile.
pub(super) async fn begin_reading(connection: &mut MySqlConnection) -> Result<Begun<'_>, sqlx::Error> {
    connection.begin_with("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await
}

// A gateway that is frozen in the middle of a write holds up others for less than they wait: the server gives up on it.
const BEGIN_WRITING: &str = "SET SESSION wait_timeout = 5; SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Begins to write: every statement sees what others have committed.
pub(super) async fn begin_writing(connection: &mut MySqlConnection) -> Result<Begun<'_>, sqlx::Error> {
    sqlx::raw_sql(BEGIN_WRITING).execute(&mut *connection).await?;
    connection.begin().await
}

/// Does something within a time limit.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(Failure::Late(limit.as_secs())))
}

/// A connection in use. If it is dropped before it was given back, it may be in the middle of anything, and is closed.
pub(super) struct Lease {
    connection: PoolConnection<MySql>,
    whole: bool,
    turn: Option<OwnedSemaphorePermit>,
}

impl Lease {
    /// The work is done, and the connection is as it was.
    pub(super) fn give_back(mut self) {
        self.whole = true;
        self.turn = None;
    }
}

impl Deref for Lease {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.connection
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.whole {
            self.connection.close_on_drop();
        }
    }
}
