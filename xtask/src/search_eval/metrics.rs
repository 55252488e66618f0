//! How good a ranking is, by the measures that tool retrieval is judged by. All are means over queries, in percent.

use std::collections::HashSet;

use serde_json::{Value, json};

/// How many hits are looked at.
pub(crate) const DEPTH: usize = 10;

/// One measure: its name, and its value in a summary.
pub(crate) type Measure = (&'static str, fn(&Quality) -> f64);

/// The measures that are printed, in that order.
pub(crate) const MEASURES: &[Measure] = &[
    ("hit@1", |quality| quality.hit_at_1),
    ("R@5", |quality| quality.recall_at_5),
    ("R@10", |quality| quality.recall_at_10),
    ("nDCG@10", |quality| quality.ndcg_at_10),
    ("MRR", |quality| quality.reciprocal_rank),
    ("C@10", |quality| quality.complete_at_10),
];

/// The quality of one ranking from 0 to 1, or the mean of many in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Quality {
    /// Whether the first hit is relevant.
    pub(crate) hit_at_1: f64,
    /// The share of relevant tools among the first five.
    pub(crate) recall_at_5: f64,
    /// The share of relevant tools among the first ten.
    pub(crate) recall_at_10: f64,
    /// How far up the relevant ones are, against the best order there is.
    pub(crate) ndcg_at_10: f64,
    /// One over the place of the first relevant one.
    pub(crate) reciprocal_rank: f64,
    /// Whether all relevant ones are there.
    pub(crate) complete_at_10: f64,
}

impl Quality {
    /// Judges one ranking; a tool that is named twice counts once.
    pub(crate) fn of(ranked: &[usize], relevant: &HashSet<usize>) -> Self {
        let mut seen = HashSet::new();
        let ranked: Vec<usize> =
            ranked.iter().copied().filter(|tool| seen.insert(*tool)).take(DEPTH).collect();
        let places: Vec<usize> =
            (0..ranked.len()).filter(|place| relevant.contains(&ranked[*place])).collect();
        let within = |depth: usize| count(places.iter().filter(|place| **place < depth).count());
        let wanted = count(relevant.len().max(1));
        let best: f64 = (0..relevant.len().min(DEPTH)).map(gain).sum();
        // Not `sum`: that of nothing is -0.
        let reached = places.iter().copied().map(gain).fold(0.0, |sum, gain| sum + gain);
        Self {
            hit_at_1: within(1),
            recall_at_5: within(5) / wanted,
            recall_at_10: within(DEPTH) / wanted,
            ndcg_at_10: if best > 0.0 { reached / best } else { 0.0 },
            reciprocal_rank: places.first().map_or(0.0, |place| 1.0 / count(place + 1)),
            complete_at_10: if places.len() == relevant.len() { 1.0 } else { 0.0 },
        }
    }

    /// The mean of single rankings, in percent.
    pub(crate) fn percent(single: &[Self]) -> Self {
        Self::sum(single).scaled(100.0 / count(single.len().max(1)))
    }

    /// The mean of what is in percent already.
    pub(crate) fn mean(sets: &[Self]) -> Self {
        Self::sum(sets).scaled(1.0 / count(sets.len().max(1)))
    }

    fn sum(many: &[Self]) -> Self {
        many.iter().fold(Self::default(), |sum, one| Self {
            hit_at_1: sum.hit_at_1 + one.hit_at_1,
            recall_at_5: sum.recall_at_5 + one.recall_at_5,
            recall_at_10: sum.recall_at_10 + one.recall_at_10,
            ndcg_at_10: sum.ndcg_at_10 + one.ndcg_at_10,
            reciprocal_rank: sum.reciprocal_rank + one.reciprocal_rank,
            complete_at_10: sum.complete_at_10 + one.complete_at_10,
        })
    }

    fn scaled(self, factor: f64) -> Self {
        Self {
            hit_at_1: self.hit_at_1 * factor,
            recall_at_5: self.recall_at_5 * factor,
            recall_at_10: self.recall_at_10 * factor,
            ndcg_at_10: self.ndcg_at_10 * factor,
            reciprocal_rank: self.reciprocal_rank * factor,
            complete_at_10: self.complete_at_10 * factor,
        }
    }

    /// For machines.
    pub(crate) fn to_json(self) -> Value {
        MEASURES.iter().map(|(name, value)| ((*name).to_owned(), json!(value(&self)))).collect()
    }
}

/// What a relevant tool at that place is worth, from 0 on.
fn gain(place: usize) -> f64 {
    1.0 / count(place + 2).log2()
}

/// A number that says nothing about the text, but is always the same for it: to split queries without a look at them.
pub(crate) fn spread(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Single bits of such a hash hardly differ between numbered ids.
    (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33
}

/// What that share of the values stays within.
pub(crate) fn percentile(values: impl Iterator<Item = f64>, percent: usize) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of tools and queries are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(ranked: &[usize], relevant: &[usize]) -> Quality {
        Quality::of(ranked, &relevant.iter().copied().collect())
    }

    fn is_near(one: f64, another: f64) -> bool {
        (one - another).abs() < 1e-9
    }

    #[test]
    fn a_perfect_ranking_has_the_best_of_every_measure() {
        let perfect = quality(&[3, 1, 7], &[1, 3]);
        assert!(MEASURES.iter().all(|(_, value)| is_near(value(&perfect), 1.0)), "{perfect:?}");
    }

    #[test]
    fn a_ranking_without_a_relevant_tool_has_nothing() {
        assert_eq!(quality(&[4, 5], &[1]), Quality::default());
        assert_eq!(quality(&[], &[1]), Quality::default());
    }

    #[test]
    fn places_further_down_are_worth_less() {
        let second = quality(&[9, 1], &[1]);
        assert!(is_near(second.hit_at_1, 0.0) && is_near(second.reciprocal_rank, 0.5));
        assert!(is_near(second.ndcg_at_10, 1.0 / 3f64.log2()), "{second:?}");
        let sixth = quality(&[9, 8, 7, 6, 5, 1], &[1, 2]);
        assert!(is_near(sixth.recall_at_5, 0.0) && is_near(sixth.recall_at_10, 0.5));
        assert!(is_near(sixth.complete_at_10, 0.0));
        let best = 1.0 + 1.0 / 3f64.log2();
        assert!(is_near(sixth.ndcg_at_10, 1.0 / 7f64.log2() / best), "{sixth:?}");
    }

    #[test]
    fn a_tool_that_is_named_twice_counts_once_and_the_eleventh_place_does_not_count() {
        assert!(is_near(quality(&[9, 9, 1], &[1]).reciprocal_rank, 0.5));
        let late: Vec<usize> = (10..20).chain([1]).collect();
        assert_eq!(quality(&late, &[1]), Quality::default());
    }

    #[test]
    fn more_relevant_tools_than_places_can_still_be_ranked_best() {
        let relevant: Vec<usize> = (0..15).collect();
        let best = quality(&relevant[..10], &relevant);
        assert!(is_near(best.ndcg_at_10, 1.0) && is_near(best.recall_at_10, 10.0 / 15.0));
        assert!(is_near(best.complete_at_10, 0.0));
    }

    #[test]
    fn means_are_over_queries_in_percent_and_over_sets_alike() {
        let half = Quality::percent(&[quality(&[1], &[1]), quality(&[2], &[1])]);
        assert!(is_near(half.ndcg_at_10, 50.0) && is_near(half.hit_at_1, 50.0));
        let mean = Quality::mean(&[half, Quality::default()]);
        assert!(is_near(mean.ndcg_at_10, 25.0));
    }
}
