//! What it costs to know who calls and whether he may: the same small call with nobody asked, with a key, with a key under a rule
//! with a condition, and with a token that was seen before.
//!
//! The differences are far smaller than what a call costs, so that they drown in what the machine does besides. Therefore the
//! rounds are many and short, each way takes its turn in each, and only differences within one round count. And two processes that
//! do the same differ by where their memory happens to lie: all of them are started anew a few times. Whatever else the machine
//! does only adds, so that the quietest tenth of the rounds of each way is compared too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::super::gateway::{Gateway, SMALL_TOOL, with_one_thread};
use super::super::load::{LoadMeasure, Target, measure};
use super::super::report::{Cell, Column, Section, number, text};
use super::super::requests::{Dialect, call_tool_with};
use super::super::upstream::MARKER;
use super::super::ways_in::WaysIn;
use super::{Scene, data_folder, median};

const TOOLS: usize = 10;
const CONNECTIONS: usize = 16;
const WINDOW: Duration = Duration::from_millis(150);
/// The part of the rounds that count as quiet.
const QUIET: f64 = 0.1;

const COLUMNS: &[Column] = &[
    text("who calls"),
    number("CPU µs/call", 2),
    text("compared with"),
    number("more µs", 2),
    text("middle half of the rounds"),
    number("more in quiet rounds µs", 2),
    number("rounds", 0),
    number("calls", 0),
    number("errors", 0),
];

/// One way in.
struct Way {
    name: &'static str,
    /// The way that it is compared with, by its place.
    beside: usize,
    arguments: fn(&WaysIn) -> Vec<String>,
    shown: fn(&WaysIn) -> Option<&str>,
}

const WAYS: &[Way] = &[
    Way { name: "anybody", beside: 0, arguments: |_| Vec::new(), shown: |_| None },
    // What differs between two processes that do the same.
    Way { name: "anybody, again", beside: 0, arguments: |_| Vec::new(), shown: |_| None },
    Way {
        name: "a key",
        beside: 0,
        arguments: |_| vec!["--secure".to_owned()],
        shown: |ways| Some(&ways.key),
    },
    Way {
        name: "a key, a rule with a condition",
        beside: 2,
        arguments: |ways| ways.ruled.clone(),
        shown: |ways| Some(&ways.key),
    },
    Way {
        name: "a token",
        beside: 0,
        arguments: |ways| ways.issued.clone(),
        shown: |ways| Some(&ways.token),
    },
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    let folder = data_folder()?;
    let toolrail = with_one_thread(folder.path(), scene.toolrail, "")?;
    let filled = folder.path().join("filled");
    fs::create_dir(&filled)?;
    let gateway = Gateway::start_with(scene.toolrail, &filled, TOOLS, scene.upstream).await?;
    gateway.process.end().await?;
    let ways = WaysIn::make(scene.toolrail, folder.path(), &filled).await?;
    let (starts, rounds) = if scene.bench.effort.rounds < 5 { (2, 10) } else { (5, 40) };
    let mut measured: Vec<Vec<LoadMeasure>> = WAYS.iter().map(|_| Vec::new()).collect();
    for start in 1..=starts {
        eprintln!("access: start {start} of {starts}");
        let sides = start_all(&toolrail, &filled, &ways).await?;
        for round in 0..rounds {
            // Each begins as often as the others.
            for at in (0..sides.len()).map(|step| (round + step) % sides.len()) {
                let Side { gateway, target, .. } = &sides[at];
                measured[at].push(measure(target, CONNECTIONS, WINDOW, &gateway.process).await?);
            }
        }
    }
    let rows = WAYS.iter().enumerate().map(|(at, way)| row(way, &measured[at], &measured[way.beside]));
    let title = format!("What it costs to know who calls, {CONNECTIONS} connections, one thread for calls");
    Ok(Section { title, columns: COLUMNS, rows: rows.collect() })
}

/// A gateway that is ready to be called in one way.
struct Side {
    gateway: Gateway,
    target: Target,
    _data: TempDir,
}

async fn start_all(toolrail: &Path, filled: &Path, ways: &WaysIn) -> Result<Vec<Side>> {
    let mut sides = Vec::new();
    for way in WAYS {
        let data = copy_of(filled)?;
        // What the gateway does by itself meanwhile is not the call's.
        let quiet = vec!["--poll-ms".to_owned(), "60000".to_owned()];
        let arguments = [quiet, (way.arguments)(ways)].concat();
        let gateway = Gateway::start_as(toolrail, data.path(), &arguments).await.context(way.name)?;
        let request = call_tool_with(gateway.address, Dialect::Modern, SMALL_TOOL, (way.shown)(ways));
        let target = Target { address: gateway.address, request, marker: MARKER };
        sides.push(Side { gateway, target, _data: data });
    }
    Ok(sides)
}

fn copy_of(filled: &Path) -> Result<TempDir> {
    let copy = data_folder()?;
    for entry in fs::read_dir(filled)? {
        let file: PathBuf = entry?.path();
        if let Some(name) = file.file_name()
            && file.is_file()
        {
            fs::copy(&file, copy.path().join(name)).context("cannot copy the data")?;
        }
    }
    Ok(copy)
}

fn row(way: &Way, own: &[LoadMeasure], beside: &[LoadMeasure]) -> Vec<Cell> {
    let costs = own.iter().map(|round| round.cpu_us_per_call).collect();
    let pairs = own.iter().zip(beside);
    let differences: Vec<f64> =
        pairs.map(|(own, beside)| own.cpu_us_per_call - beside.cpu_us_per_call).collect();
    let (low, high) = (part_of(differences.clone(), 0.25), part_of(differences.clone(), 0.75));
    let quiet =
        |rounds: &[LoadMeasure]| part_of(rounds.iter().map(|round| round.cpu_us_per_call).collect(), QUIET);
    vec![
        Cell::from(way.name),
        Cell::from(median(costs)),
        Cell::from(WAYS[way.beside].name),
        Cell::from(median(differences)),
        Cell::Text(format!("{low:.2} to {high:.2}")),
        Cell::from(quiet(own) - quiet(beside)),
        Cell::from(own.len()),
        Cell::from(own.iter().map(|round| round.calls).sum::<u64>()),
        Cell::from(own.iter().map(|round| round.errors).sum::<u64>()),
    ]
}

/// The value below which that part of them lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place among a few hundred"
)]
fn part_of(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * part) as usize;
    values.get(place).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_half_leaves_out_what_is_far_off() {
        let values = vec![9.0, 1.0, -50.0, 2.0, 3.0, 4.0, 90.0, 5.0];
        let (low, high) = (part_of(values.clone(), 0.25), part_of(values, 0.75));
        assert!((low - 2.0).abs() < 1e-9 && (high - 9.0).abs() < 1e-9, "{low} {high}");
        assert!(part_of(Vec::new(), QUIET).abs() < 1e-9);
    }

    #[test]
    fn every_way_is_compared_with_one_before_it() {
        assert!(WAYS.iter().enumerate().all(|(at, way)| way.beside <= at));
    }
}
