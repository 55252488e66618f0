//! Tables from a word to weighted words, as `crates/search/src/lexicon/table.rs` reads them.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Words with weights by key; the best weight of a pair counts.
#[derive(Default)]
pub(crate) struct Weighted {
    entries: BTreeMap<String, HashMap<String, f32>>,
    most: usize,
}

impl Weighted {
    /// A table that keeps at most `most` words a key.
    pub(crate) fn of_at_most(most: usize) -> Self {
        Self { entries: BTreeMap::new(), most }
    }

    pub(crate) fn add(&mut self, key: &str, word: &str, weight: f32) {
        if key == word || key.is_empty() || word.is_empty() {
            return;
        }
        let known = self.entries.entry(key.to_owned()).or_default().entry(word.to_owned()).or_default();
        *known = known.max(weight);
    }

    pub(crate) fn remove(&mut self, key: &str, word: &str) {
        if let Some(words) = self.entries.get_mut(key) {
            words.remove(word);
        }
    }

    /// The best words of a key, best first; equal ones by the alphabet, so that the table is the same every time.
    fn best(&self, words: &HashMap<String, f32>) -> Vec<(String, u8)> {
        let percent = |weight: &f32| (weight * 100.0).round().clamp(0.0, 100.0) as u8;
        let mut best: Vec<_> = words
            .iter()
            .map(|(word, weight)| (word.clone(), percent(weight)))
            .filter(|(_, weight)| *weight > 0)
            .collect();
        best.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        best.truncate(self.most);
        best
    }

    /// The text of the table.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (key, words) in &self.entries {
            let best = self.best(words);
            if best.is_empty() {
                continue;
            }
            text.push_str(key);
            for (index, (word, percent)) in best.iter().enumerate() {
                let separator = if index == 0 { '\t' } else { ' ' };
                // Writing into a string cannot fail.
                let _ = write!(text, "{separator}{word} {percent}");
            }
            text.push('\n');
        }
        text
    }
}
