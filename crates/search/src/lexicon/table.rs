//! Sorted text as a map from a word to weighted words. A line is `key<TAB>word percent word percent …`; lines are sorted by the
//! bytes of their keys. The text stays where it is in the binary; only the starts of its lines are noted when it is first used.

use std::sync::OnceLock;

/// A map from a word to other words with weights.
pub(super) struct Table {
    text: &'static str,
    starts: OnceLock<Box<[u32]>>,
}

impl Table {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, starts: OnceLock::new() }
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
        let starts = self.starts.get_or_init(|| line_starts(self.text));
        let found = starts.binary_search_by(|start| self.entry_at(*start).0.cmp(key)).ok()?;
        starts.get(found).map(|start| self.entry_at(*start).1)
    }

    fn entry_at(&self, start: u32) -> (&'static str, &'static str) {
        let rest = self.text.get(start as usize..).unwrap_or_default();
        let line = rest.find('\n').and_then(|end| rest.get(..end)).unwrap_or(rest);
        line.split_once('\t').unwrap_or((line, ""))
    }

    /// Every key, for tests of the data.
    #[cfg(test)]
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.text.lines().map(|line| line.split_once('\t').map_or(line, |(key, _)| key))
    }
}

/// Where each line begins; text beyond 4 GB would not be found.
fn line_starts(text: &str) -> Box<[u32]> {
    let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(after_breaks)
        .filter(|at| *at < text.len())
        .map_while(|at| u32::try_from(at).ok())
        .collect()
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
