//! `responseMapping` of type `jsonPath`: the part of the answer that an expression (RFC 9535) selects, as the upstream wrote
//! it.

mod ast;
mod limits;
mod parse;
mod pattern;
mod select;

use bytes::Bytes;
use toolrail_core::{CallError, Json, Outline, Part, Payload, ToolResult};

use super::{Mapped, MappingFailure, PATH, outline, unusable_at};
use crate::meter::Meter;
use select::{Failed, Selecting};

/// What a mapping may select: a path with several selectors can name the same value many times.
const MOST_NODES: usize = 100_000;
const MOST_BYTES: usize = 8 << 20;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct JsonPath {
    query: ast::Query,
    written: String,
}

impl JsonPath {
    pub(super) fn compile(written: &str) -> Result<Self, String> {
        if !written.starts_with('$') {
            return Err(format!("{written:?} must start with $, as in {}", rooted(written)));
        }
        limits::check(written, &without_quoted(written))?;
        let query = parse::parse(written).map_err(|wrong| {
            format!(
                "{written:?} is not a JSONPath (RFC 9535): {} at character {}; an example is $.data.items[*].name",
                wrong.words,
                written[..wrong.at].chars().count() + 1
            )
        })?;
        Ok(Self { query, written: written.to_owned() })
    }

    /// The one value that a path of names and indices leads to, or the list of all values that any other path selects.
    /// Where the path leads nowhere, the result is null or the empty list, and a note says so: the call itself has
    /// been carried out and has not failed.
    pub(super) fn apply(&self, mut result: ToolResult, place: &str, meter: &mut Meter) -> Mapped {
        let nothing = format!("responseMapping {} selected nothing in the answer", self.written);
        let json = match &result.payload {
            Payload::Json(json) => json,
            Payload::Empty => {
                result.notes.push(nothing);
                return Ok(result);
            }
            Payload::Text(_) | Payload::Blocks(_) | Payload::Whole(_) | Payload::InputRequired(_) => {
                return Err(MappingFailure::Failed(unusable_at(
                    PATH,
                    format!(
                        "the answer of {place} is not JSON, so responseMapping {} cannot be applied to it",
                        self.written
                    ),
                )));
            }
        };
        let outline: Outline<'_> = outline(json, place, meter)?;
        let nodes =
            Selecting::new(outline.root(), meter).all(&self.query).map_err(|failed| self.failed(&failed))?;
        let selected = if self.query.is_singular() {
            nodes.first().map_or("null", |node| node.raw()).to_owned()
        } else {
            self.listed(&nodes, json.bytes().len())?
        };
        if nodes.is_empty() {
            result.notes.push(nothing);
        }
        let selected =
            Json::parse(Bytes::from(selected)).map_err(|fault| unusable_at(PATH, fault.to_string()))?;
        result.payload = Payload::Json(selected);
        Ok(result)
    }

    /// The selected values as a list, which is never larger than the answer it comes from or the bound.
    fn listed(&self, nodes: &[Part<'_>], answer: usize) -> Result<String, CallError> {
        let written = &self.written;
        if nodes.len() > MOST_NODES {
            let found = nodes.len();
            return Err(unusable_at(
                PATH,
                format!(
                    "responseMapping {written} selected {found} values, more than the {MOST_NODES} that are allowed; select less"
                ),
            ));
        }
        let most = MOST_BYTES.max(answer);
        let length: usize = nodes.iter().map(|node| node.raw().len() + 1).sum();
        if length > most {
            return Err(unusable_at(
                PATH,
                format!("responseMapping {written} selected more than {most} bytes; select less"),
            ));
        }
        let mut out = String::with_capacity(length + 2);
        out.push('[');
        for (index, node) in nodes.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            out.push_str(node.raw());
        }
        out.push(']');
        Ok(out)
    }

    fn failed(&self, failed: &Failed) -> MappingFailure {
        let written = &self.written;
        match failed {
            Failed::Spent(spent) => MappingFailure::Spent(unusable_at(
                PATH,
                format!(
                    "responseMapping {written} takes too much {} with this answer; select less",
                    spent.word()
                ),
            )),
            Failed::LongText => MappingFailure::Failed(unusable_at(
                PATH,
                format!(
                    "responseMapping {written} matches a pattern with a text of more than 65536 bytes, which is not supported; select less"
                ),
            )),
        }
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

#[cfg(test)]
mod facts;
