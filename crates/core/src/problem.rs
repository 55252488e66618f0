//! What is wrong with a definition or a configuration, in words a user can act on, with a JSON pointer to the place.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The definition goes live, but something about it is poor.
    Warning,
    /// The definition cannot go live.
    Error,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The tool it concerns, if it has got that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Where the definition came from: a file, a row of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// JSON pointer into what the user wrote; empty for the whole document.
    pub pointer: String,
    /// What is wrong and what to do about it.
    pub message: String,
    /// Where that stands in a file, if it came from one.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub spot: Option<Spot>,
}

/// A place in a file, as editors name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The file, as the user named it or from the root of its folder.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Spot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(formatter, "{severity}")?;
        if let Some(tool) = &self.tool {
            write!(formatter, " in {tool}")?;
        }
        if !self.pointer.is_empty() {
            write!(formatter, " at {}", self.pointer)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// Collects what is wrong, so that the user hears of it at once.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    /// What was noted beyond those, and how bad it is.
    more: Vec<(Severity, usize)>,
}

/// Nobody reads more at once.
const MOST_PROBLEMS: usize = 200;

impl Problems {
    /// Notes something that keeps the definition from going live.
    pub fn error(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.push(Severity::Error, pointer.into(), message.into());
    }

    /// Notes something poor that does not keep the definition from going live.
    pub fn warning(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.push(Severity::Warning, pointer.into(), message.into());
    }

    /// Takes over what others noted, all of it as something poor.
    pub fn warn_of(&mut self, others: Self) {
        for Problem { pointer, message, .. } in others.into_list(None, str::to_owned) {
            self.warning(pointer, message);
        }
    }

    /// Looks at everything noted so far again.
    pub fn revise(&mut self, revise: impl FnMut(&mut Problem)) {
        self.list.iter_mut().for_each(revise);
    }

    /// Whether anything noted so far keeps the definition from going live.
    pub fn any_error(&self) -> bool {
        let listed = self.list.iter().map(|problem| problem.severity);
        listed
            .chain(self.more.iter().map(|(severity, _)| *severity))
            .any(|severity| severity == Severity::Error)
    }

    /// Everything noted, errors first, in the order they were found; pointers pass through `place`.
    pub fn into_list(self, tool: Option<&str>, place: impl Fn(&str) -> String) -> Vec<Problem> {
        let mut list = self.list;
        list.extend(self.more.into_iter().map(|(severity, count)| {
            problem(severity, String::new(), format!("{count} more like these; correct these first"))
        }));
        list.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
        for problem in &mut list {
            problem.pointer = place(&problem.pointer);
            problem.tool = tool.map(str::to_owned);
        }
        list
    }

    fn push(&mut self, severity: Severity, pointer: String, message: String) {
        let problem = problem(severity, pointer, message);
        if self.list.contains(&problem) {
            return;
        }
        if self.list.len() < MOST_PROBLEMS {
            self.list.push(problem);
        } else if let Some((_, count)) = self.more.iter_mut().find(|(known, _)| *known == severity) {
            *count += 1;
        } else {
            self.more.push((severity, 1));
        }
    }
}

fn problem(severity: Severity, pointer: String, message: String) -> Problem {
    Problem { severity, tool: None, origin: None, pointer, message, spot: None }
}

/// Somebody else's text as far as it is worth repeating.
pub fn shortened(text: &str) -> Cow<'_, str> {
    /// The longest name that a client can carry, and as much again.
    const LONGEST: usize = 128;
    match text.char_indices().nth(LONGEST) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// The question `did you mean "url"?` about a word that is none of those known, if one of them is close enough to suggest.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    did_you_mean_written(word, known, |meant| format!("{meant:?}"))
}

/// The same question where the word is written in another way than in quotes, such as `args.city`.
pub fn did_you_mean_written<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    written: impl FnOnce(&'a str) -> String,
) -> Option<String> {
    closest(word, known).map(|meant| format!("did you mean {}?", written(meant)))
}

/// The candidate a user most likely meant by `word`, if any is close enough to suggest.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = Wanted::new(word)?;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let furthest = 1 + candidate.len().min(word.len()) / 4;
        let furthest = best.map_or(furthest, |(distance, _)| furthest.min(distance - 1));
        if wanted.length > candidate.len() + furthest || candidate.len() / 4 > wanted.length + furthest {
            continue;
        }
        let distance = wanted.distance(candidate);
        if distance == 0 {
            return Some(candidate);
        }
        if distance <= furthest {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A word that others are compared with, as bits: bit n of a letter is set where the letter stands at n.
struct Wanted {
    ascii: [u64; 128],
    others: Vec<(char, u64)>,
    length: usize,
}

impl Wanted {
    /// Nothing for a word of more letters than a number has bits, or of none.
    fn new(word: &str) -> Option<Self> {
        let mut wanted = Self { ascii: [0; 128], others: Vec::new(), length: 0 };
        for letter in letters(word) {
            let bit = 1_u64.checked_shl(u32::try_from(wanted.length).ok()?)?;
            wanted.length += 1;
            match wanted.ascii.get_mut(letter as usize) {
                Some(bits) => *bits |= bit,
                None => match wanted.others.iter_mut().find(|(known, _)| *known == letter) {
                    Some((_, bits)) => *bits |= bit,
                    None => wanted.others.push((letter, bit)),
                },
            }
        }
        (wanted.length > 0).then_some(wanted)
    }

    fn bits(&self, letter: char) -> u64 {
        let others = || self.others.iter().find(|(known, _)| *known == letter).map(|(_, bits)| *bits);
        self.ascii.get(letter as usize).copied().or_else(others).unwrap_or_default()
    }

    /// How far the candidate is away; most names are ASCII, whose letters are found quickly.
    fn distance(&self, candidate: &str) -> usize {
        if !candidate.is_ascii() {
            return self.distance_of(letters(candidate));
        }
        let bytes = candidate.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        self.distance_of(bytes.map(|byte| char::from(byte.to_ascii_lowercase())))
    }

    /// How many letters have to be put in, taken out, replaced or swapped with the next one: a whole column of the table
    /// at once (H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003).
    fn distance_of(&self, candidate: impl Iterator<Item = char>) -> usize {
        let last = 1_u64 << (self.length - 1);
        let (mut up, mut down, mut diagonal, mut before) = (u64::MAX, 0, 0_u64, 0_u64);
        let mut distance = self.length;
        for letter in candidate {
            let here = self.bits(letter);
            let swapped = ((!diagonal & here) << 1) & before;
            diagonal = ((here & up).wrapping_add(up) ^ up) | here | down | swapped;
            let (mut more, less) = (down | !(diagonal | up), diagonal & up);
            distance += usize::from(more & last != 0);
            distance -= usize::from(less & last != 0);
            more = (more << 1) | 1;
            up = (less << 1) | !(diagonal | more);
            down = more & diagonal;
            before = here;
        }
        distance
    }
}

/// The letters that count: names are written with `_`, `-` or capitals as people like.
fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested_and_a_far_one_is_not() {
        let fields = ["url", "method", "headers", "timeoutMs"];
        assert_eq!(closest("urll", fields), Some("url"));
        assert_eq!(closest("timeout_ms", fields), Some("timeoutMs"));
        assert_eq!(closest("header", fields), Some("headers"));
        assert_eq!(closest("colour", fields), None);
        assert_eq!(did_you_mean("urll", fields).as_deref(), Some("did you mean \"url\"?"));
        let written = |meant: &str| format!("args.{meant}");
        assert_eq!(did_you_mean_written("urll", fields, written).as_deref(), Some("did you mean args.url?"));
        assert_eq!(did_you_mean("colour", fields), None);
    }

    #[test]
    fn letters_may_be_missing_too_many_wrong_or_swapped() {
        let distance = |one: &str, other: &str| Wanted::new(one).unwrap().distance(other);
        for (one, other, expected) in [
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("abc", "abxc", 1),
            ("abc", "axc", 1),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("Über_Zug", "überzug", 0),
            ("温度", "温渡", 1),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(one, other), strsim::osa_distance(&squashed(one), &squashed(other)));
        }
        let long = "ab".repeat(32);
        assert_eq!(distance(&long, &"ba".repeat(32)), strsim::osa_distance(&long, &"ba".repeat(32)));
        assert_eq!(closest(&"a".repeat(65), ["a"]), None, "nobody means anything by that");
    }

    fn squashed(word: &str) -> String {
        letters(word).collect()
    }

    #[test]
    fn of_very_many_problems_the_first_are_listed_and_the_rest_counted() {
        let mut problems = Problems::default();
        for at in 0..50_000 {
            problems.warning(format!("/{at}"), "poor");
        }
        problems.error("/x", "wrong");
        assert!(problems.any_error());
        let list = problems.into_list(None, str::to_owned);
        assert_eq!(list.len(), MOST_PROBLEMS + 2);
        assert_eq!(list[0].to_string(), "error: 1 more like these; correct these first");
        assert_eq!(
            list[MOST_PROBLEMS + 1].to_string(),
            "warning: 49800 more like these; correct these first"
        );
    }

    #[test]
    fn errors_come_before_warnings_and_nothing_is_told_twice() {
        let mut problems = Problems::default();
        problems.warning("/a", "poor");
        problems.error("/b", "wrong");
        problems.error("/b", "wrong");
        let list = problems.into_list(Some("t"), str::to_owned);
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].to_string(), "error in t at /b: wrong");
    }
}
