//! Ranks as the gateway does: by words, and with a table also by meaning.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use toolrail_search::semantic::{Closeness, Embedding, Reach, StaticTable, Vectors, meaning_text};
use toolrail_search::{Extras, Index, Learnt, Meaning, Parameters, Query, search_with};

use super::data::{Form, Set};
use super::metrics::DEPTH;

/// An English table.
const REACH: Reach = Reach::Latin;

/// How the tools are indexed and ranked.
#[derive(Default)]
pub(crate) struct Ranker {
    pub(crate) form: Form,
    pub(crate) parameters: Parameters,
    pub(crate) table: Option<StaticTable>,
}

/// A ranker with the tools of one set.
pub(super) struct Prepared<'a> {
    ranker: &'a Ranker,
    set: &'a Set,
    index: Index<usize>,
    vectors: Vectors<usize>,
}

/// What a query means, and what is near to it.
struct Near {
    vector: Embedding,
    closeness: Closeness,
    candidates: Vec<Arc<str>>,
}

/// Reads a table of vectors and its tokenizer.
pub(super) fn read_table(table: &Path, tokenizer: &Path) -> Result<StaticTable> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    Ok(StaticTable::read(read(table)?, &read(tokenizer)?, REACH)?)
}

impl Ranker {
    pub(super) fn prepare<'a>(&'a self, set: &'a Set) -> Prepared<'a> {
        let index = set.index(self.form, &self.parameters);
        let mut vectors = Vectors::default();
        if let Some(table) = &self.table {
            let texts = set.tools.iter().map(|tool| meaning_text(&tool.document(self.form))).enumerate();
            let meant = texts.filter(|(_, text)| REACH.covers(text));
            vectors.apply(meant.map(|(place, text)| {
                (set.tools[place].id.clone(), table.vector(&text).map(|vector| (vector, place)))
            }));
        }
        Prepared { ranker: self, set, index, vectors }
    }
}

impl Prepared<'_> {
    /// The places of the best tools.
    pub(super) fn find(&self, text: &str, learnt: Option<&Learnt>) -> Vec<usize> {
        let query = Query { text, limit: DEPTH, accept: &|_| true, prior: &|_| 0.0, learnt };
        let table = self.ranker.table.as_ref().filter(|_| REACH.covers(text));
        let near = table.and_then(|table| table.vector(text)).map(|vector| self.near(vector));
        let score = |place: &usize| near.as_ref().map_or(0.0, |near| self.score(near, *place));
        let meaning = near.as_ref().map(|near| Meaning { score: &score, candidates: &near.candidates });
        let extras = Extras { parameters: &self.ranker.parameters, meaning };
        search_with(&[&self.index], &query, &extras).iter().map(|hit| hit.value).collect()
    }

    fn near(&self, vector: Embedding) -> Near {
        let nearest = self.vectors.nearest(&vector, Closeness::MOST_CANDIDATES, &|_| true);
        let closeness = Closeness::new(nearest.total, self.vectors.len());
        let best = nearest.best.iter().filter(|(_, cosine)| closeness.is_near(*cosine));
        let candidates = best.map(|(place, _)| Arc::clone(&self.set.tools[*place].id)).collect();
        Near { vector, closeness, candidates }
    }

    fn score(&self, near: &Near, place: usize) -> f32 {
        let cosine = self.vectors.nearness(&self.set.tools[place].id, &near.vector);
        cosine.map_or(0.0, |cosine| near.closeness.score(cosine))
    }
}
