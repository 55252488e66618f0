//! The words of an index by their letters, so that those near a misspelt one are found without looking at all of them.

use std::sync::Arc;

/// The shortest and the longest word that is corrected.
pub(crate) const SHORTEST: usize = 4;
pub(crate) const LONGEST: usize = 24;
const LETTERS: usize = 26;

/// The plain words of a vocabulary by first letter and length, each with the letters it has. A copy costs nothing.
#[derive(Clone, Default)]
pub(crate) struct Spellings {
    shelves: Arc<Vec<Shelf>>,
}

/// The letters and the number of each word.
type Shelf = Arc<Vec<(u32, u32)>>;

impl Spellings {
    pub(crate) fn add(&mut self, term: &str, id: u32) {
        let Some(shelf) = shelf(term, term.len()) else { return };
        let shelves = Arc::make_mut(&mut self.shelves);
        if shelves.len() <= shelf {
            shelves.resize(shelf + 1, Arc::default());
        }
        if let Some(shelf) = shelves.get_mut(shelf) {
            Arc::make_mut(shelf).push((letters(term), id));
        }
    }

    pub(crate) fn remove(&mut self, term: &str, id: u32) {
        let Some(shelf) = shelf(term, term.len()) else { return };
        if let Some(shelf) = Arc::make_mut(&mut self.shelves).get_mut(shelf) {
            Arc::make_mut(shelf).retain(|entry| entry.1 != id);
        }
    }

    /// The numbers of terms that may be at most so many letters away.
    pub(crate) fn near(&self, word: &str, most: usize) -> impl Iterator<Item = u32> {
        let wanted = letters(word);
        let shelves = (word.len().saturating_sub(most)..=word.len() + most)
            .filter_map(move |length| shelf(word, length));
        let entries = shelves.filter_map(|shelf| self.shelves.get(shelf)).flat_map(|shelf| shelf.iter());
        let most = u32::try_from(2 * most).unwrap_or(u32::MAX);
        entries.filter(move |entry| (entry.0 ^ wanted).count_ones() <= most).map(|entry| entry.1)
    }
}

/// Where words with this one's first letter and that length stand.
fn shelf(word: &str, length: usize) -> Option<usize> {
    let plain =
        word.bytes().all(|byte| byte.is_ascii_lowercase()) && (SHORTEST - 1..=LONGEST).contains(&length);
    let first = word.bytes().next().filter(|_| plain)?;
    Some(length * LETTERS + usize::from(first - b'a'))
}

fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, byte| letters | 1 << (byte.wrapping_sub(b'a') & 31))
}
