//! A thousand calls in flight at once to an upstream that takes 50 ms: none may fail.

use anyhow::Result;

use super::super::gateway::{Gateway, SLOW_TOOL};
use super::super::load::{Target, measure};
use super::super::report::{Cell, Column, Section, megabytes, number};
use super::super::requests::{Dialect, call_tool};
use super::super::upstream::MARKER;
use super::{Scene, data_folder};

const CONNECTIONS: usize = 1_000;

const COLUMNS: &[Column] = &[
    number("in flight", 0),
    number("calls", 0),
    number("errors", 0),
    number("requests/s", 0),
    number("p50 ms", 1),
    number("p99 ms", 1),
    number("CPU µs/call", 1),
    number("RSS MB", 1),
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    eprintln!("slow: {CONNECTIONS} calls in flight to an upstream of 50 ms");
    let data = data_folder()?;
    let gateway = Gateway::start_with(scene.toolrail, data.path(), 10, scene.upstream).await?;
    let address = gateway.address;
    let target = Target { address, request: call_tool(address, Dialect::Modern, SLOW_TOOL), marker: MARKER };
    let measured = measure(&target, CONNECTIONS, scene.bench.effort.window * 2, &gateway.process).await?;
    let row = vec![
        Cell::from(CONNECTIONS),
        Cell::from(measured.calls),
        Cell::from(measured.errors),
        Cell::from(measured.calls_per_second),
        Cell::from(measured.p50_us / 1e3),
        Cell::from(measured.p99_us / 1e3),
        Cell::from(measured.cpu_us_per_call),
        Cell::from(megabytes(measured.resident_bytes)),
    ];
    let title = "1,000 concurrent calls to a 50 ms upstream".to_owned();
    Ok(Section { title, columns: COLUMNS, rows: vec![row] })
}
