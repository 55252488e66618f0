//! Coordinate ascent: one number after the other is moved up and down, and stays where it does most good.

use toolrail_search::Parameters;

use super::TuneOptions;
use super::trial::Trial;
use crate::search_eval::{Query, spread};

/// All numbers that a cold search uses. What was learnt, priors and meaning are not in the sets.
pub(super) const NAMES: &[&str] = &[
    "weights.0",
    "weights.1",
    "weights.2",
    "weights.3",
    "weights.4",
    "weights.5",
    "weights.6",
    "weights.7",
    "weights.8",
    "lengths.0",
    "lengths.1",
    "lengths.2",
    "lengths.3",
    "lengths.4",
    "lengths.5",
    "lengths.6",
    "lengths.7",
    "lengths.8",
    "saturation",
    "rarity",
    "background",
    "proper",
    "related",
    "gloss",
    "bigram",
    "joined",
    "number",
    "corrected",
    "filler",
    "quoted",
    "literal",
    "further",
    "clause",
    "clause_size",
    "name_covered",
    "query_covered",
    "pairs",
    "exact",
    "early",
];

/// The factors of the first round; each further round halves how far they are from 1.
const STEPS: [f32; 4] = [0.5, 0.75, 1.4, 2.0];
/// Where a number that is 0 is tried in the first round.
const FROM_ZERO: f32 = 0.1;
/// A gain in nDCG@10 below this is noise, and the committed number stays.
const LEAST_GAIN: f64 = 0.03;

/// The best numbers that were found, beginning with the committed ones.
pub(super) fn ascend(
    trial: &Trial<'_>,
    options: &TuneOptions,
    chosen: impl Fn(&Query) -> bool + Sync,
) -> Parameters {
    let mut best = Parameters::default();
    let mut score = trial.score(&best, &chosen);
    let mut shrink = 1.0;
    for round in 0..options.rounds {
        let start = score;
        for name in order(round).filter(|name| wants(options, name)) {
            for value in values(best.get(name).unwrap_or(0.0), shrink) {
                let mut other = best.clone();
                other.set(name, value);
                let reached = trial.score(&other, &chosen);
                if reached > score + LEAST_GAIN {
                    (best, score) = (other, reached);
                }
            }
        }
        eprintln!("round {}: {start:.2} -> {score:.2}", round + 1);
        shrink /= 2.0;
    }
    best
}

fn wants(options: &TuneOptions, name: &str) -> bool {
    options.only.is_empty() || options.only.iter().any(|only| only == name)
}

/// Another order in every round, but the same in every run.
fn order(round: u64) -> impl Iterator<Item = &'static str> {
    let mut names = NAMES.to_vec();
    names.sort_by_key(|name| spread(&format!("{round} {name}")));
    names.into_iter()
}

/// What to try instead of a value, with two digits behind the point that matter.
fn values(value: f32, shrink: f32) -> Vec<f32> {
    if value.abs() < f32::EPSILON {
        return vec![FROM_ZERO * shrink];
    }
    let tried = STEPS.iter().map(|step| value * (1.0 + (step - 1.0) * shrink));
    tried.map(|value| if value > 10.0 { value.round() } else { (value * 1000.0).round() / 1000.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_number_of_the_ranking_that_can_be_set() {
        for name in NAMES {
            let mut parameters = Parameters::default();
            assert!(parameters.set(name, 7.5), "{name}");
            assert_eq!(parameters.get(name), Some(7.5), "{name}");
        }
    }

    #[test]
    fn steps_get_smaller_and_leave_zero() {
        assert_eq!(values(1.0, 1.0), [0.5, 0.75, 1.4, 2.0]);
        assert_eq!(values(1.0, 0.5), [0.75, 0.875, 1.2, 1.5]);
        assert_eq!(values(0.0, 1.0), [0.1]);
    }

    #[test]
    fn the_order_is_the_same_in_every_run() {
        assert!(order(1).eq(order(1)));
        assert_eq!(order(0).count(), NAMES.len());
    }
}
