//! One search over one or several indexes.

use crate::hit::{Hit, Matched};
use crate::index::Index;
use crate::learnt::Learnt;

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

/// The best hits of all those indexes taken together, the best first; never one without a score.
pub fn search<T: Clone>(indexes: &[&Index<T>], query: &Query<'_, T>) -> Vec<Hit<T>> {
    let words: Vec<String> = query.text.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut hits = Vec::new();
    for kept in indexes.iter().flat_map(|index| index.documents.values()) {
        let found: Vec<&String> = words.iter().filter(|word| kept.text.contains(word.as_str())).collect();
        if found.is_empty() || !(query.accept)(&kept.value) {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "queries have few words")]
        let score = found.len() as f32 / words.len() as f32;
        let matched = found.iter().map(|word| Matched {
            word: (*word).clone(),
            by: None,
            field: "description",
            weight: 1.0,
        });
        hits.push(Hit { value: kept.value.clone(), score, matched: matched.collect() });
    }
    hits.sort_by(|one, another| another.score.total_cmp(&one.score));
    hits.truncate(query.limit);
    hits
}
