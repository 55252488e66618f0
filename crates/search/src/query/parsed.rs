//! Queries into what is wanted: words with weights, what else each may be called, and the clauses they stand in.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use crate::document::text::{self, Shape, Token};
use crate::parameters::Parameters;
use crate::query::known::{self, Known, Way};

/// The most words of a query that count.
const MOST_WORDS: usize = 120;
/// The most clauses that are looked at by themselves.
const MOST_CLAUSES: usize = 24;
/// The longest text of a query that is read.
const LONGEST_QUERY: usize = 8192;

/// One word of a query.
#[derive(Debug)]
pub(crate) struct QueryTerm {
    /// Where it stands in the query, if it does.
    pub(crate) at: Range<usize>,
    pub(crate) known: Rc<Known>,
    pub(crate) shape: Shape,
    pub(crate) weight: f32,
    /// The clauses it stands in, a bit each.
    pub(crate) clauses: u32,
    /// Where it stands among the words.
    pub(crate) position: usize,
    /// What it may be called, the word itself first.
    pub(crate) ways: Rc<[Way]>,
}

/// What is wanted.
#[derive(Debug, Default)]
pub(crate) struct ParsedQuery {
    pub(crate) words: Vec<QueryTerm>,
    /// How many clauses there are.
    pub(crate) clauses: usize,
    /// The stems in the order of the text, stop words left out: for phrases.
    pub(crate) order: Vec<usize>,
    /// What may be the name of a document.
    pub(crate) names: Vec<u64>,
}

/// Reads a query.
pub(crate) fn read(query: &str, parameters: &Parameters) -> ParsedQuery {
    let query = query.get(..query.floor_char_boundary(LONGEST_QUERY)).unwrap_or_default();
    let mut reader =
        Reader { query, parameters, parsed: ParsedQuery::default(), place: QueryPlace::default() };
    reader.read(Stops::Skipped);
    if reader.parsed.words.is_empty() {
        reader.place = QueryPlace::default();
        reader.read(Stops::Kept);
    }
    reader.parsed.clauses = reader.place.clause + 1;
    reader.parsed.names = names(query);
    reader.parsed
}

/// The whole query, and whatever in it looks like the name of a tool: words that signs or capitals join.
fn names(query: &str) -> Vec<u64> {
    let mut names = vec![text::compact(query)];
    for chunk in query.split_whitespace().take(MOST_WORDS) {
        let chunk = chunk.trim_matches(|character: char| !character.is_alphanumeric());
        let joined = chunk.contains(['_', '.', '/', '-', ':'])
            || chunk
                .chars()
                .zip(chunk.chars().skip(1))
                .any(|(one, two)| one.is_lowercase() && two.is_uppercase());
        if joined && chunk.len() < 200 {
            names.push(text::compact(chunk));
        }
    }
    names
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stops {
    Skipped,
    Kept,
}

/// Where in the query the reader is.
#[derive(Default)]
struct QueryPlace {
    clause: usize,
    /// Content words of this clause so far.
    words: usize,
    quoted: bool,
    end: usize,
    /// A comma or an "and" was seen, which parts clauses if enough stands on both sides.
    joint: bool,
    /// Where the text without spaces ends that the last word stood in, and whether it is an address or a path.
    chunk: (usize, bool),
}

struct Reader<'q> {
    query: &'q str,
    parameters: &'q Parameters,
    parsed: ParsedQuery,
    place: QueryPlace,
}

impl Reader<'_> {
    fn read(&mut self, stops: Stops) {
        let mut tokens = Vec::with_capacity(16);
        text::tokens(self.query, &mut |token| tokens.push(token));
        for token in tokens {
            self.move_to(&token.at);
            let known = known::known(&token.folded, token.shape, self.parameters);
            if stops == Stops::Skipped && known.stop {
                self.place.joint |= known.joint;
                continue;
            }
            if self.parsed.words.len() >= MOST_WORDS {
                return;
            }
            let weight = self.weight(&token, &known);
            self.add(&token, known, weight);
        }
    }

    /// Looks at what stands between the last word and this one.
    fn move_to(&mut self, at: &Range<usize>) {
        let between = self.query.get(self.place.end..at.start).unwrap_or_default();
        self.place.end = self.place.end.max(at.end);
        let mut ended = false;
        for character in between.chars() {
            match character {
                '?' | '!' | ';' | '\n' | '。' | '！' | '？' | '；' => ended = true,
                '.' => ended |= between.len() > 1,
                ',' | '，' | '、' | ':' | '：' => self.place.joint = true,
                '"' => self.place.quoted = !self.place.quoted,
                '“' | '「' | '『' => self.place.quoted = true,
                '”' | '」' | '』' => self.place.quoted = false,
                _ => {}
            }
        }
        let least = if ended { 2 } else { 3 };
        if (ended || self.place.joint) && self.place.words >= least {
            if self.place.clause + 1 < MOST_CLAUSES {
                self.place.clause += 1;
            }
            self.place.words = 0;
        }
        if ended || self.place.joint {
            self.place.joint = false;
        }
    }

    fn add(&mut self, token: &Token<'_>, known: Rc<Known>, weight: f32) {
        let clause = 1 << self.place.clause;
        if matches!(token.shape, Shape::Word | Shape::Han) {
            self.place.words += 1;
        }
        let Some(itself) = known.ways.first() else { return };
        let same = |word: &QueryTerm| {
            word.ways.first().is_some_and(|way| way.hash == itself.hash && way.term == itself.term)
        };
        if let Some(number) = self.parsed.words.iter().position(same) {
            let Some(word) = self.parsed.words.get_mut(number) else { return };
            word.clauses |= clause;
            word.weight = weight.max(word.weight);
            self.parsed.order.push(number);
            return;
        }
        let (number, position) = (self.parsed.words.len(), self.parsed.order.len());
        let (at, shape, ways) = (token.at.clone(), token.shape, Rc::clone(&known.ways));
        self.parsed.words.push(QueryTerm { at, known, shape, weight, clauses: clause, position, ways });
        if matches!(token.shape, Shape::Word | Shape::Han | Shape::Number) {
            self.parsed.order.push(number);
        }
    }

    fn weight(&mut self, token: &Token<'_>, known: &Known) -> f32 {
        let parameters = self.parameters;
        let shape = match token.shape {
            Shape::Word | Shape::Han => 1.0,
            Shape::Number => parameters.number,
            Shape::Bigram => parameters.bigram,
            Shape::Joined => parameters.joined,
        };
        let filler = if known.filler { parameters.filler } else { 1.0 };
        let quoted = if self.place.quoted { parameters.quoted } else { 1.0 };
        let literal = if self.is_literal(&token.at) { parameters.literal } else { 1.0 };
        let proper = if self.is_proper(&token.at) { parameters.proper } else { 1.0 };
        shape * filler * quoted.min(literal).min(proper)
    }

    /// Whether a word is capitalised without beginning a sentence, so that it is the name of something.
    fn is_proper(&self, at: &Range<usize>) -> bool {
        let word = self.query.get(at.clone()).unwrap_or_default();
        let mut letters = word.chars();
        let capital =
            letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase);
        let before =
            self.query.get(..at.start).unwrap_or_default().trim_end_matches(['"', '\'', '“', ' ', '(']);
        capital && before.ends_with(|last: char| last.is_lowercase() || last == ',' || last.is_ascii_digit())
    }

    /// Adds what an address or a path is, beside its words: a path is a file.
    fn add_kind(&mut self, chunk: &str) {
        let kinds: &[&str] = if chunk.contains("://") {
            &["url", "web"]
        } else if chunk.contains('@') {
            &["email"]
        } else {
            &["file"]
        };
        for kind in kinds {
            let token = Token { folded: Cow::Borrowed(kind), at: 0..0, shape: Shape::Word };
            let known = known::known(kind, Shape::Word, self.parameters);
            self.add(&token, known, self.parameters.kind);
        }
    }

    /// Whether a word is part of an address, a path or a mail address.
    fn is_literal(&mut self, at: &Range<usize>) -> bool {
        if at.start >= self.place.chunk.0 {
            let after = self.query.get(at.start..).unwrap_or_default();
            let to = at.start + after.find(char::is_whitespace).unwrap_or(after.len());
            let before = self.query.get(..at.start).unwrap_or_default();
            let from = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
            let chunk =
                self.query.get(from..to).unwrap_or_default().trim_start_matches(['"', '\'', '(', '`', '“']);
            let literal = chunk.starts_with(['/', '~']) || chunk.contains("://") || chunk.contains('@');
            self.place.chunk = (to, literal);
            if literal && chunk.len() > 2 {
                self.add_kind(chunk);
            }
        }
        self.place.chunk.1
    }
}
