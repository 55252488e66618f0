//! The database servers that all tests share: installed where missing, private to one run, gone with it.

use std::env;

use anyhow::{Context, Result};
use toolrail_testkit::{DatabaseKind, Durability, Server, ServerOptions};

use crate::packages;

/// Every test that runs at the same time may have a dozen.
const MOST_CONNECTIONS: u32 = 400;

/// Running servers; stopped and removed when dropped.
pub(crate) struct Databases {
    servers: Vec<Server>,
    environment: Vec<(&'static str, String)>,
}

impl Databases {
    /// The variables that tell tests where the servers are.
    pub(crate) fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// Starts a server of each kind, except where a variable already names one.
    pub(crate) async fn start() -> Result<Self> {
        let mut databases = Self { servers: Vec::new(), environment: Vec::new() };
        for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql] {
            let Some(variable) = kind.variable().filter(|variable| env::var_os(variable).is_none()) else {
                continue;
            };
            let options =
                ServerOptions { kind, durability: Durability::Fast, max_connections: MOST_CONNECTIONS };
            let server =
                options.start().await.with_context(|| format!("cannot start {kind} for the tests"))?;
            databases.environment.push((variable, server.url()));
            databases.servers.push(server);
        }
        Ok(databases)
    }
}

/// Installs the servers' programs where they are missing. The tests about failing servers need them in any case.
pub(crate) fn install() -> Result<()> {
    let missing: Vec<&str> = [DatabaseKind::Postgres, DatabaseKind::Mysql]
        .into_iter()
        .filter(|kind| !Server::is_installed(*kind))
        .flat_map(packages_of)
        .copied()
        .collect();
    packages::install(&missing, "the database tests")
}

fn packages_of(kind: DatabaseKind) -> &'static [&'static str] {
    match kind {
        DatabaseKind::Sqlite => &[],
        DatabaseKind::Postgres => &["postgresql"],
        // Only the programs: the package `mariadb-server` is a system service around them.
        DatabaseKind::Mysql => &["mariadb-server-core", "mariadb-client-core"],
    }
}
