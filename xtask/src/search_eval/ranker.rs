//! Ranks as the gateway does: by words, and with a table also by meaning.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toolrail_search::semantic::{Blend, Reach, StaticTable, Vectors, blend, meaning_text};
use toolrail_search::{Extras, Hit, Index, Learnt, Parameters, Query, search_with};

use super::data::{Form, Set};
use super::metrics::DEPTH;

/// As many hits by words as the gateway looks at where meaning has a say.
const LOOKED_AT: usize = 100;
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
        let vector =
            self.ranker.table.as_ref().filter(|_| REACH.covers(text)).and_then(|table| table.vector(text));
        let Some(vector) = vector else {
            return self.by_words(text, DEPTH, learnt).iter().map(|hit| hit.value).collect();
        };
        let by_words = self.by_words(text, LOOKED_AT, learnt).into_iter().map(|hit| {
            let nearness = self.vectors.nearness(&self.set.tools[hit.value].id, &vector);
            (hit, nearness)
        });
        let by_words: Vec<_> = by_words.collect();
        let is_new = |place: usize| !by_words.iter().any(|(hit, _)| hit.value == place);
        let nearest = self.vectors.nearest(&vector, LOOKED_AT, &|_| true).into_iter();
        let nearest = nearest.filter(|(place, _)| is_new(*place)).collect();
        blend(by_words, nearest, DEPTH, Blend::default()).iter().map(|hit| hit.value).collect()
    }

    fn by_words(&self, text: &str, limit: usize, learnt: Option<&Learnt>) -> Vec<Hit<usize>> {
        let query = Query { text, limit, accept: &|_| true, prior: &|_| 0.0, learnt };
        let extras = Extras { parameters: &self.ranker.parameters, meaning: None };
        search_with(&[&self.index], &query, &extras)
    }
}
