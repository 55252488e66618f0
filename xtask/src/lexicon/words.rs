//! The Chinese words that text is cut into: jieba's, with its frequencies, and those of our glossary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use fst::MapBuilder;

use super::simplified::Characters;

/// What a word of the glossary counts for when jieba does not know it: enough to hold together.
const OWN_FREQUENCY: u64 = 400;

/// Words of that many characters at least, and rarer than this, are mostly names of people and places: they only take room.
const RARE: (usize, u64) = (4, 3);

pub(crate) struct Words(BTreeMap<String, u64>);

impl Words {
    /// Reads lines of a word, its frequency and its kind.
    pub(crate) fn read<'a>(
        path: &Path,
        simplified: &Characters,
        own: impl Iterator<Item = &'a str>,
    ) -> Result<Self> {
        let mut words = BTreeMap::new();
        for line in fs::read_to_string(path)?.lines() {
            let mut parts = line.split_whitespace();
            let (Some(word), Some(Ok(frequency))) = (parts.next(), parts.next().map(str::parse::<u64>))
            else {
                continue;
            };
            let is_rare = word.chars().count() >= RARE.0 && frequency < RARE.1;
            if is_han(word) && simplified.keep(word) && !is_rare {
                words.insert(word.to_owned(), frequency.max(1));
            }
        }
        for word in own.filter(|word| word.chars().count() > 1) {
            let frequency = words.entry(word.to_owned()).or_default();
            *frequency = (*frequency).max(OWN_FREQUENCY);
        }
        Ok(Self(words))
    }

    /// How often a word was seen; nothing if text is never cut into it.
    pub(crate) fn frequency(&self, word: &str) -> Option<u64> {
        self.0.get(word).copied()
    }

    /// The words with what each costs: the logarithm of how rare it is, times 16.
    pub(crate) fn to_fst(&self) -> Result<Vec<u8>> {
        let total = self.0.values().sum::<u64>() as f64;
        let mut builder = MapBuilder::memory();
        for (word, frequency) in &self.0 {
            builder.insert(word, ((total / *frequency as f64).ln() * 16.0).round() as u64)?;
        }
        Ok(builder.into_inner()?)
    }
}

pub(crate) fn is_han(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|letter| matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '〇'))
}
