//! The vectors of many documents, and the nearest of them. A copy costs nothing and shares with the original whatever neither
//! changes: they lie in chunks, of which a change copies one.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rpds::HashTrieMapSync;
use toolrail_core::Embedding;

/// How many vectors lie together: enough to be quick to go through, few enough to be quick to copy.
const CHUNK: usize = 128;

/// Vectors with their values, under unique keys.
#[derive(Clone)]
pub struct Vectors<T: Clone> {
    dimensions: usize,
    chunks: Arc<Vec<Arc<Chunk<T>>>>,
    places: HashTrieMapSync<Arc<str>, usize>,
}

/// The nearest vectors to one.
pub struct Nearest<T> {
    /// Their values, each with its cosine.
    pub best: Vec<(T, f32)>,
    /// The cosines of all vectors together, accepted or not: what is usual here.
    pub total: f64,
}

#[derive(Clone)]
struct Chunk<T> {
    numbers: Vec<i8>,
    entries: Vec<VectorEntry<T>>,
}

#[derive(Clone)]
struct VectorEntry<T> {
    key: Arc<str>,
    value: T,
    scale: f32,
}

impl<T: Clone> Default for Vectors<T> {
    fn default() -> Self {
        Self { dimensions: 0, chunks: Arc::default(), places: HashTrieMapSync::new_sync() }
    }
}

impl<T: Clone> Vectors<T> {
    /// Adds or replaces the vector of each key that comes with one, and removes the others. A vector with other dimensions
    /// than the first one is left out.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = (Arc<str>, Option<(Embedding, T)>)>) {
        for (key, change) in changes {
            match change {
                Some((vector, value)) => self.put(key, &vector, value),
                None => self.remove(&key),
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The cosine of the vector of that key and another.
    pub fn nearness(&self, key: &str, vector: &Embedding) -> Option<f32> {
        let place = *self.places.get(key)?;
        let chunk = self.chunks.get(place / CHUNK)?;
        let numbers = chunk.numbers.chunks_exact(self.dimensions).nth(place % CHUNK)?;
        let entry = chunk.entries.get(place % CHUNK)?;
        self.fits(vector).then(|| cosine(numbers, entry.scale, vector))
    }

    /// The `count` nearest ones among those that are accepted, the nearest first. The order of equally near ones is that of
    /// their keys.
    pub fn nearest(&self, vector: &Embedding, count: usize, accept: &dyn Fn(&T) -> bool) -> Nearest<T> {
        let mut total = 0.0;
        if !self.fits(vector) || count == 0 {
            return Nearest { best: Vec::new(), total };
        }
        let mut best: BinaryHeap<Near<'_, T>> = BinaryHeap::with_capacity(count + 1);
        for chunk in self.chunks.iter() {
            for (numbers, entry) in chunk.numbers.chunks_exact(self.dimensions).zip(&chunk.entries) {
                let near = Near { cosine: cosine(numbers, entry.scale, vector), entry };
                total += f64::from(near.cosine);
                let is_better = best.len() < count || best.peek().is_some_and(|worst| near < *worst);
                if is_better && accept(&entry.value) {
                    best.push(near);
                    if best.len() > count {
                        best.pop();
                    }
                }
            }
        }
        let best = best.into_sorted_vec().into_iter();
        Nearest { best: best.map(|near| (near.entry.value.clone(), near.cosine)).collect(), total }
    }

    fn fits(&self, vector: &Embedding) -> bool {
        self.dimensions > 0 && vector.numbers().len() == self.dimensions
    }

    fn put(&mut self, key: Arc<str>, vector: &Embedding, value: T) {
        if self.is_empty() {
            self.dimensions = vector.numbers().len();
        }
        if !self.fits(vector) {
            return self.remove(&key);
        }
        let entry = VectorEntry { key: Arc::clone(&key), value, scale: vector.scale() };
        let chunks = Arc::make_mut(&mut self.chunks);
        if let Some(&place) = self.places.get(&key) {
            let chunk = Arc::make_mut(&mut chunks[place / CHUNK]);
            let start = place % CHUNK * self.dimensions;
            chunk.numbers[start..start + self.dimensions].copy_from_slice(vector.numbers());
            chunk.entries[place % CHUNK] = entry;
            return;
        }
        if chunks.last().is_none_or(|last| last.entries.len() == CHUNK) {
            chunks.push(Arc::new(Chunk { numbers: Vec::new(), entries: Vec::new() }));
        }
        let place = self.places.size();
        let chunk = Arc::make_mut(&mut chunks[place / CHUNK]);
        chunk.numbers.extend_from_slice(vector.numbers());
        chunk.entries.push(entry);
        self.places.insert_mut(key, place);
    }

    /// The last one takes the place of the one that goes.
    fn remove(&mut self, key: &str) {
        let Some(&place) = self.places.get(key) else { return };
        self.places.remove_mut(key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(last) = chunks.last_mut().map(Arc::make_mut) else { return };
        let numbers = last.numbers.split_off(last.numbers.len() - self.dimensions);
        let Some(moved) = last.entries.pop() else { return };
        if last.entries.is_empty() {
            chunks.pop();
        }
        if *moved.key != *key {
            let chunk = Arc::make_mut(&mut chunks[place / CHUNK]);
            let start = place % CHUNK * self.dimensions;
            chunk.numbers[start..start + self.dimensions].copy_from_slice(&numbers);
            self.places.insert_mut(Arc::clone(&moved.key), place);
            chunk.entries[place % CHUNK] = moved;
        }
    }
}

/// Ordered so that the nearest comes first.
struct Near<'v, T> {
    cosine: f32,
    entry: &'v VectorEntry<T>,
}

impl<T> Ord for Near<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cosine.total_cmp(&self.cosine).then_with(|| self.entry.key.cmp(&other.entry.key))
    }
}

impl<T> PartialOrd for Near<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Near<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Near<'_, T> {}

fn cosine(numbers: &[i8], scale: f32, vector: &Embedding) -> f32 {
    let products = numbers.iter().zip(vector.numbers()).map(|(one, two)| i32::from(*one) * i32::from(*two));
    #[expect(clippy::cast_precision_loss, reason = "rounding there is far below that of the numbers")]
    let product = products.sum::<i32>() as f32;
    product * scale * vector.scale()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn towards(angle: f32) -> Embedding {
        Embedding::towards(&[angle.cos(), angle.sin()]).unwrap()
    }

    fn key(number: usize) -> Arc<str> {
        format!("tool{number:04}").into()
    }

    #[test]
    fn the_nearest_come_first_whatever_the_history_of_changes() {
        let angles = |number: usize| f32::from(u16::try_from(number).unwrap()) / 1000.0;
        let mut straight = Vectors::default();
        straight.apply((0..500).map(|number| (key(number), Some((towards(angles(number)), number)))));
        let mut winding = Vectors::default();
        winding.apply(
            (0..1000).rev().map(|number| (key(number), Some((towards(3.0 - angles(number)), number)))),
        );
        let copy = winding.clone();
        winding.apply((500..1000).map(|number| (key(number), None)));
        winding.apply((0..500).map(|number| (key(number), Some((towards(angles(number)), number)))));
        assert_eq!((winding.len(), copy.len()), (500, 1000));
        let near =
            |vectors: &Vectors<usize>| vectors.nearest(&towards(0.2), 20, &|number| number % 2 == 0).best;
        assert_eq!(near(&straight), near(&winding));
        assert!(near(&straight).iter().all(|(number, cosine)| number.abs_diff(200) < 60 && *cosine > 0.99));
        assert!(winding.nearness("tool0200", &towards(0.2)).unwrap() > 0.99);
        assert_eq!(winding.nearness("tool0700", &towards(0.2)), None);
    }

    #[test]
    fn everything_can_be_taken_out_again_and_other_dimensions_put_in() {
        let mut vectors = Vectors::default();
        vectors.apply((0..300).map(|number| (key(number), Some((towards(0.1), number)))));
        vectors.apply([(key(7), Some((Embedding::towards(&[1.0, 2.0, 3.0]).unwrap(), 7)))]);
        assert_eq!(vectors.len(), 299);
        vectors.apply((0..300).map(|number| (key(number), None)));
        assert!(vectors.is_empty() && vectors.nearest(&towards(0.1), 5, &|_| true).best.is_empty());
        vectors.apply([(key(7), Some((Embedding::towards(&[1.0, 2.0, 3.0]).unwrap(), 7)))]);
        assert_eq!(vectors.len(), 1);
        assert!(vectors.nearest(&towards(0.1), 5, &|_| true).best.is_empty());
    }
}
