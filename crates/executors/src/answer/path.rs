//! `responseMapping` of type `jsonPath`: the part of the answer that an expression (RFC 9535) selects.

use serde_json::Value;
use serde_json_path::JsonPath;
use toolrail_core::{Json, Outcome, Payload, ToolResult};

use super::unusable;

/// Each `..` multiplies the work by the depth of the answer.
const MOST_DESCENDANTS: usize = 3;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Path {
    query: JsonPath,
    written: String,
    singular: bool,
}

impl Path {
    pub(super) fn compile(written: &str) -> Result<Self, String> {
        let query = JsonPath::parse(written).map_err(|fault| {
            format!(
                "{written:?} is not a JSONPath (RFC 9535): {} at character {}; an example is $.data.items[*].name",
                fault.message(),
                fault.position()
            )
        })?;
        let bare = without_quoted(written);
        if bare.matches("..").count() > MOST_DESCENDANTS {
            return Err(format!(
                "{written:?} has more than {MOST_DESCENDANTS} descendant steps (..); name the way down"
            ));
        }
        // What is left are names and indices, which select at most one value each.
        let singular = !bare.contains("..") && !bare.contains(['*', '?', ':', ',']);
        Ok(Self { query, written: written.to_owned(), singular })
    }

    /// The one value that a path of names and indices leads to, or the list of all values that any other path selects.
    /// Where the path leads nowhere, the result is null or the empty list, and a note says so: the call itself has
    /// been carried out and has not failed.
    pub(super) fn apply(&self, mut result: ToolResult, place: &str) -> Outcome {
        let nothing = format!("responseMapping {} selected nothing in the answer", self.written);
        let json = match &result.payload {
            Payload::Json(json) => json,
            Payload::Empty => {
                result.notes.push(nothing);
                return Ok(result);
            }
            Payload::Text(_) | Payload::Blocks(_) => {
                return Err(unusable(format!(
                    "the answer of {place} is not JSON, so responseMapping {} cannot be applied to it",
                    self.written
                )));
            }
        };
        let tree = tree(json, place)?;
        let nodes = self.query.query(&tree);
        let empty = nodes.is_empty();
        let selected = if self.singular {
            Json::from_value(nodes.first().unwrap_or(&Value::Null))
        } else {
            Json::from_value(&nodes.all().into_iter().cloned().collect())
        };
        if empty {
            result.notes.push(nothing);
        }
        result.payload = Payload::Json(selected);
        Ok(result)
    }
}

/// The answer as a tree; refused where it is nested deeper than can be handled without risk.
pub(super) fn tree(json: &Json, place: &str) -> Result<Value, toolrail_core::CallError> {
    serde_json::from_slice(json.bytes()).map_err(|fault| {
        unusable(format!("responseMapping cannot be applied to the answer of {place}: {fault}"))
    })
}

/// The expression without its quoted names.
fn without_quoted(written: &str) -> String {
    let mut bare = String::with_capacity(written.len());
    let mut quote = None;
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match quote {
            Some(_) if character == '\\' => drop(characters.next()),
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None => bare.push(character),
        }
    }
    bare
}
