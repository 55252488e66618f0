//! `cargo xtask bench search`: how fast our search is and what it costs, beside the `bm25` crate and the source system's search.
//!
//! Every engine runs with every size in a process of its own. With `--eval DIR` the quality of all three is compared too.

mod catalogue;
mod child;
mod engines;
mod quality;
mod random;
mod registry_tools;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use super::report::{self, Cell, Column, Section, Surroundings, megabytes, number, text};
use crate::search_eval::percentile;
use crate::workspace::{Workspace, shown};
use catalogue::{Catalogue, Languages};
pub(crate) use child::{ChildOptions, run as run_child};
use registry_tools::RegistryTools;

#[derive(Args)]
pub(crate) struct SearchOptions {
    /// Leave out the largest catalogue, and ask fewer queries
    #[arg(long)]
    quick: bool,
    /// Compare the quality too, on the sets of this folder
    #[arg(long, value_name = "DIR")]
    eval: Option<PathBuf>,
    /// Where to write the numbers as JSON
    #[arg(long)]
    results: PathBuf,
}

/// One catalogue that is measured.
#[derive(Clone, Copy)]
struct CatalogueSize {
    tools: usize,
    languages: Languages,
    /// Queries to time: ours, the crate, and the source system, which needs so long that a few must do.
    queries: [usize; 3],
}

const SIZES: &[CatalogueSize] = &[
    CatalogueSize { tools: 1_000, languages: Languages::English, queries: [20_000, 2_000, 0] },
    CatalogueSize { tools: 1_000, languages: Languages::Mixed, queries: [20_000, 2_000, 200] },
    CatalogueSize { tools: 10_000, languages: Languages::Mixed, queries: [10_000, 500, 50] },
    CatalogueSize { tools: 100_000, languages: Languages::Mixed, queries: [5_000, 100, 0] },
];

const COLUMNS: &[Column] = &[
    text("engine"),
    number("tools", 0),
    text("languages"),
    number("p50 µs", 1),
    number("p99 µs", 1),
    text("CPU µs per query"),
    text("allocations per query"),
    number("build ms", 1),
    text("insert → found ms, p50 (p99)"),
    number("RSS MB", 1),
];

pub(crate) fn run(options: &SearchOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    let surroundings = Surroundings::read();
    let registry_tools = RegistryTools::install(&workspace);
    let mut rows = Vec::new();
    for size in SIZES.iter().map(|size| size.within(options)) {
        if options.quick && size.tools > 10_000 {
            continue;
        }
        rows.push(measured("Toolrail", "ours", &size, size.queries[0])?);
        rows.push(measured("Toolrail, patterns", "patterns", &size, size.queries[0] / 4)?);
        rows.push(measured("bm25 crate", "crate", &size, size.queries[1])?);
        if let Some(system) = registry_tools.as_ref().filter(|_| size.queries[2] > 0) {
            rows.push(source_system(system, &size)?);
        }
    }
    let mut sections = vec![Section { title: "Search".to_owned(), columns: COLUMNS, rows }];
    if let Some(folder) = &options.eval {
        sections.push(quality::run(folder, registry_tools.as_ref())?);
    }
    report::print(&sections, &surroundings);
    report::write(&sections, &surroundings, &options.results)?;
    eprintln!("written to {}", options.results.display());
    Ok(())
}

impl CatalogueSize {
    fn within(self, options: &SearchOptions) -> Self {
        let share = if options.quick { 4 } else { 1 };
        Self { queries: self.queries.map(|queries| queries / share), ..self }
    }

    fn words(self) -> &'static str {
        match self.languages {
            Languages::English => "en",
            Languages::Mixed => "en, zh",
        }
    }
}

/// One engine with one catalogue, in a new process.
fn measured(shown_as: &str, engine: &str, size: &CatalogueSize, queries: usize) -> Result<Vec<Cell>> {
    eprintln!("search: {shown_as}, {} tools, {}", size.tools, size.words());
    let languages = match size.languages {
        Languages::English => "english",
        Languages::Mixed => "mixed",
    };
    let arguments = [
        "bench-search-child",
        "--engine",
        engine,
        "--tools",
        &size.tools.to_string(),
        "--languages",
        languages,
        "--queries",
        &queries.to_string(),
    ];
    let figures = answer(&std::env::current_exe()?, &arguments)?;
    let figure = |name: &str| figures[name].as_f64().with_context(|| format!("no {name} in {figures}"));
    let resident = figures["residentBytes"].as_u64().context("no memory was read")?;
    Ok(vec![
        Cell::from(shown_as),
        Cell::from(size.tools),
        Cell::from(size.words()),
        Cell::from(figure("p50")?),
        Cell::from(figure("p99")?),
        Cell::Text(format!("{:.1}", figure("cpu")?)),
        Cell::Text(format!("{:.1}", figure("allocations")?)),
        Cell::from(figure("buildMs")?),
        Cell::Text(format!("{:.3} ({:.3})", figure("insertMs")?, figure("insertP99Ms")?)),
        Cell::from(megabytes(resident)),
    ])
}

fn answer(program: &Path, arguments: &[&str]) -> Result<Value> {
    let mut command = Command::new(program);
    // The gateway takes memory in small pages only.
    command.env("MIMALLOC_ALLOW_THP", "0");
    let output =
        command.args(arguments).stderr(Stdio::inherit()).output().context("cannot start the measuring")?;
    ensure!(output.status.success(), "`{}` failed ({})", shown(&command), output.status);
    serde_json::from_slice(&output.stdout).context("the measuring process gave no JSON")
}

/// The source system: adding one tool makes it index all of them again at the next query, so that is what an insert costs.
fn source_system(system: &RegistryTools, size: &CatalogueSize) -> Result<Vec<Cell>> {
    eprintln!("search: registry-tools, {} tools, {}", size.tools, size.words());
    let catalogue = Catalogue::new(size.tools, size.languages);
    let tools: Vec<Value> = (0..size.tools).map(|number| catalogue.tool(number).to_json(number)).collect();
    let queries = catalogue.queries(size.queries[2]);
    let ran = system.run(&tools, &queries.iter().map(String::as_str).collect::<Vec<_>>(), 5)?;
    let p50 = percentile(ran.microseconds.iter().copied(), 50);
    Ok(vec![
        Cell::from("registry-tools"),
        Cell::from(size.tools),
        Cell::from(size.words()),
        Cell::from(p50),
        Cell::from(percentile(ran.microseconds.iter().copied(), 99)),
        Cell::from("–"),
        Cell::from("–"),
        Cell::from(ran.build_ms),
        Cell::Text(format!("{:.0}", ran.build_ms + p50 / 1e3)),
        Cell::from(megabytes(ran.resident)),
    ])
}
