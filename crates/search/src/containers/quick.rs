//! A quick hash of words for tables that many words are looked up in. Its seed is new in every process, so that nobody can
//! choose words that fall together.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The hash of a word.
pub(crate) fn hash(word: &str) -> u64 {
    let mut hasher = Quick.build_hasher();
    hasher.write(word.as_bytes());
    hasher.finish()
}

/// Makes maps that hash quickly.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quick;

impl BuildHasher for Quick {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(seed())
    }
}

pub(crate) struct QuickHasher(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut state = self.0 ^ bytes.len() as u64;
        let mut rest = bytes;
        while let Some((eight, after)) = rest.split_first_chunk::<8>() {
            state = fold(state ^ u64::from_le_bytes(*eight));
            rest = after;
        }
        let mut last = [0; 8];
        for (place, byte) in last.iter_mut().zip(rest) {
            *place = *byte;
        }
        self.0 = fold(state ^ u64::from_le_bytes(last));
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 ^= u64::from(byte);
    }

    fn finish(&self) -> u64 {
        fold(self.0)
    }
}

/// Both halves of a product, so that every bit matters to every other.
fn fold(state: u64) -> u64 {
    let product = u128::from(state) * u128::from(FACTOR);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(FACTOR))
}
