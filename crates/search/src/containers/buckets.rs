//! Numbers by the hash of what they stand for. The texts stay where they are: whoever asks compares them. A copy shares every
//! bucket with the original until one of them changes it.

use std::sync::Arc;

/// A part of the hash, to look at before the text, and the number.
type BucketEntry = (u32, u32);

#[derive(Clone)]
pub(crate) struct Buckets {
    /// By the low bits of the hash; always a power of two.
    shared: Arc<Vec<Arc<Vec<BucketEntry>>>>,
    count: usize,
    /// Entries to a bucket, on average, at most.
    fill: usize,
}

impl Buckets {
    /// An empty one. Full buckets take less memory, others are found in sooner.
    pub(crate) fn new(fill: usize) -> Self {
        Self { shared: Arc::new(vec![Arc::default(); 16]), count: 0, fill }
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The numbers that may be under that hash: nearly always the one or none.
    pub(crate) fn find(&self, hash: u64) -> impl Iterator<Item = u32> {
        let (bucket, tag) = place(hash, self.shared.len());
        let entries = self.shared.get(bucket).map_or(&[][..], |bucket| bucket.as_slice());
        entries.iter().filter(move |entry| entry.0 == tag).map(|entry| entry.1)
    }

    /// Adds a number that is not there. `hash_of` is asked for the hashes of others.
    pub(crate) fn add(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        self.count += 1;
        if self.count > self.shared.len() * self.fill {
            self.widen(hash_of);
        }
        let (bucket, tag) = place(hash, self.shared.len());
        if let Some(bucket) = Arc::make_mut(&mut self.shared).get_mut(bucket) {
            let bucket = Arc::make_mut(bucket);
            if bucket.len() == bucket.capacity() {
                bucket.reserve_exact((bucket.len() / 4).max(4));
            }
            bucket.push((tag, number));
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let (bucket, _) = place(hash, self.shared.len());
        if let Some(bucket) = Arc::make_mut(&mut self.shared).get_mut(bucket) {
            let before = bucket.len();
            let bucket = Arc::make_mut(bucket);
            bucket.retain(|entry| entry.1 != number);
            self.count -= before - bucket.len();
        }
    }

    /// Doubles the buckets.
    fn widen(&mut self, hash_of: impl Fn(u32) -> u64) {
        let mut buckets: Vec<Vec<BucketEntry>> = vec![Vec::new(); self.shared.len() * 2];
        let count = buckets.len();
        for (tag, number) in self.shared.iter().flat_map(|bucket| bucket.iter().copied()) {
            if let Some(bucket) = buckets.get_mut(place(hash_of(number), count).0) {
                bucket.push((tag, number));
            }
        }
        self.shared = Arc::new(buckets.into_iter().map(Arc::new).collect());
    }
}

/// The bucket of a hash, and the part of it that is kept.
fn place(hash: u64, buckets: usize) -> (usize, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "two halves of the hash")]
    let (low, high) = (hash as u32, (hash >> 32) as u32);
    (low as usize & (buckets - 1), high)
}
