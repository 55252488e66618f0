//! What a schema itself must look like: the vocabulary of each dialect, as a schema that our own evaluator checks.

use std::sync::LazyLock;

use serde_json::Value;

use super::explain::{Fault, Reason};
use super::{Dialect, Effort, Validator, Violation, build};
use crate::problem::did_you_mean;

/// The most faults of one schema that are told at once.
const MOST_FAULTS: usize = 20;
/// More than the largest schema takes.
const EFFORT: Effort = Effort::Thorough(8 << 20);

/// The types that a schema may name.
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];

static CURRENT: LazyLock<Option<Validator>> = LazyLock::new(|| vocabulary(include_str!("meta/2020-12.json")));
static DRAFT_7: LazyLock<Option<Validator>> =
    LazyLock::new(|| vocabulary(include_str!("meta/draft-07.json")));

fn vocabulary(text: &str) -> Option<Validator> {
    let schema: Value = serde_json::from_str(text).ok()?;
    let built = build::build(&schema, Dialect::Current).ok()?;
    Some(Validator { nodes: built.nodes, tried: built.tried, weight: built.weight })
}

/// What is wrong with the form of a schema.
pub(super) fn faults(dialect: Dialect, schema: &Value) -> Vec<Violation> {
    let vocabulary = match dialect {
        Dialect::Draft7 => &*DRAFT_7,
        Dialect::Current => &*CURRENT,
    };
    let reasons = vocabulary.as_ref().map(|vocabulary| vocabulary.reasons(schema, EFFORT, MOST_FAULTS));
    match reasons {
        Some(Ok(reasons)) => reasons.into_iter().map(|reason| in_words(reason, schema)).collect(),
        Some(Err(overrun)) => vec![Violation { pointer: String::new(), message: overrun.to_string() }],
        None => {
            let message = "the vocabulary of schemas could not be built; this is a fault of Toolrail";
            vec![Violation { pointer: String::new(), message: message.to_owned() }]
        }
    }
}

/// Says of the commonest mistakes what was meant.
fn in_words(reason: Reason, schema: &Value) -> Violation {
    let Violation { pointer, message } = reason.violation;
    let found = schema.pointer(&pointer);
    let message = match (reason.fault, found) {
        (Fault::Choice, Some(Value::String(named))) => {
            let question = did_you_mean(named, TYPES.iter().copied());
            let hint = question.map(|question| format!("; {question}")).unwrap_or_default();
            format!("{named:?} is not one of {}{hint}", TYPES.join(", "))
        }
        // YAML takes words such as `n` and `off` for booleans.
        (Fault::Type, Some(Value::Bool(_))) if message.contains("\"string\"") => {
            "must be of type string, not a boolean; quote it".into()
        }
        _ => message,
    };
    Violation { pointer, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabularies_can_be_built() {
        assert!(CURRENT.is_some() && DRAFT_7.is_some());
    }
}
