//! What one call costs on each path, for small and large answers and from 1 to 256 connections.

use std::net::SocketAddr;

use anyhow::Result;
use tempfile::TempDir;

use super::super::Bench;
use super::super::gateway::{Gateway, LARGE_TOOL, SMALL_TOOL};
use super::super::load::{LoadMeasure, Target, measure};
use super::super::process::Process;
use super::super::report::{Cell, Column, Section, megabytes, number, text};
use super::super::requests::{Dialect, call_tool, get};
use super::super::upstream::MARKER;
use super::{data_folder, median, start_upstream};

const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];

const BARE_PROXY: &str = "bare proxy";

const COLUMNS: &[Column] = &[
    number("connections", 0),
    text("path"),
    number("requests/s", 0),
    number("p50 µs", 0),
    number("p99 µs", 0),
    number("CPU µs/call", 1),
    number("× bare proxy", 2),
    text("over the rounds"),
    number("RSS MB", 1),
    number("errors", 0),
];

/// The answer's size decides which path of the upstream and which tool is called.
#[derive(Clone, Copy)]
struct CallSize {
    title: &'static str,
    path: &'static str,
    tool: &'static str,
}

const SIZES: [CallSize; 2] = [
    CallSize { title: "200-byte answer", path: "/small?q=Berlin", tool: SMALL_TOOL },
    CallSize { title: "64 KB answer", path: "/large?q=Berlin", tool: LARGE_TOOL },
];

/// One way for a call to take, and what was measured on it in each round.
struct Path<'a> {
    name: &'static str,
    process: &'a Process,
    target: Target,
    rounds: Vec<LoadMeasure>,
}

/// One table per size of the answer.
pub(super) async fn run(bench: &Bench) -> Result<Vec<Section>> {
    let stage = Stage::set(bench).await?;
    let mut sections = Vec::new();
    for size in SIZES {
        let mut rows = Vec::new();
        for connections in CONNECTIONS {
            eprintln!("call: {}, {connections} connections", size.title);
            let mut paths = stage.paths(size);
            for _ in 0..bench.effort.rounds {
                for path in &mut paths {
                    let round = measure(&path.target, connections, bench.effort.window, path.process).await?;
                    path.rounds.push(round);
                }
            }
            rows.extend(paths.iter().map(|path| row(connections, path, &paths)));
        }
        sections.push(Section { title: format!("tools/call, {}", size.title), columns: COLUMNS, rows });
    }
    Ok(sections)
}

/// The processes that compete. Each has the same upstream behind it.
struct Stage {
    upstream: (Process, SocketAddr),
    proxy: (Process, SocketAddr),
    gateway: Option<(Gateway, TempDir)>,
}

impl Stage {
    async fn set(bench: &Bench) -> Result<Self> {
        let upstream = start_upstream(bench).await?;
        let proxy =
            Process::spawn_server(&bench.own_binary, &["bench-proxy", &upstream.1.to_string()]).await?;
        let gateway = match &bench.toolrail {
            Some(toolrail) => {
                let data = data_folder()?;
                Some((Gateway::start_with(toolrail, data.path(), 10, upstream.1).await?, data))
            }
            None => None,
        };
        Ok(Self { upstream, proxy, gateway })
    }

    fn paths(&self, size: CallSize) -> Vec<Path<'_>> {
        let mut paths =
            vec![plain_path("direct", &self.upstream, size), plain_path(BARE_PROXY, &self.proxy, size)];
        if let Some((gateway, _)) = &self.gateway {
            for (name, dialect) in
                [("Toolrail, modern", Dialect::Modern), ("Toolrail, legacy", Dialect::Legacy)]
            {
                let address = gateway.address;
                let target =
                    Target { address, request: call_tool(address, dialect, size.tool), marker: MARKER };
                paths.push(Path { name, process: &gateway.process, target, rounds: Vec::new() });
            }
        }
        paths
    }
}

fn plain_path<'a>(
    name: &'static str,
    (process, address): &'a (Process, SocketAddr),
    size: CallSize,
) -> Path<'a> {
    let target = Target { address: *address, request: get(*address, size.path), marker: MARKER };
    Path { name, process, target, rounds: Vec::new() }
}

fn row(connections: usize, path: &Path<'_>, paths: &[Path<'_>]) -> Vec<Cell> {
    let middle = |value: fn(&LoadMeasure) -> f64| Cell::from(median(path.rounds.iter().map(value).collect()));
    let ratios = ratios_to_proxy(path, paths);
    let resident = path.rounds.iter().map(|round| round.resident_bytes).max().unwrap_or(0);
    let errors: u64 = path.rounds.iter().map(|round| round.errors).sum();
    vec![
        Cell::from(connections),
        Cell::from(path.name),
        middle(|round| round.calls_per_second),
        middle(|round| round.p50_us),
        middle(|round| round.p99_us),
        middle(|round| round.cpu_us_per_call),
        Cell::from(median(ratios.clone())),
        Cell::Text(range(&ratios)),
        Cell::from(megabytes(resident)),
        Cell::from(errors),
    ]
}

/// Round by round, so that a machine that slows down slows both sides of the division.
fn ratios_to_proxy(path: &Path<'_>, paths: &[Path<'_>]) -> Vec<f64> {
    let proxy = paths.iter().find(|path| path.name == BARE_PROXY);
    let pairs = path.rounds.iter().zip(proxy.into_iter().flat_map(|proxy| &proxy.rounds));
    pairs.map(|(own, bare)| own.cpu_us_per_call / bare.cpu_us_per_call).collect()
}

/// How far the rounds lie apart: a wide range means that the median says little.
fn range(ratios: &[f64]) -> String {
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = ratios.iter().copied().fold(0.0, f64::max);
    format!("{lowest:.2}–{highest:.2}")
}
