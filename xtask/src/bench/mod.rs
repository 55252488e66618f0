//! `cargo xtask bench`: what a call through Toolrail costs, beside a direct call and a bare reverse proxy.
//!
//! Upstream, proxy and gateway are processes of their own, so that the CPU time of each can be told apart; the load
//! comes from the measuring process. Competitors take turns within a round, because the machine's speed drifts.

mod build;
mod counts;
mod gateway;
mod issuer;
mod load;
mod process;
mod proxy;
mod report;
mod requests;
mod scenarios;
mod search;
mod upstream;
mod ways_in;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::databases;
use crate::workspace::{Workspace, cargo, run as run_command};

pub(crate) use counts::{CountOptions, run as run_counts};
pub(crate) use proxy::{ProxyOptions, serve as serve_proxy};
pub(crate) use search::{ChildOptions, SearchOptions, run as run_search, run_child as run_search_child};
pub(crate) use upstream::serve as serve_upstream;

#[derive(Args, Clone)]
pub(crate) struct BenchOptions {
    /// Fewer and shorter rounds: good enough to see a change of a fifth
    #[arg(long)]
    quick: bool,
    /// Only this scenario: call, access, list, scale, slow, memory, start; or store, which starts databases, search, and
    /// build, from nothing, which are never run unasked
    #[arg(value_name = "SCENARIO", conflicts_with = "filter")]
    scenario: Option<String>,
    /// Only scenarios whose name contains this
    #[arg(long)]
    filter: Option<String>,
    /// Measure only the direct call and the bare proxy
    #[arg(long)]
    baseline: bool,
    /// With search: compare the quality too, on the sets of this folder
    #[arg(long, value_name = "DIR")]
    eval: Option<PathBuf>,
}

/// The scenarios that have no running gateway in them: only by name.
const SEARCH: &str = "search";
const BUILD: &str = "build";

#[derive(Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    bench: BenchOptions,
    /// The gateway's binary; left out for baselines
    #[arg(long)]
    toolrail: Option<PathBuf>,
    /// Where to write the numbers as JSON
    #[arg(long)]
    results: PathBuf,
}

/// How long and how often to measure.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    window: Duration,
    /// Changes whose way to every replica is timed.
    changes: usize,
    /// Changes that come one after the other.
    stream: usize,
    /// Definitions in a large store.
    definitions: usize,
}

impl Effort {
    const QUICK: Self =
        Self { rounds: 3, window: Duration::from_millis(400), changes: 10, stream: 200, definitions: 2_000 };
    const FULL: Self = Self {
        rounds: 5,
        window: Duration::from_millis(1500),
        changes: 100,
        stream: 1_000,
        definitions: 100_000,
    };
}

/// What every scenario needs to know.
struct Bench {
    /// This program, which is also the upstream and the proxy.
    own_binary: PathBuf,
    toolrail: Option<PathBuf>,
    effort: Effort,
    filter: Option<String>,
}

impl BenchOptions {
    fn filter(&self) -> Option<&str> {
        self.scenario.as_deref().or(self.filter.as_deref())
    }
}

impl Bench {
    fn wants(&self, scenario: &str) -> bool {
        self.filter.as_deref().is_none_or(|filter| scenario.contains(filter))
    }

    fn is_asked_for(&self, scenario: &str) -> bool {
        self.filter.as_deref().is_some_and(|filter| scenario.contains(filter))
    }
}

/// Builds everything as it is handed out (profile `dist`), then measures with that build of this program.
pub(crate) fn build_and_run(options: &BenchOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    if options.filter() == Some(BUILD) {
        return build::run(&workspace);
    }
    let xtask = build_dist(&workspace, "xtask")?;
    if options.filter() == Some(SEARCH) {
        return run_search_bench(&workspace, &xtask, options);
    }
    // A raised limit is inherited by every process under test: 1,000 calls need 2,000 sockets in the gateway.
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -n "$(ulimit -Hn)"; exec "$@""#, "sh"]).arg(xtask).arg("bench-run");
    command.arg("--results").arg(workspace.target.join("bench/results.json"));
    if options.quick {
        command.arg("--quick");
    }
    if let Some(filter) = options.filter() {
        if scenarios::STORE.contains(filter) {
            databases::install()?;
        }
        command.args(["--filter", filter]);
    }
    if options.baseline {
        command.arg("--baseline");
    } else {
        command.arg("--toolrail").arg(build_dist(&workspace, "toolrail")?);
    }
    run_command(&mut command)
}

/// Search alone needs neither an upstream nor a gateway.
fn run_search_bench(workspace: &Workspace, xtask: &Path, options: &BenchOptions) -> Result<()> {
    let mut command = Command::new(xtask);
    command.args(["bench-search", "--results"]).arg(workspace.target.join("bench/search.json"));
    if options.quick {
        command.arg("--quick");
    }
    if let Some(folder) = &options.eval {
        command.arg("--eval").arg(folder);
    }
    run_command(&mut command)
}

pub(crate) fn run(options: RunOptions) -> Result<()> {
    let effort = if options.bench.quick { Effort::QUICK } else { Effort::FULL };
    let filter = options.bench.filter().map(str::to_owned);
    let own_binary = std::env::current_exe().context("cannot find the running program's own path")?;
    let bench = Bench { own_binary, toolrail: options.toolrail, effort, filter };
    // One thread: the load generator must leave as much of the machine as it can to the processes under test.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let surroundings = report::Surroundings::read();
    let sections = runtime.block_on(scenarios::run_all(&bench))?;
    if sections.is_empty() {
        bail!(
            "no scenario matches the filter; use a part of call, access, list, scale, slow, memory, start, store, search or build"
        );
    }
    report::print(&sections, &surroundings);
    report::write(&sections, &surroundings, &options.results)?;
    eprintln!("written to {}", options.results.display());
    Ok(())
}

fn build_dist(workspace: &Workspace, package: &str) -> Result<PathBuf> {
    eprintln!("building {package} (profile dist)");
    let mut build = cargo()
        .args([
            "build",
            "--profile",
            "dist",
            "--package",
            package,
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(&workspace.root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo build")?;
    let messages = build.stdout.take().context("cargo build has no output")?;
    let mut executable = None;
    for line in BufReader::new(messages).lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        if message["target"]["name"] == package && message["executable"].is_string() {
            executable = message["executable"].as_str().map(|path| Path::new(path).to_owned());
        }
    }
    if !build.wait()?.success() {
        bail!("cargo build --profile dist --package {package} failed");
    }
    executable.with_context(|| format!("cargo built no program named {package}"))
}
