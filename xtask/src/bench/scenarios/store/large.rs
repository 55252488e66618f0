//! A store with very many definitions: how long they take to load, what memory they need, and how soon one change among
//! them is live.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use toolrail_testkit::{Connection as Sql, DatabaseKind};

use super::super::super::gateway::definition;
use super::super::super::load::Connection;
use super::super::super::report::{Cell, Column, Section, megabytes, number, text};
use super::super::super::requests::{Dialect, call_tool, post_json};
use super::super::super::upstream::MARKER;
use super::{Replica, Scene, Site, fill, milliseconds, names, percentile, switch, until};

const POLL_MS: u32 = 1000;
/// How often one change is timed.
const CHANGES: usize = 10;

const COLUMNS: &[Column] = &[
    text("store"),
    number("definitions", 0),
    number("load s", 2),
    number("RSS MB", 0),
    number("highest MB", 0),
    number("own write p50 ms", 1),
    number("slowest ms", 1),
    number("another's p50 ms", 1),
    number("RSS after MB", 0),
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    let mut rows = Vec::new();
    for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql, DatabaseKind::Sqlite] {
        rows.push(measure(scene, kind).await.with_context(|| kind.to_string())?);
    }
    let title =
        format!("Many definitions, one replica: from the start of the process, asked every {POLL_MS} ms");
    Ok(Section { title, columns: COLUMNS, rows })
}

async fn measure(scene: &Scene<'_>, kind: DatabaseKind) -> Result<Vec<Cell>> {
    let count = scene.bench.effort.definitions;
    let site = Site::open(kind).await?;
    // Makes the tables.
    let first = site.gateway(scene, POLL_MS).await?;
    first.gateway.process.kill().await?;
    eprintln!("store: writing {count} definitions into {kind}");
    let mut program = site.program().await?;
    let names = names(count);
    fill(&mut program, &names, scene.upstream).await?;
    eprintln!("store: loading them");
    let started = Instant::now();
    let replica = site.gateway(scene, POLL_MS).await?;
    let loaded = replica.serves(count).await? - started;
    let memory = replica.gateway.process.memory()?;
    let own = time_own_writes(scene, &replica, &names).await?;
    let others = time_others(&mut program, &replica, &names).await?;
    let after = replica.gateway.process.memory()?;
    Ok(vec![
        Cell::from(kind.to_string().as_str()),
        Cell::from(count),
        Cell::from(loaded.as_secs_f64()),
        Cell::from(megabytes(memory.resident)),
        Cell::from(megabytes(memory.highest)),
        Cell::from(percentile(&own, 50)),
        Cell::from(percentile(&own, 100)),
        Cell::from(percentile(&others, 50)),
        Cell::from(megabytes(after.resident)),
    ])
}

/// A registration on this replica, until its answer is there: then it is live.
async fn time_own_writes(scene: &Scene<'_>, replica: &Replica, names: &[String]) -> Result<Vec<f64>> {
    let mut connection = Connection::open(replica.address()).await?;
    let mut times = Vec::new();
    for name in names.iter().step_by((names.len() / CHANGES).max(1)).take(CHANGES) {
        let mut changed = definition(name, &format!("http://{}/small", scene.upstream));
        changed["description"] = format!("changed {}", times.len()).into();
        let request = post_json(replica.address(), "/admin/tools", &changed);
        let started = Instant::now();
        connection.ask(&request).await.context("cannot change a definition")?;
        times.push(milliseconds(started.elapsed()));
        let answer = connection.ask(&call_tool(replica.address(), Dialect::Modern, name)).await?;
        ensure!(String::from_utf8_lossy(answer).contains(MARKER), "{name} was changed, but is not live");
    }
    Ok(times)
}

/// A change by another program, until it holds here.
async fn time_others(program: &mut Sql, replica: &Replica, names: &[String]) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for name in names.iter().rev().step_by((names.len() / CHANGES).max(1)).take(CHANGES) {
        let request = call_tool(replica.address(), Dialect::Modern, name);
        let started = Instant::now();
        program.execute(&switch(name, "FALSE")).await?;
        let is_refused = |answer: &[u8]| !String::from_utf8_lossy(answer).contains(MARKER);
        let seen = until(replica.address(), &request, is_refused).await?;
        times.push(milliseconds(seen - started));
    }
    Ok(times)
}
