//! From a change to the last of three replicas: refusing a tool that was switched off, listing one that is new.

use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use toolrail_testkit::{Connection as Sql, DatabaseKind};

use super::super::super::report::{Cell, Column, Section, number, text};
use super::super::super::requests::{Dialect, call_tool, list_tools};
use super::super::super::upstream::MARKER;
use super::{Replica, Scene, Site, fill, milliseconds, percentile, switch, until};

const SWITCHED: &str = "bench.switched";
const NEW: &str = "bench.new";

/// PostgreSQL tells of changes; the others are asked.
const SETTINGS: [(DatabaseKind, u32); 5] = [
    (DatabaseKind::Postgres, 1000),
    (DatabaseKind::Mysql, 1000),
    (DatabaseKind::Mysql, 250),
    (DatabaseKind::Sqlite, 1000),
    (DatabaseKind::Sqlite, 250),
];

const COLUMNS: &[Column] = &[
    text("store"),
    number("poll ms", 0),
    number("changes", 0),
    number("refused p50 ms", 1),
    number("refused p99 ms", 1),
    number("listed p50 ms", 1),
    number("listed p99 ms", 1),
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    let mut rows = Vec::new();
    for (kind, poll_ms) in SETTINGS {
        eprintln!("store: changes on their way to three replicas, {kind} asked every {poll_ms} ms");
        let (refused, listed) = measure(scene, kind, poll_ms).await?;
        rows.push(vec![
            Cell::from(kind.to_string().as_str()),
            Cell::from(u64::from(poll_ms)),
            Cell::from(refused.len() + listed.len()),
            Cell::from(percentile(&refused, 50)),
            Cell::from(percentile(&refused, 99)),
            Cell::from(percentile(&listed, 50)),
            Cell::from(percentile(&listed, 99)),
        ]);
    }
    let title = "From sending a change (its commit included) to the last of three replicas".to_owned();
    Ok(Section { title, columns: COLUMNS, rows })
}

async fn measure(scene: &Scene<'_>, kind: DatabaseKind, poll_ms: u32) -> Result<(Vec<f64>, Vec<f64>)> {
    let site = Site::open(kind).await?;
    let replicas = site.replicas(scene, poll_ms).await?;
    let mut program = site.program().await?;
    fill(&mut program, &[SWITCHED.to_owned()], scene.upstream).await?;
    everywhere(&replicas, Look::Serves).await?;
    let (mut refused, mut listed) = (Vec::new(), Vec::new());
    for round in 0..scene.bench.effort.changes.div_ceil(2) {
        out_of_step(round, poll_ms).await;
        refused.push(time(&mut program, &switch(SWITCHED, "FALSE"), &replicas, Look::Refuses).await?);
        program.execute(&switch(SWITCHED, "TRUE")).await?;
        everywhere(&replicas, Look::Serves).await?;

        out_of_step(round, poll_ms).await;
        let insert = format!(
            "INSERT INTO mcp_tool (name, enabled, config_json) VALUES {}",
            super::row(NEW, scene.upstream)
        );
        listed.push(time(&mut program, &insert, &replicas, Look::Lists).await?);
        program.execute(&format!("DELETE FROM mcp_tool WHERE name = '{NEW}'")).await?;
        everywhere(&replicas, Look::ListsNot).await?;
    }
    Ok((refused, listed))
}

/// What to see at a replica.
#[derive(Clone, Copy)]
enum Look {
    Serves,
    Refuses,
    Lists,
    ListsNot,
}

impl Look {
    fn request(self, replica: &Replica) -> Bytes {
        match self {
            Self::Serves | Self::Refuses => call_tool(replica.address(), Dialect::Modern, SWITCHED),
            Self::Lists | Self::ListsNot => list_tools(replica.address(), Dialect::Modern, None),
        }
    }

    fn is_seen(self, answer: &[u8]) -> bool {
        let has = |wanted: &str| String::from_utf8_lossy(answer).contains(wanted);
        match self {
            Self::Serves => has(MARKER),
            Self::Refuses => !has(MARKER),
            Self::Lists => has(NEW),
            Self::ListsNot => !has(NEW),
        }
    }
}

/// Milliseconds from sending a statement until it is seen at every replica.
async fn time(program: &mut Sql, statement: &str, replicas: &[Replica], look: Look) -> Result<f64> {
    let started = Instant::now();
    let (written, seen) = tokio::join!(program.execute(statement), everywhere(replicas, look));
    written?;
    Ok(milliseconds(seen? - started))
}

/// When the last replica showed it.
async fn everywhere(replicas: &[Replica], look: Look) -> Result<Instant> {
    let mut latest = Instant::now();
    let looks = replicas.iter().map(async |replica| {
        until(replica.address(), &look.request(replica), |answer| look.is_seen(answer)).await
    });
    for seen in futures_util::future::join_all(looks).await {
        latest = latest.max(seen?);
    }
    Ok(latest)
}

/// A change made right after another was seen would always come early in the interval: waits for a part of it.
async fn out_of_step(round: usize, poll_ms: u32) {
    // Multiples of the golden ratio cover an interval evenly, in whatever number.
    let part = (f64::from(u32::try_from(round).unwrap_or(0)) * 0.618_034).fract();
    tokio::time::sleep(Duration::from_millis(u64::from(poll_ms)).mul_f64(part)).await;
}
