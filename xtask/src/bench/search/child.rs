//! One engine with one catalogue in a process of its own, so that its memory is its own. Prints what it measured as JSON.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::super::process::{CpuTime, Memory};
use super::catalogue::{Catalogue, Languages, Made};
use super::engines::{Crate, Engine, Ours, PatternEngine};
use crate::allocations;
use crate::search_eval::percentile;

/// Tools that are made and added at a time; those who made them do not stay in memory.
const BATCH: usize = 5_000;
const INSERTS: usize = 200;
/// As many hits as `search_tools` gives unless told otherwise.
const LIMIT: usize = 5;

#[derive(Args, Clone)]
pub(crate) struct ChildOptions {
    #[arg(long)]
    pub(super) engine: Which,
    #[arg(long)]
    pub(super) tools: usize,
    #[arg(long)]
    pub(super) languages: Languages,
    /// How many queries to time
    #[arg(long)]
    pub(super) queries: usize,
}

/// Which engine to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Which {
    Ours,
    Patterns,
    Crate,
}

pub(crate) fn run(options: &ChildOptions) -> Result<()> {
    let measured = match options.engine {
        Which::Ours => measure(&mut Ours::default(), options),
        Which::Patterns => measure(&mut PatternEngine::default(), options),
        Which::Crate => measure(&mut Crate::default(), options),
    };
    println!("{}", measured?);
    Ok(())
}

fn measure(engine: &mut impl Engine, options: &ChildOptions) -> Result<Value> {
    let catalogue = Catalogue::new(options.tools, options.languages);
    let empty = own_memory()?.resident;
    let build = fill(engine, &catalogue, options.tools);
    let queries = catalogue.queries(500);
    // Once before: what is loaded lazily is loaded, and what is kept between queries has its size.
    let found =
        queries.iter().take(options.queries).filter(|query| !engine.find(query, LIMIT).is_empty()).count();
    ensure!(found > 0, "no query finds anything");
    let resident = own_memory()?.resident;
    let asked = ask(engine, &queries, options.queries)?;
    let inserts = insert(engine, &catalogue, options.tools)?;
    Ok(json!({
        "buildMs": build.as_secs_f64() * 1e3,
        "residentBytes": resident,
        "emptyBytes": empty,
        "p50": percentile(asked.microseconds.iter().copied(), 50),
        "p99": percentile(asked.microseconds.iter().copied(), 99),
        "cpu": asked.cpu_each,
        "allocations": asked.allocations_each,
        "insertMs": percentile(inserts.iter().copied(), 50) / 1e3,
        "insertP99Ms": percentile(inserts.iter().copied(), 99) / 1e3,
    }))
}

/// Adds the tools and returns how long the engine took for that.
fn fill(engine: &mut impl Engine, catalogue: &Catalogue, tools: usize) -> Duration {
    let mut took = Duration::ZERO;
    for first in (0..tools).step_by(BATCH) {
        let numbers = first..tools.min(first + BATCH);
        let batch: Vec<(usize, Made)> = numbers.map(|number| (number, catalogue.tool(number))).collect();
        let documents = batch.iter().map(|(number, tool)| (*number, tool.document())).collect();
        let started = Instant::now();
        engine.add(documents);
        took += started.elapsed();
    }
    took
}

struct Asked {
    microseconds: Vec<f64>,
    cpu_each: f64,
    allocations_each: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run are far below 2^52")]
fn ask(engine: &impl Engine, queries: &[String], count: usize) -> Result<Asked> {
    let mut microseconds = Vec::with_capacity(count);
    let cpu = CpuTime::read(std::process::id())?;
    let allocations = allocations::taken();
    for query in queries.iter().cycle().take(count) {
        let started = Instant::now();
        std::hint::black_box(engine.find(query, LIMIT));
        microseconds.push(started.elapsed().as_secs_f64() * 1e6);
    }
    let allocations = allocations::taken() - allocations;
    let cpu = CpuTime::read(std::process::id())?.since(&cpu);
    Ok(Asked {
        microseconds,
        cpu_each: cpu.as_secs_f64() * 1e6 / count as f64,
        allocations_each: allocations as f64 / count as f64,
    })
}

/// Adds tools one by one, and looks each up: microseconds until it was found.
fn insert(engine: &mut impl Engine, catalogue: &Catalogue, tools: usize) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(INSERTS);
    for number in tools..tools + INSERTS {
        let mut tool = catalogue.tool(number);
        let word = format!("newcomer{number}");
        tool.description = format!("{} {word}", tool.description);
        let started = Instant::now();
        engine.add(vec![(number, tool.document())]);
        let found = engine.find(&word, LIMIT);
        times.push(started.elapsed().as_secs_f64() * 1e6);
        ensure!(found.first() == Some(&number), "a tool that was just added is not found by {word}");
    }
    Ok(times)
}

fn own_memory() -> Result<Memory> {
    Memory::read(std::process::id()).context("cannot read this process's memory")
}
