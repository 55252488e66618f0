//! How to look for tools.

use std::fmt;
use std::str::FromStr;

/// How to look for tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By words and what is near to them.
    #[default]
    Bm25,
    /// By a regular expression.
    Regex,
    /// By words, and by meaning where that is configured.
    Hybrid,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bm25, Self::Regex, Self::Hybrid];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Regex => "regex",
            Self::Hybrid => "hybrid",
        }
    }

    /// What hits are said to be found by.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25_keyword_similarity",
            Self::Regex => "regex_pattern_match",
            Self::Hybrid => "hybrid_similarity",
        }
    }
}

/// A word that is no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a search method; use \"bm25\", \"regex\" or \"hybrid\"")]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(word: &str) -> Result<Self, UnknownMethod> {
        let known = Self::ALL.into_iter().find(|method| method.word().eq_ignore_ascii_case(word.trim()));
        known.ok_or_else(|| UnknownMethod(word.chars().take(40).collect()))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}
