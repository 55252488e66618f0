//! One search over one or several indexes.

use std::sync::Arc;

use crate::candidates;
use crate::hit::Hit;
use crate::index::{Index, Record};
use crate::learnt::Learnt;
use crate::parameters::Parameters;
use crate::rank;
use crate::wanted;

/// What to look for.
pub struct Query<'a, T> {
    /// What somebody wants to do, in words.
    pub text: &'a str,
    /// The most hits.
    pub limit: usize,
    /// Whether a document may be found at all.
    pub accept: &'a (dyn Fn(&T) -> bool + Sync),
    /// How much more likely than others a document is what is wanted, whatever the words: 0 for one that was never used.
    pub prior: &'a (dyn Fn(&T) -> f32 + Sync),
    /// What was learnt from use, if anything.
    pub learnt: Option<&'a Learnt>,
}

/// What a search takes beside the query.
pub struct Extras<'a, T> {
    /// The numbers of the ranking; the indexes have their own for what is decided when a document is indexed.
    pub parameters: &'a Parameters,
    /// What is known of the meaning, if anything.
    pub meaning: Option<Meaning<'a, T>>,
}

/// How near documents are to the query by meaning.
pub struct Meaning<'a, T> {
    /// From 0 to 1 for a document.
    pub score: &'a (dyn Fn(&T) -> f32 + Sync),
    /// Keys of documents to look at, whatever words they have.
    pub candidates: &'a [Arc<str>],
}

/// The best hits of all those indexes taken together, the best first; never one without a score.
pub fn search<T: Clone>(indexes: &[&Index<T>], query: &Query<'_, T>) -> Vec<Hit<T>> {
    search_with(indexes, query, &Extras { parameters: &Parameters::default(), meaning: None })
}

/// [`search`] with other numbers, or with what is known of the meaning.
pub fn search_with<T: Clone>(
    indexes: &[&Index<T>],
    query: &Query<'_, T>,
    extras: &Extras<'_, T>,
) -> Vec<Hit<T>> {
    let parameters = extras.parameters;
    let mut wish = wanted::read(query.text, parameters);
    let probes = crate::probe::look_up(indexes, &mut wish, parameters);
    let mut best: Vec<(f32, &Arc<Record<T>>)> = Vec::new();
    for (at, index) in indexes.iter().enumerate() {
        let candidates = candidates::candidates(index, at, (&wish, &probes), query.accept);
        let (ranked, _finds) = rank::rank(index, at, (&wish, &probes, parameters), &candidates);
        for one in ranked {
            if let Some(record) = index.record(one.slot) {
                best.push((one.score, record));
            }
        }
    }
    best.sort_by(|one, another| another.0.total_cmp(&one.0).then_with(|| one.1.key.cmp(&another.1.key)));
    best.truncate(query.limit);
    best.into_iter()
        .filter(|(score, _)| *score > 0.0)
        .map(|(score, record)| Hit {
            value: record.value.clone(),
            score: score.min(1.0),
            matched: Vec::new(),
        })
        .collect()
}
