//! A name that no tool or definition has: what is said about it, with the name that was probably meant.

use toolrail_core::{ErrorCode, ToolName, did_you_mean, shortened};

use crate::advice::{Advice, NextStep};
use crate::failure::Failure;

/// Comparing is quadratic in the length of names, so only so many are compared.
const MOST_COMPARED: usize = 1_000;

/// What was looked for.
#[derive(Clone, Copy)]
pub(crate) enum Sought {
    /// A tool that can be called.
    Tool,
    /// A definition, in any state and of any type.
    Definition,
}

impl Sought {
    const fn word_and_listing(self) -> (&'static str, NextStep) {
        match self {
            Self::Tool => ("tool", NextStep::ListTools),
            Self::Definition => ("definition", NextStep::ListDefinitions),
        }
    }
}

/// The answer to a name that is none of `names`.
pub(crate) fn unknown<'a>(sought: Sought, name: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    let (word, listing) = sought.word_and_listing();
    if let Some(question) = similar(name, names) {
        return Failure::new(ErrorCode::NotFound, format!("there is no {word} named {name:?}; {question}"));
    }
    let fault = format!("there is no {word} named {:?}", shortened(name));
    Failure::advised(ErrorCode::NotFound, Advice::new(fault, listing, "lists them"))
}

fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    if name.len() > ToolName::MAX_LENGTH {
        return None;
    }
    did_you_mean(name, names.filter(|known| known.len().abs_diff(name.len()) <= 4).take(MOST_COMPARED))
}
