//! `cargo xtask search-tune`: looks for better numbers of the ranking, the same way in every run, and says honestly how much
//! they would gain on queries that were not looked at. It changes nothing: whoever believes it puts the numbers in.

mod ascent;
mod folds;
mod trial;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use toolrail_search::Parameters;

use crate::search_eval::{Set, read_all};
use crate::workspace::Workspace;
use ascent::{ascend, tunable};
use folds::Folds;
use trial::Trial;

#[derive(Args)]
pub(crate) struct TuneOptions {
    /// Folders of sets to tune on; without any, the set that comes with the search
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Into how many parts the queries are split: each is judged by what was tuned on the others
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..=20))]
    folds: u64,
    /// How often every number is tried, with smaller and smaller steps
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=10))]
    rounds: u64,
    /// Tune only these, for instance `gloss` or `weights.0`; without any, all of them
    #[arg(long = "only", value_name = "NAME", value_parser = known_name)]
    only: Vec<String>,
}

fn known_name(name: &str) -> Result<String, String> {
    let names: Vec<&str> = tunable().map(|field| field.name).collect();
    let is_known = names.contains(&name);
    is_known.then(|| name.to_owned()).ok_or_else(|| format!("use one of {}", names.join(", ")))
}

pub(crate) fn run(options: &TuneOptions) -> Result<()> {
    let sets = read_sets(options)?;
    let committed = Parameters::default();
    let all = Trial::new(&sets);
    println!("committed numbers: nDCG@10 {:.2}", all.score(&committed, |_| true));
    let (mut before, mut after) = (0.0, 0.0);
    let folds = Folds::new(options.folds);
    for fold in folds.all() {
        let tuned = ascend(&all, options, |query| !folds.has(fold, query));
        let held = |parameters: &Parameters| all.score(parameters, |query| folds.has(fold, query));
        let (old, new) = (held(&committed), held(&tuned));
        println!("fold {}: {old:.2} committed, {new:.2} tuned on the others", fold + 1);
        (before, after) = (before + old, after + new);
    }
    let gained = (after - before) / folds.count();
    println!("on queries that were not looked at, tuning gains {gained:+.2}");
    let tuned = ascend(&all, options, |_| true);
    println!("tuned on all: nDCG@10 {:.2}", all.score(&tuned, |_| true));
    print_difference(&committed, &tuned);
    println!("{tuned:#?}");
    Ok(())
}

fn read_sets(options: &TuneOptions) -> Result<Vec<Set>> {
    let own = [Workspace::find()?.root.join("crates/search/tuning")];
    let folders = if options.folders.is_empty() { &own[..] } else { &options.folders };
    let mut sets = Vec::new();
    for folder in folders {
        sets.extend(read_all(folder, None, &[])?);
    }
    Ok(sets)
}

fn print_difference(committed: &Parameters, tuned: &Parameters) {
    let mut differing = 0;
    for field in tunable() {
        let (old, new) = ((field.get)(committed), (field.get)(tuned));
        if (old - new).abs() > f32::EPSILON {
            differing += 1;
            println!("  {}: {old} committed, {new} tuned", field.name);
        }
    }
    println!("{differing} of {} numbers differ from the committed ones", tunable().count());
}
