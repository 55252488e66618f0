//! `responseMapping` of type `jsonPath`: the part of the answer that an expression (RFC 9535) selects.

use serde_json::Value;
use serde_json_path::JsonPath;
use toolrail_core::{CallError, Json, Outcome, Payload, ToolResult};

use super::capped::Capped;
use super::unusable;

mod limits;

/// What a mapping may select: a path with several selectors can name the same value many times.
const MOST_NODES: usize = 100_000;
const MOST_BYTES: usize = 8 << 20;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Path {
    query: JsonPath,
    written: String,
    singular: bool,
}

impl Path {
    pub(super) fn compile(written: &str) -> Result<Self, String> {
        if !written.starts_with('$') {
            return Err(format!("{written:?} must start with $, as in {}", rooted(written)));
        }
        let bare = without_quoted(written);
        limits::check(written, &bare)?;
        let query = JsonPath::parse(written).map_err(|fault| {
            format!(
                "{written:?} is not a JSONPath (RFC 9535): {} at character {}; an example is $.data.items[*].name",
                fault.message(),
                fault.position()
            )
        })?;
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
            Payload::Text(_) | Payload::Blocks(_) | Payload::Whole(_) | Payload::InputRequired(_) => {
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
            self.listed(&nodes.all(), json.bytes().len())?
        };
        if empty {
            result.notes.push(nothing);
        }
        result.payload = Payload::Json(selected);
        Ok(result)
    }

    /// The selected values as a list, which is never larger than the answer it comes from or the bound.
    fn listed(&self, nodes: &[&Value], answer: usize) -> Result<Json, CallError> {
        let written = &self.written;
        if nodes.len() > MOST_NODES {
            let found = nodes.len();
            return Err(unusable(format!(
                "responseMapping {written} selected {found} values, more than the {MOST_NODES} that are allowed; select less"
            )));
        }
        let most = MOST_BYTES.max(answer);
        let mut out = Capped::new(most);
        serde_json::to_writer(&mut out, nodes).map_err(|_| {
            unusable(format!("responseMapping {written} selected more than {most} bytes; select less"))
        })?;
        Json::parse(out.into_bytes().into()).map_err(|fault| unusable(fault.to_string()))
    }
}

/// What a path without its root most likely means.
fn rooted(written: &str) -> String {
    match written.trim() {
        "" => "$.data".into(),
        path if path.starts_with('$') => path.to_owned(),
        path if path.starts_with(['.', '[']) => format!("${path}"),
        path => format!("$.{path}"),
    }
}

/// The answer as a tree; refused where it is nested deeper than can be handled without risk.
pub(super) fn tree(json: &Json, place: &str) -> Result<Value, CallError> {
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
