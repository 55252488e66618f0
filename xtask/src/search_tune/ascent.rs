//! Coordinate ascent: one number after the other is moved up and down, and stays where it does most good.

use toolrail_search::{ParameterField, Parameters};

use super::TuneOptions;
use super::trial::Trial;
use crate::search_eval::{Query, spread};

/// What the sets say nothing about: what was learnt, priors and meaning.
const OTHERS: &[&str] = &["learnt", "nearness", "voices", "prior", "meaning"];

/// All numbers that a cold search uses.
pub(super) fn tunable() -> impl Iterator<Item = &'static ParameterField> {
    Parameters::FIELDS.iter().filter(|field| !OTHERS.contains(&field.name))
}

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
        for field in order(round).filter(|field| wants(options, field.name)) {
            for value in values((field.get)(&best), shrink) {
                let mut other = best.clone();
                (field.set)(&mut other, value.clamp(field.low, field.high));
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
fn order(round: u64) -> impl Iterator<Item = &'static ParameterField> {
    let mut fields: Vec<_> = tunable().collect();
    fields.sort_by_key(|field| spread(&format!("{round} {}", field.name)));
    fields.into_iter()
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
    fn the_committed_numbers_lie_within_their_bounds() {
        for field in tunable() {
            let value = (field.get)(&Parameters::default());
            assert!((field.low..=field.high).contains(&value), "{}: {value}", field.name);
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
        let names = |round| order(round).map(|field| field.name).collect::<Vec<_>>();
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
    }
}
