//! How the server is reached: options from the URL, a small pool whose every wait is bounded, and a database that is
//! created if there is none.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, Postgres};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::failure::{Failure, code, told};
use crate::acquire::{acquire, quiet};

/// For writes of definitions, which may all wait for one lock. With these and one that listens there are eight.
const FOR_WRITES: u32 = 4;
const FOR_THE_REST: u32 = 3;

/// How long a call waits for a connection. The rest of a read's or write's time is for the work.
const ACQUIRE: Duration = Duration::from_millis(4500);

/// How long one connection may take to be made while the store is opened.
const CONNECT: Duration = Duration::from_secs(10);

// Below the limits of the driver, so that the server gives up first and says why. What is acknowledged is durable. A gateway
// that is frozen in the middle of a write holds up others for less than they wait.
const SETTINGS: &str = "SET client_min_messages = warning; SET statement_timeout = '9s'; SET lock_timeout = '8s'; \
    SET idle_in_transaction_session_timeout = '5s'; SET TIME ZONE 'UTC'; SET jit = off; \
    SELECT set_config('synchronous_commit', 'on', FALSE) WHERE current_setting('synchronous_commit') = 'off'";

/// What may stand behind the `?` of the URL. Others are refused: the driver would log them with their values.
const PARAMETERS: &[&str] = &[
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// What to say of a URL with a parameter that is not known.
pub(crate) fn wrong_parameter(url: &Url) -> Option<String> {
    let known = |key: &str| PARAMETERS.contains(&key) || (key.starts_with("options[") && key.ends_with(']'));
    let (key, _) = url.query_pairs().find(|(key, _)| !known(key))?;
    Some(format!("its URL has an unknown parameter {key:?}; known are {}", PARAMETERS.join(", ")))
}

/// Reads the URL. Our name is there for whoever looks at the server's sessions, unless the URL has another.
pub(super) fn options(url: &Url) -> Result<PgConnectOptions, Failure> {
    if let Some(failure) = wrong_parameter(url) {
        return Err(Failure::told(failure));
    }
    let options = PgConnectOptions::from_url(url)?.disable_statement_logging();
    let named = url.query_pairs().any(|(key, _)| key == "application_name");
    Ok(if named { options } else { options.application_name("toolrail") })
}

/// The first connection. If the database is missing it is created.
pub(super) async fn first(options: &PgConnectOptions) -> Result<PgConnection, Failure> {
    let deadline = Instant::now() + CONNECT;
    loop {
        let error = match connect(options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        match error.code().as_deref() {
            _ if Instant::now() > deadline => return Err(error),
            Some("3D000") => create(options).await?,
            // Too many connections, or the server is starting.
            Some("53300" | "57P03") => {}
            _ => return Err(error),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, Failure> {
    let connecting = async {
        let mut connection = options.connect().await?;
        sqlx::raw_sql(SETTINGS).execute(&mut connection).await?;
        Ok(connection)
    };
    timeout(CONNECT, connecting).await.unwrap_or_else(|_| Err(Failure::slow(CONNECT)))
}

async fn create(options: &PgConnectOptions) -> Result<(), Failure> {
    let name = options.get_database().unwrap_or(options.get_username());
    let statement = format!("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0", quoted(name));
    let missing = |why: String| {
        let (name, user) = (quoted(name), quoted(options.get_username()));
        Failure::told(format!(
            "there is no database {name}, and it cannot be created: {why}; run: CREATE DATABASE {name} OWNER {user}"
        ))
    };
    let mut connection =
        connect(&options.clone().database("postgres")).await.map_err(|error| missing(error.to_string()))?;
    let creating = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection);
    let created = timeout(CONNECT, creating).await.map_err(|_| Failure::slow(CONNECT))?;
    timeout(CONNECT, connection.close()).await.ok();
    match created {
        Ok(_) => Ok(()),
        // Another process was quicker, or is at it.
        Err(error) if matches!(code(&error).as_deref(), Some("42P04" | "23505" | "55006")) => Ok(()),
        Err(error) => Err(missing(told(&error))),
    }
}

/// A migrated database, and where its tables are.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) options: PgConnectOptions,
    pub(super) schema: String,
}

impl Server {
    /// The pool for writes of definitions.
    pub(super) fn pool_for_writes(&self) -> PgPool {
        self.pool(FOR_WRITES)
    }

    /// The pool for everything else but listening: what a lock on the definitions does not concern.
    pub(super) fn pool_for_the_rest(&self) -> PgPool {
        self.pool(FOR_THE_REST)
    }

    fn pool(&self, connections: u32) -> PgPool {
        self.pool_of(connections)
            .idle_timeout(Duration::from_mins(5))
            .max_lifetime(Duration::from_mins(30))
            .connect_lazy_with(self.options.clone())
    }

    /// One connection to listen on.
    pub(super) fn pool_of_one(&self) -> PgPool {
        self.pool_of(1).idle_timeout(None).max_lifetime(None).connect_lazy_with(self.options.clone())
    }

    fn pool_of(&self, connections: u32) -> PgPoolOptions {
        let settings = format!("{SETTINGS}; SET search_path TO {}", quoted(&self.schema));
        quiet().max_connections(connections).acquire_timeout(ACQUIRE).after_connect(move |connection, _| {
            let settings = settings.clone();
            Box::pin(async move {
                sqlx::raw_sql(AssertSqlSafe(settings)).execute(connection).await?;
                Ok(())
            })
        })
    }
}

/// A name as SQL has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A connection of the pool. Unless it is given back it is cut: after a failure or when its work was dropped nobody knows
/// what the server will still say on it, and asking may take for ever.
pub(super) struct Lease(Option<PoolConnection<Postgres>>);

impl Lease {
    pub(super) async fn take(pool: &PgPool) -> Result<Self, sqlx::Error> {
        Ok(Self(Some(acquire(pool).await?)))
    }

    pub(super) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.0.as_deref_mut().ok_or(sqlx::Error::PoolClosed)
    }

    pub(super) fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
    }
}
