//! OpenCC's characters: which simplified one stands for a traditional one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

pub(crate) struct Characters(BTreeMap<char, char>);

impl Characters {
    /// Reads lines of a traditional character, a tab, and simplified ones, the usual one first. A character that may stay as it
    /// is stays.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)?;
        let mut pairs = BTreeMap::new();
        for (from, to) in text.lines().filter_map(|line| line.split_once('\t')) {
            let stays = to.split_whitespace().any(|choice| choice == from);
            if let (Some(from), Some(to), false) = (from.chars().next(), to.chars().next(), stays) {
                pairs.insert(from, to);
            }
        }
        let chains: Vec<(char, char)> =
            pairs.iter().filter_map(|(from, to)| Some((*from, *pairs.get(to)?))).collect();
        pairs.extend(chains);
        Ok(Self(pairs))
    }

    /// Whether nothing of a word would change.
    pub(crate) fn keep(&self, word: &str) -> bool {
        word.chars().all(|letter| !self.0.contains_key(&letter))
    }

    /// The pairs, one a line.
    pub(crate) fn pairs(&self) -> String {
        self.0.iter().flat_map(|(from, to)| [*from, *to, '\n']).collect()
    }
}
