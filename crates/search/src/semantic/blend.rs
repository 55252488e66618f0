//! Adds nearness of meaning to the hits by words. Scores are added, not ranks: a rank forgets by how much the first was
//! better than the second.

use crate::hit::{Hit, Matched};

/// How much nearness of meaning counts.
#[derive(Clone, Copy, Debug)]
pub struct Blend {
    /// The share of a cosine of 1, where the best score by words is 1.
    pub weight: f32,
    /// From which cosine on a document is a hit that shares no word with the query.
    pub alone: f32,
}

impl Default for Blend {
    fn default() -> Self {
        Self { weight: 0.5, alone: 0.4 }
    }
}

/// Hits by words, with the nearness of each, and near documents that the words did not find: the best `limit` of all.
pub fn blend<T>(
    by_words: Vec<(Hit<T>, Option<f32>)>,
    by_meaning: Vec<(T, f32)>,
    limit: usize,
    blend: Blend,
) -> Vec<Hit<T>> {
    let full = 1.0 + blend.weight;
    let found = by_words.into_iter().map(|(mut hit, nearness)| {
        let share = blend.weight * nearness.unwrap_or(0.0).max(0.0) / full;
        hit.score = hit.score / full + share;
        if share > 0.0 {
            hit.matched.push(meaning(share));
        }
        hit
    });
    let near =
        by_meaning.into_iter().filter(|(_, nearness)| *nearness >= blend.alone).map(|(value, nearness)| {
            let share = blend.weight * nearness / full;
            Hit { value, score: share, matched: vec![meaning(share)] }
        });
    let mut hits: Vec<Hit<T>> = found.chain(near).collect();
    hits.sort_by(|one, another| another.score.total_cmp(&one.score));
    hits.truncate(limit);
    hits
}

fn meaning(weight: f32) -> Matched {
    Matched { word: String::new(), by: None, field: "meaning", weight }
}
