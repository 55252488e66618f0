//! Real databases for tests: a fresh one on the servers that `cargo xtask test` runs, or a server of one's own, to be
//! killed and paused. Plain SQL goes in by a connection that knows nothing of Toolrail, as another program's would.

mod connection;
mod install;
mod mariadb;
mod postgres;
mod processes;
mod server;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

pub use connection::Connection;
pub use server::{Durability, Server, ServerOptions};

/// How long cleaning up may take.
const DROP_WITHIN: Duration = Duration::from_secs(10);

/// Which kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// A file of SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL, here as MariaDB.
    Mysql,
}

impl DatabaseKind {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::Mysql];

    /// The variable that has the URL of the server shared by all tests, where there is a server.
    pub const fn variable(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("TOOLRAIL_TEST_POSTGRES"),
            Self::Mysql => Some("TOOLRAIL_TEST_MYSQL"),
        }
    }
}

impl fmt::Display for DatabaseKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MariaDB",
        })
    }
}

/// An empty database of one test; gone when dropped, whoever is still connected.
#[derive(Debug)]
pub struct Database {
    kind: DatabaseKind,
    url: String,
    place: Place,
}

/// What must go with a database.
#[derive(Debug)]
enum Place {
    /// A folder of its own.
    Folder { _folder: TempDir },
    /// A database of that name on a server with that URL.
    OnServer { server: String, name: String },
}

impl Database {
    /// An empty database, on the shared server if the kind has servers.
    pub async fn fresh(kind: DatabaseKind) -> Result<Self> {
        let Some(variable) = kind.variable() else {
            let folder = tempfile::tempdir()?;
            let url = format!("sqlite:{}", folder.path().join("toolrail.db").display());
            return Ok(Self { kind, url, place: Place::Folder { _folder: folder } });
        };
        let server = std::env::var(variable).with_context(|| {
            format!("{variable} has no URL of a {kind} server; run the tests with `cargo xtask test`")
        })?;
        Self::on_server(kind, &server).await
    }

    /// An empty database on the server with that URL.
    pub(crate) async fn on_server(kind: DatabaseKind, server: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Tests run in many processes at once.
        let name = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut connection = Connection::open(kind, server).await?;
        let encoding = if kind == DatabaseKind::Mysql { " CHARACTER SET utf8mb4" } else { "" };
        connection.execute(&format!("CREATE DATABASE {name}{encoding}")).await?;
        let (before, _) = server.rsplit_once('/').context("the URL of a server names a database")?;
        let url = format!("{before}/{name}");
        Ok(Self { kind, url, place: Place::OnServer { server: server.to_owned(), name } })
    }

    /// Which kind it is.
    pub fn kind(&self) -> DatabaseKind {
        self.kind
    }

    /// The URL, as `--store` takes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A connection of another program.
    pub async fn connect(&self) -> Result<Connection> {
        Connection::open(self.kind, &self.url).await
    }

    /// Runs statements on a connection of their own, and returns how many rows they changed.
    pub async fn execute(&self, statements: &str) -> Result<u64> {
        self.connect().await?.execute(statements).await
    }

    /// The first column of every row that a query gives, as text. Numbers are to be cast by the query.
    pub async fn texts(&self, query: &str) -> Result<Vec<Option<String>>> {
        self.connect().await?.texts(query).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Place::OnServer { server, name } = &self.place else { return };
        let (kind, server, name) = (self.kind, server.clone(), name.clone());
        // A test's own runtime may be about to end. A server that was killed takes its databases along.
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let dropping = async {
                let mut connection = Connection::open(kind, &server).await?;
                connection.execute(&removal(kind, &name)).await
            };
            runtime.block_on(async { tokio::time::timeout(DROP_WITHIN, dropping).await? })
        });
        drop(cleaning.join());
    }
}

fn removal(kind: DatabaseKind, name: &str) -> String {
    match kind {
        DatabaseKind::Postgres => format!("DROP DATABASE {name} WITH (FORCE)"),
        DatabaseKind::Mysql | DatabaseKind::Sqlite => {
            format!("SET SESSION lock_wait_timeout = 5; DROP DATABASE {name}")
        }
    }
}
