//! Text as a map from a word to weighted words. A line is `key<TAB>word percent word percent …`, one for each key. The text stays
//! where it is in the binary; only where its lines begin is noted when it is first used.

use std::sync::OnceLock;

use crate::containers::quick;

/// A map from a word to other words with weights.
pub(super) struct Table {
    text: &'static str,
    places: OnceLock<Box<[LinePlace]>>,
}

/// Where a line begins, counted from 1 so that 0 is no line, and a part of its key's hash.
type LinePlace = (u32, u32);

impl Table {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, places: OnceLock::new() }
    }

    /// The words that `key` leads to, with weights in 0..=1; nothing for an unknown key.
    pub(super) fn words_of(&self, key: &str) -> Words {
        Words { rest: self.line_of(key).unwrap_or_default().split_ascii_whitespace() }
    }

    /// Whether `key` leads anywhere.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.line_of(key).is_some()
    }

    fn line_of(&self, key: &str) -> Option<&'static str> {
        let places = self.places.get_or_init(|| places(self.text));
        let (mut at, tag) = split(quick::hash(key), places.len());
        while let Some((start, its_tag)) = places.get(at).filter(|place| place.0 > 0) {
            if *its_tag == tag
                && let Some(rest) = self.after(*start, key)
            {
                return Some(rest);
            }
            at = (at + 1) & (places.len() - 1);
        }
        None
    }

    /// What follows a key, if the line at that place has that key.
    fn after(&self, start: u32, key: &str) -> Option<&'static str> {
        let rest = self.text.get(start as usize - 1..)?.strip_prefix(key)?;
        if let Some(rest) = rest.strip_prefix('\t') {
            return rest.find('\n').map_or(Some(rest), |end| rest.get(..end));
        }
        (rest.is_empty() || rest.starts_with('\n')).then_some("")
    }

    /// Every key, for tests of the data.
    #[cfg(test)]
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.text.lines().map(|line| line.split_once('\t').map_or(line, |(key, _)| key))
    }
}

/// A place for every line, at least as many empty ones, and as many in all as a power of two; text beyond 4 GB would not be found.
fn places(text: &str) -> Box<[LinePlace]> {
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let mut places = vec![(0, 0); (lines * 2).next_power_of_two()];
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let key = line.split(['\t', '\n']).next().unwrap_or(line);
        let (mut at, tag) = split(quick::hash(key), places.len());
        while places.get(at).is_some_and(|place| place.0 > 0) {
            at = (at + 1) & (places.len() - 1);
        }
        if let (Some(place), Ok(start)) = (places.get_mut(at), u32::try_from(start + 1)) {
            *place = (start, tag);
        }
        start += line.len();
    }
    places.into()
}

/// The first place to look at, and the part of the hash to look for.
fn split(hash: u64, places: usize) -> (usize, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "two halves of the hash")]
    let (low, high) = (hash as u32, (hash >> 32) as u32);
    (low as usize & (places - 1), high)
}

/// The words of one line, with their weights.
pub(super) struct Words {
    rest: std::str::SplitAsciiWhitespace<'static>,
}

impl Iterator for Words {
    type Item = (&'static str, f32);

    fn next(&mut self) -> Option<Self::Item> {
        let word = self.rest.next()?;
        let percent: u8 = self.rest.next()?.parse().ok()?;
        Some((word, f32::from(percent) / 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_table_is_found_and_no_other() {
        let table = Table::new("a\tx 100 y 50\nab\tz 7\nb\t\n天气\tweather 100\n");
        assert_eq!(table.words_of("a").collect::<Vec<_>>(), [("x", 1.0), ("y", 0.5)]);
        assert_eq!(table.words_of("ab").collect::<Vec<_>>(), [("z", 0.07)]);
        assert_eq!(table.words_of("天气").next(), Some(("weather", 1.0)));
        assert!(table.knows("b") && table.words_of("b").next().is_none());
        for unknown in ["", "aa", "c", "天", "天气 "] {
            assert!(!table.knows(unknown), "{unknown}");
        }
        assert!(!Table::new("").knows("a"));
    }
}
