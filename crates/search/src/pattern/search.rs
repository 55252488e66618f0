//! Search by a regular expression. Many tools may have to be looked at, so it is done in steps, each with a deadline:
//! whoever searches decides how long it may take, and lets others on in between.

use std::time::Instant;

use crate::index::Index;
use crate::pattern::{Pattern, Texts};
use crate::ranking::hit::{Hit, Matched};

/// What to look for by a pattern.
pub struct PatternQuery<'a, T> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// The most hits.
    pub limit: usize,
    /// The texts of a document, or `None` if it may not be found at all.
    pub texts: &'a (dyn for<'t> Fn(&'t T) -> Option<Texts<'t>> + Sync),
    /// When to give up.
    pub until: Instant,
}

/// A search by a pattern on its way.
pub struct PatternSearch<'s, 'i, T: Clone> {
    indexes: &'s [&'i Index<T>],
    query: &'s PatternQuery<'s, T>,
    /// The index and the slot that are next.
    next: (usize, u32),
    looked_at: usize,
    found: Vec<PatternMatch<'i, T>>,
}

struct PatternMatch<'i, T> {
    score: f32,
    field: &'static str,
    key: &'i str,
    value: &'i T,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to look at.
    Going,
    /// There is more, but no time is left.
    GivenUp,
    /// Everything was looked at.
    Done,
}

impl<'s, 'i, T: Clone> PatternSearch<'s, 'i, T> {
    /// A search in all those indexes that has looked at nothing yet.
    pub const fn new(indexes: &'s [&'i Index<T>], query: &'s PatternQuery<'s, T>) -> Self {
        Self { indexes, query, next: (0, 0), looked_at: 0, found: Vec::new() }
    }

    /// Looks at documents until then, and at one at least.
    pub fn step(&mut self, until: Instant) -> Progress {
        loop {
            let (at, slot) = self.next;
            let Some(index) = self.indexes.get(at) else { return Progress::Done };
            let Some(slot) = index.next_with(slot, &self.query.pattern.needs) else {
                self.next = (at + 1, 0);
                continue;
            };
            let now = Instant::now();
            if now >= self.query.until {
                return Progress::GivenUp;
            }
            self.next.1 = slot + 1;
            self.look_at(index, slot);
            if now >= until {
                return Progress::Going;
            }
        }
    }

    /// How many documents were looked at.
    pub const fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// The hits so far, the best first, equals by key.
    pub fn hits(mut self) -> Vec<Hit<T>> {
        let order = |one: &PatternMatch<'_, T>, another: &PatternMatch<'_, T>| {
            another.score.total_cmp(&one.score).then_with(|| one.key.cmp(another.key))
        };
        self.found.sort_by(order);
        self.found.truncate(self.query.limit);
        let hit = |PatternMatch { score, field, value, .. }| {
            let matched = Matched { word: self.query.pattern.text.clone(), by: None, field, weight: score };
            Hit { value: T::clone(value), score, matched: vec![matched] }
        };
        self.found.into_iter().map(hit).collect()
    }

    fn look_at(&mut self, index: &'i Index<T>, slot: u32) {
        let Some(record) = index.record(slot) else { return };
        let Some(texts) = (self.query.texts)(&record.value) else { return };
        self.looked_at += 1;
        if let Some((score, field)) = self.query.pattern.score(&texts, self.query.until) {
            self.found.push(PatternMatch { score, field, key: &record.key, value: &record.value });
        }
    }
}
