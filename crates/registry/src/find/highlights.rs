//! Where in a text a query was found, for people to see.

use std::ops::Range;
use std::time::{Duration, Instant};

use toolrail_search::{Highlighter, Pattern};

use super::search::SearchMethod;

/// How long the marks of a pattern may take in all texts together. What is not marked by then stays unmarked.
const LONGEST: Duration = Duration::from_millis(100);

/// Marks what a query is about, in any number of texts.
pub struct Highlights(Marks);

enum Marks {
    Words(Highlighter),
    Pattern(Pattern, Instant),
    Nothing,
}

impl Highlights {
    /// Reads a query; a pattern that is none marks nothing.
    pub fn new(method: SearchMethod, query: &str) -> Self {
        Self(match method {
            SearchMethod::Bm25 | SearchMethod::Hybrid => Marks::Words(Highlighter::new(query)),
            SearchMethod::Regex => match Pattern::new(query.trim()) {
                Ok(pattern) => Marks::Pattern(pattern, Instant::now() + LONGEST),
                Err(_) => Marks::Nothing,
            },
        })
    }

    /// The parts of a text, in order and apart from each other, each from its first character up to the one behind its
    /// last. Characters are counted, not bytes: those who read JSON know no others.
    pub fn of(&self, text: &str) -> Vec<[usize; 2]> {
        let mut counted = CharCounter { text, bytes: 0, characters: 0 };
        self.ranges(text)
            .into_iter()
            .map(|range| [counted.up_to(range.start), counted.up_to(range.end)])
            .collect()
    }

    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        match &self.0 {
            Marks::Words(words) => words.ranges(text),
            Marks::Pattern(pattern, until) => pattern.ranges(text, *until),
            Marks::Nothing => Vec::new(),
        }
    }
}

/// Counts characters, going forward.
struct CharCounter<'t> {
    text: &'t str,
    bytes: usize,
    characters: usize,
}

impl CharCounter<'_> {
    fn up_to(&mut self, byte: usize) -> usize {
        self.characters += self.text.get(self.bytes..byte).map_or(0, |passed| passed.chars().count());
        self.bytes = byte;
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_rather_than_bytes() {
        let highlights = Highlights::new(SearchMethod::Bm25, "weather report");
        assert_eq!(highlights.of("汉字 weather 汉字 report"), [[3, 10], [14, 20]]);
        assert!(highlights.of("").is_empty());
        assert_eq!(
            Highlights::new(SearchMethod::Regex, "气.w|t$").of("天气 weather report"),
            [[1, 4], [16, 17]]
        );
        assert!(Highlights::new(SearchMethod::Regex, "(").of("(").is_empty());
    }
}
