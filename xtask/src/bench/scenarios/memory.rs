//! How much memory 10,000 tools take: while they are registered, after a restart, and after work.

use anyhow::Result;

use super::super::gateway::{Gateway, SMALL_TOOL};
use super::super::load::{Target, measure};
use super::super::report::{Cell, Column, Section, megabytes, number, text};
use super::super::requests::{Dialect, call_tool};
use super::super::upstream::MARKER;
use super::{Scene, data_folder};

const TOOLS: usize = 10_000;
const CONNECTIONS: usize = 64;

const COLUMNS: &[Column] = &[number("tools", 0), text("after"), number("RSS MB", 1), number("highest MB", 1)];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    eprintln!("memory: {TOOLS} tools");
    let data = data_folder()?;
    let gateway = Gateway::start_with(scene.toolrail, data.path(), TOOLS, scene.upstream).await?;
    let mut rows = vec![row("registering them", &gateway)?];
    gateway.process.kill().await?;

    let gateway = Gateway::start(scene.toolrail, data.path()).await?;
    rows.push(row("a restart", &gateway)?);
    gateway.pages(Dialect::Modern).await?;
    rows.push(row("one whole tools/list", &gateway)?);
    let address = gateway.address;
    let target = Target { address, request: call_tool(address, Dialect::Modern, SMALL_TOOL), marker: MARKER };
    measure(&target, CONNECTIONS, scene.bench.effort.window * 2, &gateway.process).await?;
    rows.push(row("calls on 64 connections", &gateway)?);
    Ok(Section { title: "Memory with 10,000 tools".to_owned(), columns: COLUMNS, rows })
}

fn row(after: &str, gateway: &Gateway) -> Result<Vec<Cell>> {
    let memory = gateway.process.memory()?;
    Ok(vec![
        Cell::from(TOOLS),
        Cell::from(after),
        Cell::from(megabytes(memory.resident)),
        Cell::from(megabytes(memory.highest)),
    ])
}
