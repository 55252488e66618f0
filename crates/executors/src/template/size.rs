//! How large a value of the expression engine may get. Values share their parts, so that a few words of an expression can
//! describe more than memory holds, and the engine itself sets no bound.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// How many bytes one step of an evaluation may yield, and what each value in it counts beside its text.
pub(super) const MOST_BYTES: usize = 8 << 20;
const VALUE_SIZE: usize = 16;
/// How deep a value may be nested; writing it goes as deep.
pub(super) const DEEPEST: usize = 128;

/// Refuses a value that is too large to be written, or nested too deep.
pub(crate) fn check_size(value: &Value) -> Result<(), Error> {
    let mut left = MOST_BYTES;
    walk(value, &mut left, 0)
}

/// Refuses the result of a filter that is too large to go on with. Only its own items are counted, not theirs: those
/// were there before.
pub(crate) fn check_step(value: &Value) -> Result<(), Error> {
    let size = match value.as_str() {
        Some(text) => text.len(),
        None => value.len().unwrap_or_default().saturating_mul(VALUE_SIZE),
    };
    if size > MOST_BYTES { Err(too_large()) } else { Ok(()) }
}

/// `text` with every `from` replaced; refused before it is built if it would be too large.
pub(crate) fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let found = if from.is_empty() {
        text.chars().count() + 1
    } else {
        memchr::memmem::find_iter(text.as_bytes(), from).count()
    };
    let kept = text.len() - found.saturating_mul(from.len()).min(text.len());
    if kept.saturating_add(found.saturating_mul(to.len())) > MOST_BYTES {
        return Err(too_large());
    }
    Ok(text.replace(from, to))
}

/// The fault of a value beyond the bound.
pub(super) fn too_large() -> Error {
    Error::new(
        ErrorKind::InvalidOperation,
        format!("the result is too large: it has more than {MOST_BYTES} bytes"),
    )
}

/// The fault of a value nested beyond the bound.
pub(super) fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("the result is nested deeper than {DEEPEST} levels"))
}

fn walk(value: &Value, left: &mut usize, depth: usize) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    let size = value.as_str().map_or(1, str::len);
    *left = left.checked_sub(size).ok_or_else(too_large)?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                walk(&item, left, depth + 1)?;
            }
        }
        ValueKind::Map => {
            for key in value.try_iter()? {
                walk(&key, left, depth + 1)?;
                walk(&value.get_item(&key)?, left, depth + 1)?;
            }
        }
        _ => {}
    }
    Ok(())
}
