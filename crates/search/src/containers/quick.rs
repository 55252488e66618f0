//! A quick hash of words for tables that many words are looked up in. Its seed is new in every process, so that nobody can
//! choose words that fall together.

use std::hash::Hasher;

use foldhash::SharedSeed;
use foldhash::quality::{FoldHasher, RandomState};

/// Makes maps that hash quickly.
pub(crate) type Quick = RandomState;

/// The hash of a word, the same wherever it is asked for.
pub(crate) fn hash(word: &str) -> u64 {
    let mut hasher = FoldHasher::with_seed(0, SharedSeed::global_random());
    hasher.write(word.as_bytes());
    hasher.finish()
}
