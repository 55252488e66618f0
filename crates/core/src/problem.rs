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

/// Collects everything that is wrong, so that the user hears of it at once.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
}

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
        for Problem { pointer, message, .. } in others.list {
            self.warning(pointer, message);
        }
    }

    /// Looks at everything noted so far again.
    pub fn revise(&mut self, revise: impl FnMut(&mut Problem)) {
        self.list.iter_mut().for_each(revise);
    }

    /// Whether anything noted so far keeps the definition from going live.
    pub fn any_error(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Everything noted, errors first, in the order they were found; pointers pass through `place`.
    pub fn into_list(self, tool: Option<&str>, place: impl Fn(&str) -> String) -> Vec<Problem> {
        let mut list = self.list;
        list.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
        for problem in &mut list {
            problem.pointer = place(&problem.pointer);
            problem.tool = tool.map(str::to_owned);
        }
        list
    }

    fn push(&mut self, severity: Severity, pointer: String, message: String) {
        let problem = Problem { severity, tool: None, origin: None, pointer, message, spot: None };
        if !self.list.contains(&problem) {
            self.list.push(problem);
        }
    }
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

/// The candidate a user most likely meant by `word`, if any is close enough to suggest.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = squash(word);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &squash(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(word.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn squash(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_lowercase()
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
