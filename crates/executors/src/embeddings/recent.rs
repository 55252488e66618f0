//! The vectors of the last queries: agents ask the same again.

use std::collections::HashMap;

use toolrail_core::Embedding;

use super::vault::VectorKey;

/// The most that are kept; then the older half goes.
const MOST: usize = 512;

/// Vectors by key, the last used ones.
#[derive(Default)]
pub(super) struct Recent {
    vectors: HashMap<VectorKey, (Embedding, u64)>,
    uses: u64,
}

impl Recent {
    pub(super) fn find(&mut self, key: &VectorKey) -> Option<Embedding> {
        self.uses += 1;
        let (vector, used) = self.vectors.get_mut(key)?;
        *used = self.uses;
        Some(vector.clone())
    }

    pub(super) fn put(&mut self, key: VectorKey, vector: Embedding) {
        if self.vectors.len() >= MOST {
            let mut uses: Vec<u64> = self.vectors.values().map(|(_, used)| *used).collect();
            let (_, middle, _) = uses.select_nth_unstable(MOST / 2);
            let middle = *middle;
            self.vectors.retain(|_, (_, used)| *used >= middle);
        }
        self.uses += 1;
        self.vectors.insert(key, (vector, self.uses));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_used_ones_stay() {
        let mut recent = Recent::default();
        let vector = Embedding::towards(&[1.0, 2.0]).unwrap();
        let key = |number: usize| VectorKey::of("model", None, &number.to_string());
        for number in 0..5000 {
            recent.put(key(number), vector.clone());
            assert!(recent.find(&key(0)).is_some(), "{number}");
            assert!(recent.vectors.len() <= MOST);
        }
        assert!(recent.find(&key(1)).is_none() && recent.find(&key(4999)).is_some());
    }
}
