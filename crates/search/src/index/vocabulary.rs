//! The terms of an index and where they occur. Terms have numbers, which are used again when the last document with a term
//! is gone, so that years of changes leave nothing behind.

use std::sync::Arc;

use crate::containers::buckets::Buckets;
use crate::containers::pages::Pages;
use crate::containers::quick;
use crate::index::common;
use crate::index::postings::Postings;
use crate::index::spellings::Spellings;

/// Entries to a bucket, on average, at most.
const BUCKET: usize = 12;

#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) text: Box<str>,
    /// See [`common::commonness`].
    pub(crate) common: f32,
    pub(crate) postings: Postings,
}

#[derive(Clone)]
pub(crate) struct Vocabulary {
    terms: Pages<Term>,
    numbers: Buckets,
    spellings: Spellings,
    /// Numbers to use again.
    free: Arc<Vec<u32>>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let spellings = Spellings::default();
        Self { terms: Pages::default(), numbers: Buckets::new(BUCKET), spellings, free: Arc::default() }
    }
}

impl Vocabulary {
    /// The term of that text, whose hash is known.
    pub(crate) fn find_hashed(&self, text: &str, hash: u64) -> Option<(u32, &Term)> {
        self.numbers
            .find(hash)
            .find_map(|id| self.terms.get(id).filter(|term| &*term.text == text).map(|term| (id, term)))
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Term> {
        self.terms.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Term> {
        self.terms.get_mut(id)
    }

    /// The number of a term, a new one if there is none. The caller gives it postings.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        let hash = quick::hash(text);
        if let Some((id, _)) = self.find_hashed(text, hash) {
            return id;
        }
        let term =
            Term { text: text.into(), common: common::commonness(text), postings: Postings::default() };
        let id = match Arc::make_mut(&mut self.free).pop() {
            Some(id) => {
                if let Some(place) = self.terms.get_mut(id) {
                    *place = term;
                }
                id
            }
            None => self.terms.push(term),
        };
        let terms = &self.terms;
        let hash_of = |id| terms.get(id).map_or(0, |term| quick::hash(&term.text));
        self.numbers.add(hash, id, hash_of);
        self.spellings.add(text, id);
        id
    }

    /// Gives up a term that no document has any more.
    pub(crate) fn drop_term(&mut self, id: u32) {
        let Some(term) = self.terms.get_mut(id) else { return };
        let text = std::mem::take(&mut term.text);
        term.postings = Postings::default();
        self.numbers.remove(quick::hash(&text), id);
        self.spellings.remove(&text, id);
        Arc::make_mut(&mut self.free).push(id);
    }

    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }
}
