//! Parts of the queries, by their ids, so that a query is always in the same one.

use crate::search_eval::{Query, spread};

/// A number of parts.
#[derive(Clone, Copy)]
pub(super) struct Folds(u64);

impl Folds {
    pub(super) fn new(count: u64) -> Self {
        Self(count.max(1))
    }

    pub(super) fn all(self) -> std::ops::Range<u64> {
        0..self.0
    }

    pub(super) fn has(self, fold: u64, query: &Query) -> bool {
        spread(&query.id) % self.0 == fold
    }

    #[expect(clippy::cast_precision_loss, reason = "there are at most twenty")]
    pub(super) fn count(self) -> f64 {
        self.0 as f64
    }
}
