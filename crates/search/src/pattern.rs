//! Search by a regular expression (R62, R64), in linear time and bounded memory whatever the pattern.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::hit::{Hit, Matched};
use crate::index::Index;

/// The most characters of a pattern.
const LONGEST_PATTERN: usize = 1000;
/// The most memory that a compiled pattern may take, in bytes; the cache of a running one may take as much again.
const LARGEST_PATTERN: usize = 1 << 20;
/// The part of a text that is looked at, in bytes.
const LONGEST_TEXT: usize = 16_384;
/// The most nested groups.
const DEEPEST: u32 = 50;

/// A regular expression to find tools by. Letters match whatever their case.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    text: String,
}

/// Why a pattern cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is too long.
    #[error("the pattern has {0} characters; it may have {LONGEST_PATTERN}")]
    Long(usize),
    /// It is not a regular expression.
    #[error(
        "the pattern is wrong at character {at}: {why}; correct it, or use search_method \"bm25\" for plain words"
    )]
    Syntax {
        /// Where, counted from 1.
        at: usize,
        /// What is wrong.
        why: String,
    },
    /// It would need too much memory.
    #[error("the pattern is too large when compiled; use smaller repetitions")]
    Large,
}

/// The texts of a tool that a pattern is matched with.
#[derive(Clone, Debug, Default)]
pub struct Texts<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// Its tags.
    pub tags: Vec<&'a str>,
}

/// What to look for by a pattern.
pub struct PatternQuery<'a, T> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// The most hits.
    pub limit: usize,
    /// The texts of a document, or `None` if it may not be found at all.
    pub texts: &'a (dyn for<'t> Fn(&'t T) -> Option<Texts<'t>> + Sync),
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let length = text.chars().take(LONGEST_PATTERN + 1).count();
        if length > LONGEST_PATTERN {
            return Err(PatternError::Long(text.chars().count()));
        }
        let built = RegexBuilder::new(text)
            .case_insensitive(true)
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_PATTERN)
            .nest_limit(DEEPEST)
            .build();
        match built {
            Ok(regex) => Ok(Self { regex, text: text.to_owned() }),
            Err(error) => Err(explain(text, &error)),
        }
    }

    /// The score of a tool with these texts and the field it is for, `None` if the pattern is nowhere in them.
    pub fn score(&self, texts: &Texts<'_>) -> Option<(f32, &'static str)> {
        let name = self.part(texts.name, (1.0, 0.8)).map(|score| (score, "name"));
        let description = || self.part(texts.description, (0.6, 0.4)).map(|score| (score, "description"));
        let tags = || {
            let tags = texts.tags.iter().filter_map(|tag| self.part(tag, (0.5, 0.3)));
            tags.max_by(f32::total_cmp).map(|score| (score, "tags"))
        };
        name.or_else(|| {
            [description(), tags()].into_iter().flatten().max_by(|one, another| one.0.total_cmp(&another.0))
        })
    }

    /// Where it is in a text, in order.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.regex.find_iter(cut(text)).map(|found| found.range());
        found.filter(|range| !range.is_empty()).take(100).collect()
    }

    fn part(&self, text: &str, (full, part): (f32, f32)) -> Option<f32> {
        let text = cut(text);
        let found = self.regex.find(text).filter(|found| !found.is_empty() || text.is_empty())?;
        (!text.is_empty()).then_some(if found.range() == (0..text.len()) { full } else { part })
    }
}

/// The hits of a pattern in all those indexes, the best first, equals by key.
pub fn search_pattern<T: Clone>(indexes: &[&Index<T>], query: &PatternQuery<'_, T>) -> Vec<Hit<T>> {
    let mut found: Vec<(f32, &str, &'static str, &T)> = Vec::new();
    for record in indexes.iter().flat_map(|index| index.records()) {
        let scored = (query.texts)(&record.value).and_then(|texts| query.pattern.score(&texts));
        if let Some((score, field)) = scored {
            found.push((score, &record.key, field, &record.value));
        }
    }
    found.sort_by(|one, another| another.0.total_cmp(&one.0).then_with(|| one.1.cmp(another.1)));
    found.truncate(query.limit);
    found
        .into_iter()
        .map(|(score, _, field, value)| {
            let matched = Matched { word: query.pattern.text.clone(), by: None, field, weight: score };
            Hit { value: value.clone(), score, matched: vec![matched] }
        })
        .collect()
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default()
}

/// What is wrong with a pattern, and where.
fn explain(text: &str, error: &regex::Error) -> PatternError {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return PatternError::Large;
    }
    let parsed = regex_syntax::ast::parse::ParserBuilder::new().nest_limit(DEEPEST).build().parse(text);
    match parsed {
        Err(error) => syntax(error.span().start.offset, text, &error.kind().to_string()),
        Ok(ast) => match regex_syntax::hir::translate::Translator::new().translate(text, &ast) {
            Err(error) => syntax(error.span().start.offset, text, &error.kind().to_string()),
            Ok(_) => syntax(0, text, "it cannot be compiled"),
        },
    }
}

fn syntax(offset: usize, text: &str, why: &str) -> PatternError {
    let at = text.get(..offset).map_or(0, |before| before.chars().count()) + 1;
    PatternError::Syntax { at, why: why.to_owned() }
}
