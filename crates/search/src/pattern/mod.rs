//! Regular expressions to find tools by: bounded in size, and matched in linear time with short texts. Looking
//! through an index with one is in `search.rs`, most of which `pattern_outline.rs` saves.

pub(crate) mod search;
pub(crate) mod width;

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use regex::{Match, Regex, RegexBuilder};

use crate::pattern_outline::Needs;

/// The most characters of a pattern.
const LONGEST_PATTERN: usize = 1000;
/// The most memory that a compiled pattern may take, in bytes; the time that a text takes grows with it.
const LARGEST_PATTERN: usize = 128 * 1024;
/// The most memory that the cache of a running one may take. One that is too small is slow, for it is made again and again.
const LARGEST_CACHE: usize = 1 << 20;
/// The part of a text that is looked at, in bytes.
const LONGEST_TEXT: usize = 4_096;
/// The most matches in a text that are looked at: each may take a walk over all of the text.
const MOST_MATCHES: usize = 200;
/// The most parts of a text that are shown.
const MOST_RANGES: usize = 100;
/// The most nested groups.
const DEEPEST: u32 = 50;

/// A regular expression to find tools by. Letters match whatever their case.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// The same for all of a text, made when it is first needed.
    whole: Arc<OnceLock<Option<Regex>>>,
    pub(crate) text: String,
    /// What a text that it is in must have.
    pub(crate) needs: Needs,
    /// Whether it also matches where nothing is.
    matches_nothing: bool,
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
    #[error("the pattern is too large when compiled; use smaller repetitions and fewer classes")]
    Large,
    /// It can match nothing but places between characters.
    #[error(
        "the pattern matches no character, only places such as the start of a word, which are everywhere; name what a tool should have, such as ^get"
    )]
    Empty,
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

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let length = text.chars().take(LONGEST_PATTERN + 1).count();
        if length > LONGEST_PATTERN {
            return Err(PatternError::Long(text.chars().count()));
        }
        if !width::is_narrow(text, DEEPEST) {
            return Err(PatternError::Large);
        }
        let regex = build(text).map_err(|error| explain(text, &error))?;
        let (shortest, longest) = lengths(text);
        if longest == Some(0) {
            return Err(PatternError::Empty);
        }
        let (needs, matches_nothing) = (Needs::of(text, DEEPEST), shortest == Some(0));
        Ok(Self { regex, whole: Arc::default(), text: text.to_owned(), needs, matches_nothing })
    }

    /// Whether it matches also where nothing is, which is everywhere and finds no tool.
    pub fn matches_nothing(&self) -> bool {
        self.matches_nothing
    }

    /// The score of a tool with these texts and the field it is for, `None` if the pattern is nowhere in them, as far as they
    /// were looked at by then.
    pub fn score(&self, texts: &Texts<'_>, until: Instant) -> Option<(f32, &'static str)> {
        let part = |text: &str, scores| self.part(text, scores, until);
        let name = part(texts.name, (1.0, 0.8)).map(|score| (score, "name"));
        let description = || part(texts.description, (0.6, 0.4)).map(|score| (score, "description"));
        let tags = || {
            let tags = texts.tags.iter().filter_map(|tag| part(tag, (0.5, 0.3)));
            tags.max_by(f32::total_cmp).map(|score| (score, "tags"))
        };
        name.or_else(|| {
            [description(), tags()].into_iter().flatten().max_by(|one, another| one.0.total_cmp(&another.0))
        })
    }

    /// Where it is in a text, in order, as far as that can be told by then.
    pub fn ranges(&self, text: &str, until: Instant) -> Vec<Range<usize>> {
        self.matches(cut(text), until).map(|found| found.range()).take(MOST_RANGES).collect()
    }

    /// The matches that are something.
    fn matches<'t>(&self, text: &'t str, until: Instant) -> impl Iterator<Item = Match<'t>> {
        let in_time = move |_: &Match<'_>| Instant::now() < until;
        let looked_at = self.regex.find_iter(text).take(MOST_MATCHES).take_while(in_time);
        looked_at.filter(|found| !found.is_empty())
    }

    fn part(&self, text: &str, (full, part): (f32, f32), until: Instant) -> Option<f32> {
        let text = cut(text);
        if text.is_empty() || Instant::now() >= until {
            return None;
        }
        // Of what it may match it takes what it names first, so that a first match may be shorter than it could be.
        let first = self.regex.find(text)?;
        if first.start() == 0 && (first.end() == text.len() || self.is_whole(text)) {
            return Some(full);
        }
        let found = !first.is_empty() || self.matches(text, until).next().is_some();
        found.then_some(part)
    }

    /// Whether it can match all of that text.
    fn is_whole(&self, text: &str) -> bool {
        let pattern = &self.text;
        // A comment at its end must not take along what follows.
        let build = || {
            build(&format!("\\A(?:{pattern})\\z")).or_else(|_| build(&format!("\\A(?:{pattern}\n)\\z"))).ok()
        };
        self.whole.get_or_init(build).as_ref().is_some_and(|whole| whole.is_match(text))
    }
}

fn build(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text)
        .case_insensitive(true)
        .size_limit(LARGEST_PATTERN)
        .dfa_size_limit(LARGEST_CACHE)
        .nest_limit(DEEPEST)
        .build()
}

/// The bytes of the shortest and the longest text that a pattern matches, if they are known.
fn lengths(text: &str) -> (Option<usize>, Option<usize>) {
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(DEEPEST).build().parse(text);
    parsed.map_or((None, None), |hir| (hir.properties().minimum_len(), hir.properties().maximum_len()))
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
