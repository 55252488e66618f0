//! The project's own chores: run every test, check the house rules, measure. Not shipped.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the person who started it")]

mod allocations;
mod bench;
mod clients;
mod databases;
mod fuzz;
mod lexicon;
mod packages;
mod search_eval;
mod search_tune;
mod testing;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

// The bare proxy that Toolrail is compared with runs in this program: the same allocator keeps it fair.
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting(mimalloc::MiMalloc);

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of the Toolrail workspace")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install what the tests need, then run all of them
    Test(testing::TestOptions),
    /// Send the server what nobody would, for longer than the tests do
    Fuzz(fuzz::FuzzOptions),
    /// Check crate levels, file lengths, links and the other house rules
    Tidy,
    /// Judge search by sets of tools and queries
    SearchEval(search_eval::EvalOptions),
    /// Look for better numbers of the ranking
    SearchTune(search_tune::TuneOptions),
    /// Compare Toolrail with a direct call and with a bare reverse proxy
    Bench(bench::BenchOptions),
    /// Count the instructions of a call and a search, and compare them with those that were recorded
    Counts(bench::CountOptions),
    /// Make the language data of the search again, from packages and from the lists we keep
    Lexicon(lexicon::LexiconOptions),
    /// The measuring process that `bench` starts once everything is built
    #[command(hide = true)]
    BenchRun(bench::RunOptions),
    /// The measuring process of `bench search`
    #[command(hide = true)]
    BenchSearch(bench::SearchOptions),
    /// One engine of `bench search`
    #[command(hide = true)]
    BenchSearchChild(bench::ChildOptions),
    /// The upstream of the benchmark
    #[command(hide = true)]
    BenchUpstream,
    /// The bare reverse proxy of the benchmark
    #[command(hide = true)]
    BenchProxy(bench::ProxyOptions),
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Test(options) => testing::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Tidy => tidy::run(),
        Chore::SearchEval(options) => search_eval::run(&options),
        Chore::SearchTune(options) => search_tune::run(&options),
        Chore::Bench(options) => bench::build_and_run(&options),
        Chore::Counts(options) => bench::run_counts(&options),
        Chore::Lexicon(options) => lexicon::run(&options),
        Chore::BenchRun(options) => bench::run(options),
        Chore::BenchSearch(options) => bench::run_search(&options),
        Chore::BenchSearchChild(options) => bench::run_search_child(&options),
        Chore::BenchUpstream => bench::serve_upstream(),
        Chore::BenchProxy(options) => bench::serve_proxy(&options),
    }
}
