//! Our own glossary: `Chinese words = English words or phrases`, the best first.

use std::collections::{BTreeSet, HashSet};

use anyhow::{Context, Result, bail};

use super::stem;
use super::weighted::Weighted;
use super::words::is_han;

/// What the first, the second, … of several alternatives counts.
const BY_PLACE: [f32; 7] = [1.0, 0.85, 0.75, 0.65, 0.6, 0.55, 0.5];

/// What each word of a phrase counts, by the number of words.
const BY_LENGTH: [f32; 4] = [1.0, 0.8, 0.7, 0.6];

pub(crate) struct Glossary {
    lines: Vec<Line>,
}

struct Line {
    heads: Vec<String>,
    /// Alternatives, each of one word or several.
    meanings: Vec<Vec<String>>,
}

impl Glossary {
    pub(crate) fn parse(entries: &[String], stop_words: &HashSet<String>) -> Result<Self> {
        let lines = entries
            .iter()
            .map(|entry| Line::parse(entry, stop_words).with_context(|| format!("glossary.txt: `{entry}`")));
        Ok(Self { lines: lines.collect::<Result<_>>()? })
    }

    /// Every Chinese word.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().flat_map(|line| &line.heads).map(String::as_str)
    }

    /// The Chinese words that stand on one line.
    pub(crate) fn synonyms(&self) -> impl Iterator<Item = &[String]> {
        self.lines.iter().map(|line| line.heads.as_slice())
    }

    /// From Chinese to English words. A word that stands on a second line gets the meanings there for less.
    pub(crate) fn english(&self) -> Weighted {
        let mut table = Weighted::of_at_most(10);
        let mut seen = BTreeSet::new();
        for line in &self.lines {
            for head in &line.heads {
                let factor = if seen.insert(head) { 1.0 } else { 0.8 };
                line.each_meaning(|word, weight, _| table.add(head, word, weight * factor));
            }
        }
        table
    }

    /// From English stems to Chinese words.
    pub(crate) fn chinese(&self) -> Weighted {
        let mut table = Weighted::of_at_most(8);
        for line in &self.lines {
            for (place, head) in line.heads.iter().enumerate() {
                line.each_meaning(|word, weight, count| {
                    let whole = if count == 1 { 1.0 } else { 0.6 };
                    table.add(&stem(word), head, weight * by(&BY_PLACE, place) * whole);
                });
            }
        }
        table
    }
}

impl Line {
    fn parse(entry: &str, stop_words: &HashSet<String>) -> Result<Self> {
        let (heads, meanings) = entry.split_once('=').context("has no `=` between Chinese and English")?;
        let heads: Vec<String> = heads.split_whitespace().map(ToOwned::to_owned).collect();
        if let Some(odd) = heads.iter().find(|head| !is_han(head)) {
            bail!("`{odd}` is not Chinese; write only Han characters before the `=`");
        }
        let words_of = |meaning: &str| -> Vec<String> {
            meaning
                .split_whitespace()
                .filter(|word| !stop_words.contains(*word))
                .map(str::to_lowercase)
                .collect()
        };
        let meanings: Vec<Vec<String>> =
            meanings.split(',').map(words_of).filter(|words| !words.is_empty()).collect();
        if heads.is_empty() || meanings.is_empty() {
            bail!("needs Chinese words and their meanings");
        }
        Ok(Self { heads, meanings })
    }

    /// Tells every word of every meaning, what it counts, and of how many words its meaning is.
    fn each_meaning(&self, mut tell: impl FnMut(&str, f32, usize)) {
        for (place, meaning) in self.meanings.iter().enumerate() {
            let weight = by(&BY_PLACE, place) * by(&BY_LENGTH, meaning.len() - 1);
            for word in meaning {
                tell(word, weight, meaning.len());
            }
        }
    }
}

fn by(weights: &[f32], place: usize) -> f32 {
    weights.get(place).or(weights.last()).copied().unwrap_or_default()
}
