//! Which parts of a text a query is about, for people to see.

use std::collections::HashSet;
use std::ops::Range;

use crate::document::text;
use crate::lexicon;
use crate::parameters::Parameters;
use crate::query::parsed;

/// The longest text that is looked at.
const LONGEST_TEXT: usize = 16_384;
/// Ways of a word that count less are not worth showing.
const LEAST_WEIGHT: f32 = 0.25;

/// Marks what a query is about, in any number of texts.
#[derive(Clone, Debug)]
pub struct Highlighter {
    terms: HashSet<String>,
}

impl Highlighter {
    /// Reads a query.
    pub fn new(query: &str) -> Self {
        let parsed = parsed::read(query, &Parameters::default());
        let ways = parsed.words.iter().flat_map(|word| word.ways.iter());
        Self {
            terms: ways.filter(|way| way.weight >= LEAST_WEIGHT).map(|way| way.term.to_string()).collect(),
        }
    }

    /// The parts of a text, in order, apart from each other, on character boundaries.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let text = text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        text::tokens(text, &mut |token| {
            if self.terms.contains(&*lexicon::stem(&token.folded)) {
                ranges.push(token.at);
            }
        });
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut apart: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match apart.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => apart.push(range),
            }
        }
        apart
    }
}

/// The parts of one text that a query is about.
pub fn highlights(query: &str, text: &str) -> Vec<Range<usize>> {
    Highlighter::new(query).ranges(text)
}
