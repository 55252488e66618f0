//! CC-CEDICT boiled down: of each Chinese word that text is cut into, a few plain English words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::stem;
use super::weighted::Weighted;
use super::words::Words;

/// What the first, the second, … sense counts. All of it is less than our own glossary gives.
const BY_PLACE: [f32; 4] = [0.8, 0.6, 0.45, 0.35];

/// What each word of a phrase counts, by the number of words.
const BY_LENGTH: [f32; 3] = [1.0, 0.7, 0.55];

/// Senses that nobody means today, or not in polite company.
const ODD: [&str; 6] = ["(archaic)", "(old)", "(dialect)", "(vulgar)", "(slang)", "(particle"];

/// Remarks about a word that do not say what it means.
const REMARKS: [&str; 10] = [
    "variant of",
    "see ",
    "surname",
    "abbr.",
    "old name",
    "used in",
    "also written",
    "also pr.",
    "Kangxi radical",
    "classifier",
];

/// A sense that stands for so many Chinese words says little about any of them.
const USUAL: usize = 40;

pub(crate) struct Dictionary {
    /// Meanings in order, each of one to three words, by Chinese word.
    meanings: BTreeMap<String, Vec<Vec<String>>>,
}

/// What a word means when it is pronounced in one way.
struct Reading {
    is_name: bool,
    meanings: Vec<Vec<String>>,
}

impl Dictionary {
    pub(crate) fn read(path: &Path, words: &Words, stop_words: &HashSet<String>) -> Result<Self> {
        let entries: Vec<Value> =
            serde_json::from_slice(&fs::read(path)?).context("cedict.json is not a list")?;
        let mut readings: BTreeMap<String, Vec<Reading>> = BTreeMap::new();
        for entry in &entries {
            let (Some(word), Some(pinyin)) = (entry["simplified"].as_str(), entry["pinyin"].as_str()) else {
                continue;
            };
            if words.frequency(word).is_none() {
                continue;
            }
            let senses = entry["english"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let meanings: Vec<_> = senses.flat_map(|sense| meanings_of(sense, stop_words)).collect();
            if !meanings.is_empty() {
                let is_name = pinyin.starts_with(|letter: char| letter.is_ascii_uppercase());
                readings.entry(word.to_owned()).or_default().push(Reading { is_name, meanings });
            }
        }
        Ok(Self {
            meanings: readings.into_iter().map(|(word, readings)| (word, in_order(readings))).collect(),
        })
    }

    /// From Chinese to English words.
    pub(crate) fn english(&self) -> Weighted {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for word in self.meanings.values().flatten().flatten() {
            *counts.entry(word).or_default() += 1;
        }
        let mut table = Weighted::of_at_most(5);
        for (chinese, meanings) in &self.meanings {
            // One character means many things; most of them are not meant.
            let alone = if chinese.chars().count() == 1 { 0.6 } else { 1.0 };
            for (meaning, place) in meanings.iter().zip(BY_PLACE) {
                let Some(by_length) = BY_LENGTH.get(meaning.len() - 1) else { continue };
                for word in meaning {
                    let count = counts.get(word.as_str()).copied().unwrap_or_default();
                    let usual = 1.0 / (1.0 + (count.max(USUAL) as f32 / USUAL as f32).log10());
                    table.add(chinese, word, place * by_length * alone * usual);
                }
            }
        }
        table
    }

    /// From English stems to Chinese words: only for first meanings of one word, the most frequent Chinese words first.
    pub(crate) fn chinese(&self, words: &Words) -> Weighted {
        let mut table = Weighted::of_at_most(4);
        for (chinese, meanings) in self.meanings.iter().filter(|(chinese, _)| chinese.chars().count() > 1) {
            let frequency = words.frequency(chinese).unwrap_or_default();
            if frequency < 5 {
                continue;
            }
            let usual = ((frequency as f32).log10() / 4.0).clamp(0.3, 1.0);
            for (meaning, place) in meanings.iter().zip(BY_PLACE).take(2) {
                if let [word] = meaning.as_slice() {
                    table.add(&stem(word), chinese, place * usual);
                }
            }
        }
        table
    }
}

/// The meanings of all readings of a word: names last, then those with the most meanings first.
fn in_order(mut readings: Vec<Reading>) -> Vec<Vec<String>> {
    readings.sort_by_key(|reading| (reading.is_name, Reverse(reading.meanings.len())));
    let mut ordered: Vec<Vec<String>> = Vec::new();
    for meaning in readings.into_iter().flat_map(|reading| reading.meanings) {
        if !ordered.contains(&meaning) {
            ordered.push(meaning);
        }
    }
    ordered
}

/// The plain words of one sense, without remarks: `to look up (a word); to consult` has two meanings.
fn meanings_of(sense: &str, stop_words: &HashSet<String>) -> Vec<Vec<String>> {
    let plain = without_brackets(sense);
    let is_odd = ODD.iter().any(|odd| sense.contains(odd));
    // The classifier of a noun stands by itself or, in brackets, behind a meaning.
    if is_odd || sense.starts_with("CL:") || REMARKS.iter().any(|remark| plain.contains(remark)) {
        return Vec::new();
    }
    let parts = plain.split(';').map(|part| part.split(',').next().unwrap_or_default());
    parts.filter_map(|part| words_of(part, stop_words)).collect()
}

fn without_brackets(sense: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::with_capacity(sense.len());
    for letter in sense.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// The words of a meaning, or nothing if it is a description rather than a word.
fn words_of(part: &str, stop_words: &HashSet<String>) -> Option<Vec<String>> {
    if part.split_whitespace().count() > 5 {
        return None;
    }
    let words: Vec<String> = part
        .split(|letter: char| letter.is_whitespace() || letter == '-')
        .map(|word| {
            word.trim_end_matches("'s").trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase()
        })
        .filter(|word| {
            word.len() > 1 && !["sb", "sth"].contains(&word.as_str()) && !stop_words.contains(word)
        })
        .collect();
    let are_plain = words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    (are_plain && (1..=BY_LENGTH.len()).contains(&words.len())).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senses_become_plain_words_without_remarks() {
        let stop_words = ["to", "a", "of"].map(ToOwned::to_owned).into();
        let words = |sense: &str| {
            meanings_of(sense, &stop_words).iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("|")
        };
        assert_eq!(words("to look up (a word); to consult sb"), "look up|consult");
        assert_eq!(words("exchange rate"), "exchange rate");
        assert_eq!(words("old variant of 查[cha2]"), "");
        assert_eq!(words("CL:個|个[ge4]"), "");
        assert_eq!(words("cow's milk (CL:瓶[ping2])"), "cow milk");
        assert_eq!(words("one of the twelve parts into which a day was divided"), "");
    }
}
