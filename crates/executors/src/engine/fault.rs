//! Why an evaluation ended without a value, and at which part of the text.

use std::fmt;
use std::ops::Range;

use crate::meter::Spent;

/// How evaluating ends: with a value, or with why there is none.
pub(super) type EngineResult<T> = Result<T, Fault>;

/// The most bytes that one text or list may have.
pub(crate) const MOST_BYTES: usize = 8 << 20;

/// A failed evaluation.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) why: Why,
    /// Where in the source, once known.
    pub(crate) at: Option<Range<usize>>,
}

/// What went wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Something cannot be done, in these words.
    Words(String),
    /// A value that is needed is not there.
    Undefined,
    /// A value would get too large.
    TooLarge,
    /// There were more steps than are allowed.
    Steps,
    /// The evaluation as a whole takes too much.
    Spent(Spent),
}

impl Fault {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Why::Words(words.into()).into()
    }

    /// The same, with its place unless that is known better.
    pub(super) fn at(mut self, range: &Range<usize>) -> Self {
        self.at.get_or_insert_with(|| range.clone());
        self
    }
}

impl From<Why> for Fault {
    fn from(why: Why) -> Self {
        Self { why, at: None }
    }
}

impl From<Spent> for Fault {
    fn from(spent: Spent) -> Self {
        Why::Spent(spent).into()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => formatter.write_str(words),
            Self::Undefined => formatter.write_str("undefined value"),
            Self::TooLarge => {
                write!(formatter, "the result is too large: it has more than {MOST_BYTES} bytes")
            }
            Self::Steps => formatter.write_str("it takes too many steps"),
            Self::Spent(spent) => write!(formatter, "it takes too much {}", spent.word()),
        }
    }
}
