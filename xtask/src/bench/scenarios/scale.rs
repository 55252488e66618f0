//! Whether a call gets dearer with the number of tools registered: it must not.

use anyhow::Result;

use super::super::gateway::{Gateway, SMALL_TOOL};
use super::super::load::{LoadMeasure, Target, measure};
use super::super::report::{Cell, Column, Section, number};
use super::super::requests::{Dialect, call_tool};
use super::super::upstream::MARKER;
use super::{Scene, data_folder, median};

const COUNTS: [usize; 2] = [10, 10_000];
const CONNECTIONS: usize = 16;

const COLUMNS: &[Column] = &[
    number("tools", 0),
    number("requests/s", 0),
    number("p50 µs", 0),
    number("p99 µs", 0),
    number("CPU µs/call", 1),
    number("errors", 0),
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    eprintln!("scale: a call with {COUNTS:?} tools registered");
    let mut sides = Vec::new();
    for count in COUNTS {
        let data = data_folder()?;
        let gateway = Gateway::start_with(scene.toolrail, data.path(), count, scene.upstream).await?;
        sides.push((count, gateway, data, Vec::new()));
    }
    for _ in 0..scene.bench.effort.rounds {
        for (_, gateway, _, rounds) in &mut sides {
            let address = gateway.address;
            let request = call_tool(address, Dialect::Modern, SMALL_TOOL);
            let target = Target { address, request, marker: MARKER };
            rounds.push(measure(&target, CONNECTIONS, scene.bench.effort.window, &gateway.process).await?);
        }
    }
    let rows = sides.iter().map(|(count, _, _, rounds)| row(*count, rounds)).collect();
    let title = format!("tools/call by number of registered tools, {CONNECTIONS} connections");
    Ok(Section { title, columns: COLUMNS, rows })
}

fn row(count: usize, rounds: &[LoadMeasure]) -> Vec<Cell> {
    let middle = |value: fn(&LoadMeasure) -> f64| Cell::from(median(rounds.iter().map(value).collect()));
    vec![
        Cell::from(count),
        middle(|round| round.calls_per_second),
        middle(|round| round.p50_us),
        middle(|round| round.p99_us),
        middle(|round| round.cpu_us_per_call),
        Cell::from(rounds.iter().map(|round| round.errors).sum::<u64>()),
    ]
}
