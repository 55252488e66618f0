//! A name that no tool has: what is said about it, with the name that was probably meant.

use std::borrow::Cow;

use toolrail_core::{ErrorCode, ToolName, closest};

use crate::failure::Failure;

/// Comparing is quadratic in the length of names, so only so many are compared.
const MOST_COMPARED: usize = 1_000;

/// The answer to a name that is none of `names`, which `listing` lists.
pub(crate) fn unknown_tool<'a>(name: &str, names: impl Iterator<Item = &'a str>, listing: &str) -> Failure {
    let message = match similar(name, names) {
        Some(meant) => format!("there is no tool named {name:?}; did you mean {meant:?}?"),
        None => format!("there is no tool named {:?}; {listing} lists them", shortened(name)),
    };
    Failure::new(ErrorCode::NotFound, message)
}

fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > ToolName::MAX_LENGTH {
        return None;
    }
    closest(name, names.filter(|known| known.len().abs_diff(name.len()) <= 4).take(MOST_COMPARED))
}

fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(100) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}
