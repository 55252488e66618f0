//! What is measured, one file per question. Each scenario starts the processes it needs and returns one table.

mod access;
mod calls;
mod listing;
mod memory;
mod scale;
mod slow;
mod startup;
mod store;

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::Bench;
use super::process::Process;
use super::report::Section;

/// The scenario that takes long and needs databases: only by name.
pub(super) const STORE: &str = "store";

/// Runs every scenario that the filter lets through.
pub(super) async fn run_all(bench: &Bench) -> Result<Vec<Section>> {
    let (_upstream, upstream_address) = start_upstream(bench).await?;
    let mut sections = Vec::new();
    if bench.wants("call") {
        sections.extend(calls::run(bench).await.context("scenario call")?);
    }
    let Some(toolrail) = bench.toolrail.as_deref() else { return Ok(sections) };
    let scene = Scene { bench, toolrail, upstream: upstream_address };
    if bench.wants("access") {
        sections.push(access::run(&scene).await.context("scenario access")?);
    }
    if bench.wants("list") {
        sections.push(listing::run(&scene).await.context("scenario list")?);
    }
    if bench.wants("scale") {
        sections.push(scale::run(&scene).await.context("scenario scale")?);
    }
    if bench.wants("slow") {
        sections.push(slow::run(&scene).await.context("scenario slow")?);
    }
    if bench.wants("memory") {
        sections.push(memory::run(&scene).await.context("scenario memory")?);
    }
    if bench.wants("start") {
        sections.push(startup::run(&scene).await.context("scenario start")?);
    }
    if bench.is_asked_for(STORE) {
        sections.extend(store::run(&scene).await.context("scenario store")?);
    }
    Ok(sections)
}

/// What the scenarios about the gateway alone have in common.
struct Scene<'a> {
    bench: &'a Bench,
    toolrail: &'a Path,
    upstream: SocketAddr,
}

async fn start_upstream(bench: &Bench) -> Result<(Process, SocketAddr)> {
    Process::spawn_server(&bench.own_binary, &["bench-upstream"]).await
}

fn data_folder() -> Result<TempDir> {
    tempfile::Builder::new().prefix("toolrail-bench-").tempdir().context("cannot create a data folder")
}

/// The middle of an odd number of rounds: one disturbed round does not move it.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn median_ignores_one_disturbed_round() {
        assert!((median(vec![21.0, 900.0, 20.0]) - 21.0).abs() < 1e-9);
        assert!(median(Vec::new()).abs() < 1e-9);
    }
}
