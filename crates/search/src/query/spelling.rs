//! Spellings of words that no document has: words one or two letters away.

use crate::index::Index;
use crate::index::spellings::{LONGEST, SHORTEST};
use crate::lexicon;
use crate::parameters::Parameters;
use crate::query::known::Way;

/// The most corrections of one word.
const MOST_CORRECTIONS: usize = 3;
/// The nearest terms of the indexes to a word that none of them has.
pub(crate) fn corrections<T: Clone>(
    indexes: &[&Index<T>],
    folded: &str,
    parameters: &Parameters,
) -> Vec<Way> {
    let stem = lexicon::stem(folded);
    if stem.len() < SHORTEST || stem.len() > LONGEST {
        return Vec::new();
    }
    let most = if stem.len() < 7 { 1 } else { 2 };
    let mut found: Vec<(usize, std::cmp::Reverse<usize>, &str)> = Vec::new();
    for index in indexes {
        let near = index.vocabulary.spellings().near(&stem, most);
        for term in near.filter_map(|id| index.vocabulary.get(id)) {
            if let Some(distance) = distance(stem.as_bytes(), term.text.as_bytes(), most) {
                found.push((distance, std::cmp::Reverse(term.postings.len()), &term.text));
            }
        }
    }
    found.sort_unstable();
    let nearest = found.first().map_or(0, |found| found.0);
    let mut ways: Vec<Way> = Vec::new();
    for (distance, _, term) in found.into_iter().take_while(|found| found.0 == nearest) {
        if ways.len() < MOST_CORRECTIONS && !ways.iter().any(|way| &*way.term == term) {
            let weight = if distance == 1 { parameters.corrected } else { parameters.corrected * 0.7 };
            ways.push(Way::new(term, weight));
        }
    }
    ways
}

/// How many letters to insert, remove, replace or swap, if not more than `most`.
fn distance(one: &[u8], another: &[u8], most: usize) -> Option<usize> {
    const WIDTH: usize = 66;
    if one.len() + 1 >= WIDTH || another.len() + 1 >= WIDTH {
        return None;
    }
    let mut before = [0_usize; WIDTH];
    let mut last: [usize; WIDTH] = std::array::from_fn(|at| at);
    for (row, letter) in one.iter().enumerate() {
        let mut this = [usize::MAX / 2; WIDTH];
        this[0] = row + 1;
        let mut least = this[0];
        for (column, other) in another.iter().enumerate() {
            let mut cost =
                (last[column] + usize::from(letter != other)).min(this[column] + 1).min(last[column + 1] + 1);
            let swapped = row > 0
                && column > 0
                && Some(letter) == another.get(column - 1)
                && one.get(row - 1) == Some(other);
            if swapped {
                cost = cost.min(before[column - 1] + 1);
            }
            this[column + 1] = cost;
            least = least.min(cost);
        }
        if least > most {
            return None;
        }
        before = last;
        last = this;
    }
    Some(last[another.len()]).filter(|distance| *distance <= most)
}
