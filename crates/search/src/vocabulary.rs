//! The terms of an index and where they occur. Terms have numbers, which are used again when the last document with a term
//! is gone, so that years of changes leave nothing behind.

use std::sync::Arc;

use crate::common;
use crate::pages::Pages;
use crate::postings::Postings;
use crate::quick;
use crate::spelling::Spellings;

/// Entries to a bucket, on average, at most.
const BUCKET: usize = 12;

#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) text: Box<str>,
    /// See [`common::commonness`].
    pub(crate) common: f32,
    pub(crate) postings: Postings,
}

/// A part of a term's hash, to look at before its text, and its number.
type Entry = (u32, u32);

#[derive(Clone)]
pub(crate) struct Vocabulary {
    terms: Pages<Term>,
    /// By the low bits of the hash; always a power of two.
    buckets: Arc<Vec<Arc<Vec<Entry>>>>,
    spellings: Spellings,
    /// Numbers to use again.
    free: Arc<Vec<u32>>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let buckets = Arc::new(vec![Arc::default(); 16]);
        let spellings = Spellings::default();
        Self { terms: Pages::default(), buckets, spellings, free: Arc::default() }
    }
}

impl Vocabulary {
    pub(crate) fn find(&self, text: &str) -> Option<(u32, &Term)> {
        self.find_hashed(text, quick::hash(text))
    }

    /// [`Self::find`] for a text whose hash is known.
    pub(crate) fn find_hashed(&self, text: &str, hash: u64) -> Option<(u32, &Term)> {
        let (bucket, tag) = self.place(hash);
        let entries = self.buckets.get(bucket)?;
        let mut same = entries.iter().filter(|entry| entry.0 == tag);
        same.find_map(|(_, id)| {
            self.terms.get(*id).filter(|term| &*term.text == text).map(|term| (*id, term))
        })
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Term> {
        self.terms.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Term> {
        self.terms.get_mut(id)
    }

    /// The number of a term, a new one if there is none. The caller gives it postings.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some((id, _)) = self.find(text) {
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
        if self.terms.len() > self.buckets.len() * BUCKET {
            self.widen();
        }
        let (bucket, tag) = self.place(quick::hash(text));
        if let Some(bucket) = Arc::make_mut(&mut self.buckets).get_mut(bucket) {
            Arc::make_mut(bucket).push((tag, id));
        }
        self.spellings.add(text, id);
        id
    }

    /// Gives up a term that no document has any more.
    pub(crate) fn drop_term(&mut self, id: u32) {
        let Some(term) = self.terms.get_mut(id) else { return };
        let text = std::mem::take(&mut term.text);
        term.postings = Postings::default();
        let (bucket, _) = self.place(quick::hash(&text));
        if let Some(bucket) = Arc::make_mut(&mut self.buckets).get_mut(bucket) {
            Arc::make_mut(bucket).retain(|entry| entry.1 != id);
        }
        self.spellings.remove(&text, id);
        Arc::make_mut(&mut self.free).push(id);
    }

    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    fn place(&self, hash: u64) -> (usize, u32) {
        #[expect(clippy::cast_possible_truncation, reason = "two halves of the hash")]
        let (low, high) = (hash as u32, (hash >> 32) as u32);
        (low as usize & (self.buckets.len() - 1), high)
    }

    /// Doubles the buckets.
    fn widen(&mut self) {
        let mut buckets: Vec<Vec<Entry>> = vec![Vec::new(); self.buckets.len() * 2];
        for entry in self.buckets.iter().flat_map(|bucket| bucket.iter()) {
            let Some(term) = self.terms.get(entry.1) else { continue };
            let hash = quick::hash(&term.text);
            #[expect(clippy::cast_possible_truncation, reason = "the low half of the hash")]
            let bucket = hash as u32 as usize & (buckets.len() - 1);
            if let Some(bucket) = buckets.get_mut(bucket) {
                bucket.push(*entry);
            }
        }
        self.buckets = Arc::new(buckets.into_iter().map(Arc::new).collect());
    }
}
