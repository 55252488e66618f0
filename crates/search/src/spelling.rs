//! Spellings of words that no document has: words one or two letters away.

use crate::index::Index;
use crate::lexicon;
use crate::parameters::Parameters;
use crate::wanted::Way;

/// The most corrections of one word.
const MOST_CORRECTIONS: usize = 3;

/// The nearest terms of the indexes to a word that none of them has.
pub(crate) fn corrections<T: Clone>(
    indexes: &[&Index<T>],
    folded: &str,
    parameters: &Parameters,
) -> Vec<Way> {
    let stem = lexicon::stem(folded);
    if stem.len() < 4 || !stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let most = if stem.len() < 7 { 1 } else { 2 };
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for term in indexes.iter().flat_map(|index| index.vocabulary.terms()) {
        let near = term.text.len().abs_diff(stem.len()) <= most
            && term.text.len() > 2
            && term.text.as_bytes().first() == stem.as_bytes().first();
        if let Some(distance) = near.then(|| distance(stem.as_bytes(), term.text.as_bytes(), most)).flatten()
        {
            found.push((distance, usize::MAX - term.postings.len(), term.text.to_string()));
        }
    }
    found.sort();
    found.dedup_by(|one, another| one.2 == another.2);
    let nearest = found.first().map_or(0, |found| found.0);
    let ways = found.into_iter().filter(|found| found.0 == nearest).take(MOST_CORRECTIONS);
    ways.map(|(distance, _, term)| Way {
        term,
        weight: if distance == 1 { parameters.corrected } else { parameters.corrected * 0.7 },
    })
    .collect()
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
