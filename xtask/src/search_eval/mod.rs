//! `cargo xtask search-eval DIR`: how good search is on sets of tools and queries, each by itself and on average.
//!
//! The ranker is used as the gateway uses it, in this process. Times are of the build that runs; `bench search` measures.

mod data;
mod floors;
mod judge;
mod metrics;
mod ranker;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use toolrail_search::{Method, Parameters};

pub(crate) use data::{Form, Query, Set, read_all};
use floors::Floors;
pub(crate) use judge::{Judged, judge};
pub(crate) use metrics::{DEPTH, Quality, percentile, spread};
pub(crate) use ranker::Ranker;
use report::Reader;

#[derive(Args)]
pub(crate) struct EvalOptions {
    /// A folder of sets, each with tools.jsonl and queries.jsonl, or one set
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only this set; may be given again
    #[arg(long = "set", value_name = "NAME")]
    sets: Vec<String>,
    /// Read queries.NAME.jsonl instead of queries.jsonl
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// How to look: bm25, or hybrid, which needs a table
    #[arg(long)]
    method: Option<Method>,
    /// Look by meaning too, with this table of vectors (safetensors)
    #[arg(long, value_name = "FILE", requires = "tokenizer")]
    table: Option<PathBuf>,
    /// The tokenizer.json of the table
    #[arg(long, value_name = "FILE", requires = "table")]
    tokenizer: Option<PathBuf>,
    /// Index only what register_tool carries; `=bare` leaves out arguments and servers too
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "registered")]
    as_registered: Option<Form>,
    /// Another number of the ranking, for instance gloss=0.9; may be given again
    #[arg(long = "with", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, f32)>,
    /// Learn one half of the queries and judge the other, both ways round
    #[arg(long)]
    learn: bool,
    /// Fail when a set, or the mean, is below what this file asks for
    #[arg(long, value_name = "FILE")]
    floors: Option<PathBuf>,
    /// Show each pair of languages by itself: that of a query, and that of the tools it is about
    #[arg(long)]
    pairs: bool,
    /// Show this many of the worst queries of each set
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    misses: usize,
    /// Add the rankings to this file, one line of JSON a query
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON, one line a set and one for the mean
    #[arg(long)]
    json: bool,
}

/// A number of the ranking by its name.
fn setting(text: &str) -> Result<(String, f32), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.parse().map_err(|_| format!("{value:?} is no number"))?;
    let is_known = Parameters::default().set(name, value);
    is_known.then(|| (name.to_owned(), value)).ok_or_else(|| format!("the ranking has no number {name:?}"))
}

impl EvalOptions {
    fn ranker(&self) -> Result<Ranker> {
        let table = self.table.as_deref().zip(self.tokenizer.as_deref());
        let table = table.map(|(table, tokenizer)| ranker::read_table(table, tokenizer)).transpose()?;
        match self.method {
            Some(Method::Regex) => bail!("the queries of the sets are no patterns; use bm25 or hybrid"),
            Some(Method::Hybrid) => ensure!(table.is_some(), "hybrid needs --table and --tokenizer"),
            Some(Method::Bm25) => ensure!(table.is_none(), "bm25 uses no table; use hybrid"),
            None => {}
        }
        let mut ranker = Ranker { form: self.form(), parameters: Parameters::default(), table };
        for (name, value) in &self.settings {
            ranker.parameters.set(name, *value);
        }
        Ok(ranker)
    }

    fn form(&self) -> Form {
        self.as_registered.unwrap_or_default()
    }

    /// What this way of judging is called where floors are set.
    fn way(&self) -> &'static str {
        match (self.learn, self.form()) {
            _ if self.table.is_some() => "table",
            (true, _) => "learnt",
            (false, Form::Whole) => "cold",
            (false, Form::Registered) => "registered",
            (false, Form::Bare) => "bare",
        }
    }
}

pub(crate) fn run(options: &EvalOptions) -> Result<()> {
    let floors = options.floors.as_ref().map(|path| Floors::read(path, options.way())).transpose()?;
    let reader = if options.json { Reader::Machine } else { Reader::Person };
    let ranker = options.ranker()?;
    let mut all = Vec::new();
    for set in read_all(&options.folder, options.split.as_deref(), &options.sets)? {
        let judged = if options.learn { judge::learning(&set, &ranker) } else { judge(&set, &ranker) };
        report::print_set(&judged, reader);
        if options.pairs {
            report::print_pairs(&set, &judged);
        }
        report::print_misses(&set, &judged, options.misses);
        if let Some(path) = &options.out {
            report::write_rankings(path, &set, &judged)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        all.push(judged);
    }
    report::print_mean(&all, reader);
    floors.map_or(Ok(()), |floors| floors.check(&all))
}
