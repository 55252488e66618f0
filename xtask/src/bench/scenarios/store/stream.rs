//! What a replica spends while many changes come one after the other.

use std::time::{Duration, Instant};

use anyhow::Result;
use toolrail_testkit::DatabaseKind;

use super::super::super::report::{Cell, Column, Section, number, text};
use super::super::super::requests::get;
use super::{Scene, Site, fill, milliseconds, names, switch, until};

/// Tools beside those that change.
const TOOLS: usize = 1_000;
const POLL_MS: u32 = 1000;

const COLUMNS: &[Column] = &[
    text("store"),
    number("tools", 0),
    number("changes", 0),
    number("seconds", 2),
    number("CPU ms of a replica", 0),
    number("CPU ms/change", 2),
    number("all seen after ms", 0),
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    let mut rows = Vec::new();
    for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql, DatabaseKind::Sqlite] {
        eprintln!("store: {} changes one after the other, {kind}", scene.bench.effort.stream);
        rows.push(measure(scene, kind).await?);
    }
    let title = format!("Changes one after the other by plain SQL, three replicas, asked every {POLL_MS} ms");
    Ok(Section { title, columns: COLUMNS, rows })
}

async fn measure(scene: &Scene<'_>, kind: DatabaseKind) -> Result<Vec<Cell>> {
    let changes = scene.bench.effort.stream;
    let site = Site::open(kind).await?;
    let replicas = site.replicas(scene, POLL_MS).await?;
    let mut program = site.program().await?;
    let names = names(TOOLS);
    fill(&mut program, &names, scene.upstream).await?;
    for replica in &replicas {
        replica.serves(TOOLS).await?;
    }
    let observed = &replicas[0];
    let cpu_before = observed.gateway.process.cpu()?;
    let started = Instant::now();
    for (index, name) in names.iter().cycle().take(changes).enumerate() {
        let on = if (index / TOOLS).is_multiple_of(2) { "FALSE" } else { "TRUE" };
        program.execute(&switch(name, on)).await?;
    }
    let streamed = started.elapsed();
    let revision = revision(&mut program).await?;
    let is_there = |answer: &[u8]| {
        serde_json::from_slice::<serde_json::Value>(answer).unwrap_or_default()["revision"] == revision
    };
    let mut behind = Duration::ZERO;
    for replica in &replicas {
        let seen = until(replica.address(), &get(replica.address(), "/readyz"), is_there).await?;
        behind = behind.max(seen.saturating_duration_since(started + streamed));
    }
    let cpu = milliseconds(observed.gateway.process.cpu()?.since(&cpu_before));
    Ok(vec![
        Cell::from(kind.to_string().as_str()),
        Cell::from(TOOLS),
        Cell::from(changes),
        Cell::from(streamed.as_secs_f64()),
        Cell::from(cpu),
        Cell::from(cpu / f64::from(u32::try_from(changes)?)),
        Cell::from(milliseconds(behind)),
    ])
}

/// The revision that the store itself counts.
async fn revision(program: &mut toolrail_testkit::Connection) -> Result<i64> {
    let texts = program.texts("SELECT CAST(version AS CHAR(20)) FROM mcp_config_version").await?;
    let text = texts.into_iter().flatten().next().unwrap_or_default();
    Ok(text.trim().parse()?)
}
