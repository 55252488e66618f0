//! Three replicas on one database: how soon a change holds on all of them, what many definitions cost, and what many changes
//! cost. Changes are made by plain SQL, as another program would, on servers that write through to the disk.

mod large;
mod propagation;
mod stream;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use toolrail_testkit::{Connection as Sql, Database, DatabaseKind, Server};

use super::super::gateway::{Gateway, definition};
use super::super::load::Connection;
use super::super::report::Section;
use super::super::requests::get;
use super::{Scene, data_folder};

const REPLICAS: usize = 3;
/// Between two looks at a replica: small against what is measured, and leaves the machine to the processes under test.
const LOOK: Duration = Duration::from_millis(1);
const DEADLINE: Duration = Duration::from_mins(2);
/// Rows in one statement.
const ROWS: usize = 500;

pub(super) async fn run(scene: &Scene<'_>) -> Result<Vec<Section>> {
    Ok(vec![
        propagation::run(scene).await.context("propagation")?,
        stream::run(scene).await.context("a stream of changes")?,
        large::run(scene).await.context("a large store")?,
    ])
}

/// A database and whatever it needs.
struct Site {
    kind: DatabaseKind,
    // The database goes first: it is removed through its server.
    database: Database,
    _server: Option<Server>,
}

impl Site {
    async fn open(kind: DatabaseKind) -> Result<Self> {
        let server = match kind {
            DatabaseKind::Sqlite => None,
            DatabaseKind::Postgres | DatabaseKind::Mysql => Some(Server::start(kind).await?),
        };
        let database = match &server {
            Some(server) => server.database().await?,
            None => Database::fresh(kind).await?,
        };
        Ok(Self { kind, database, _server: server })
    }

    /// A gateway on this database.
    async fn gateway(&self, scene: &Scene<'_>, poll_ms: u32) -> Result<Replica> {
        let data = data_folder()?;
        let more = ["--store", self.database.url(), "--poll-ms", &poll_ms.to_string()].map(str::to_owned);
        let gateway = Gateway::start_as(scene.toolrail, data.path(), &more).await?;
        Ok(Replica { gateway, _data: data })
    }

    async fn replicas(&self, scene: &Scene<'_>, poll_ms: u32) -> Result<Vec<Replica>> {
        let mut replicas = Vec::new();
        for _ in 0..REPLICAS {
            replicas.push(self.gateway(scene, poll_ms).await?);
        }
        Ok(replicas)
    }

    /// Another program's connection.
    async fn program(&self) -> Result<Sql> {
        let mut program = self.database.connect().await?;
        if self.kind == DatabaseKind::Sqlite {
            program.execute("PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL").await?;
        }
        Ok(program)
    }
}

struct Replica {
    gateway: Gateway,
    _data: TempDir,
}

impl Replica {
    fn address(&self) -> SocketAddr {
        self.gateway.address
    }

    /// Waits until that many tools are live.
    async fn serves(&self, tools: usize) -> Result<Instant> {
        let body = |answer: &[u8]| serde_json::from_slice::<Value>(answer).unwrap_or_default();
        let is_there = |answer: &[u8]| body(answer)["tools"] == tools && body(answer)["status"] == "ready";
        until(self.address(), &get(self.address(), "/readyz"), is_there).await
    }
}

/// Asks again and again until the answer fits, and returns when that was.
async fn until(address: SocketAddr, request: &Bytes, fits: impl Fn(&[u8]) -> bool) -> Result<Instant> {
    let mut connection = Connection::open(address).await?;
    let started = Instant::now();
    loop {
        let answer = connection.ask_anyway(request).await?;
        if fits(answer) {
            return Ok(Instant::now());
        }
        let shown = || String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
        ensure!(started.elapsed() < DEADLINE, "waited {DEADLINE:?} in vain; the last answer: {}", shown());
        tokio::time::sleep(LOOK).await;
    }
}

/// Rows as another program adds them.
async fn fill(program: &mut Sql, names: &[String], upstream: SocketAddr) -> Result<()> {
    for names in names.chunks(ROWS) {
        let rows: Vec<String> = names.iter().map(|name| row(name, upstream)).collect();
        let statement = "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ";
        program.execute(&format!("{statement}{}", rows.join(", "))).await?;
    }
    Ok(())
}

fn row(name: &str, upstream: SocketAddr) -> String {
    let document = definition(name, &format!("http://{upstream}/small")).to_string().replace('\'', "''");
    format!("('{name}', TRUE, '{document}')")
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("bench.row_{number:06}")).collect()
}

fn switch(name: &str, on: &str) -> String {
    format!("UPDATE mcp_tool SET enabled = {on} WHERE name = '{name}'")
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Of unsorted values: what that share of them does not exceed.
fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert!((percentile(&values, 50) - 50.0).abs() < 1e-9);
        assert!((percentile(&values, 99) - 99.0).abs() < 1e-9);
        assert!((percentile(&values[..10], 99) - 100.0).abs() < 1e-9);
        assert!(percentile(&[], 99).abs() < 1e-9);
    }
}
