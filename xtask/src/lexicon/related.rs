//! Words that mean the same or nearly the same, from our lists.

use std::collections::HashSet;

use anyhow::{Context, Result, bail};

use super::glossary::Glossary;
use super::stem;
use super::weighted::Weighted;

/// What words count for one another that mean the same, and those that mean nearly the same.
const SAME: f32 = 0.85;
const NEAR: f32 = 0.5;

/// What a word counts of which another makes one think.
const THOUGHT_OF: f32 = 0.4;

/// What each word of a phrase counts for an abbreviation.
const OF_A_PHRASE: f32 = 0.65;

/// What Chinese words count for one another: those on one line of the glossary, and those on one line of the list.
const ON_ONE_LINE: f32 = 0.6;
const NEAR_IN_CHINESE: f32 = 0.45;

/// Our lists, line by line.
pub(crate) struct Lists {
    pub(crate) synonyms: Vec<String>,
    pub(crate) chinese: Vec<String>,
    pub(crate) opposites: Vec<String>,
}

impl Lists {
    pub(crate) fn table(&self, glossary: &Glossary, stop_words: &HashSet<String>) -> Result<Weighted> {
        let mut table = Weighted::of_at_most(16);
        for line in &self.synonyms {
            add_line(line, stop_words, &mut table).with_context(|| format!("synonyms.txt: `{line}`"))?;
        }
        for heads in glossary.synonyms() {
            add_all(heads.iter().map(String::as_str), ON_ONE_LINE, &mut table);
        }
        for line in &self.chinese {
            add_all(line.split_whitespace(), NEAR_IN_CHINESE, &mut table);
        }
        for (one, other) in self.opposites.iter().filter_map(|line| line.split_once(' ')) {
            let (one, other) = (stem(one), stem(other));
            table.remove(&one, &other);
            table.remove(&other, &one);
        }
        Ok(table)
    }
}

fn add_line(line: &str, stop_words: &HashSet<String>, table: &mut Weighted) -> Result<()> {
    let (weight, items) = match line.split_at_checked(1) {
        Some(("=", items)) => (SAME, items),
        Some(("~", items)) => (NEAR, items),
        Some((">", items)) => (THOUGHT_OF, items),
        _ => bail!("begins with none of `=`, `~` and `>`"),
    };
    let items: Vec<Vec<String>> = items
        .split(',')
        .map(|item| item.split_whitespace().filter(|word| !stop_words.contains(*word)).map(stem).collect())
        .collect();
    let leading = if line.starts_with('>') { 1 } else { items.len() };
    for from in items.iter().take(leading).filter_map(|item| <&[String; 1]>::try_from(item.as_slice()).ok()) {
        for to in &items {
            let each = if to.len() == 1 { weight } else { weight * OF_A_PHRASE };
            for word in to {
                table.add(&from[0], word, each);
            }
        }
    }
    Ok(())
}

fn add_all<'a>(words: impl Iterator<Item = &'a str> + Clone, weight: f32, table: &mut Weighted) {
    for one in words.clone() {
        for other in words.clone() {
            table.add(one, other, weight);
        }
    }
}
