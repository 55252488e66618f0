//! JSON Schemas of arguments and results: compiled once, bounded, and never allowed to fetch anything. What a check may
//! take is bounded, too, whatever the schema and the value: a small budget on the spot, a larger one elsewhere.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::Exhausted;
use crate::problem::closest;

mod build;
mod evaluate;
mod expansion;
mod explain;
mod inside;
mod keywords;
mod known;
mod looked_at;
mod nearest;
mod node;
mod pattern;
mod place;
mod quote;
mod unique;

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod tests;

use evaluate::Run;
use explain::Explanation;
use node::Node;

/// The types that a schema may name.
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];
/// The most faults of one schema that are told at once.
const MOST_FAULTS: usize = 20;
/// The most reasons that are told why a value does not fit.
const MOST_VIOLATIONS: usize = 8;

/// Compiles schemas under limits.
#[derive(Clone, Copy, Debug)]
pub struct SchemaCompiler {
    /// The deepest nesting of a schema.
    pub max_depth: usize,
    /// The most JSON values a schema may consist of.
    pub max_nodes: usize,
}

impl Default for SchemaCompiler {
    fn default() -> Self {
        Self { max_depth: 64, max_nodes: 50_000 }
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Validator {
    nodes: Vec<Node>,
    tried: Vec<String>,
    weight: u64,
}

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// How much a check may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Well under a millisecond: enough for almost every call, and little enough for a thread that others wait for.
    Brief,
    /// In proportion to a value that takes that many bytes as JSON; may take seconds, so not where others wait.
    Thorough(usize),
}

/// Why a value was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It does not fit; there is at least one reason.
    Violations(Vec<Violation>),
    /// Nobody knows whether it fits: finding out takes too much.
    Overrun(Overrun),
}

/// What a check took too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// Comparisons.
    Steps,
    /// Time.
    Time,
    /// Levels of the schema and the value together.
    Depth,
    /// Matching one text with a pattern that looks around or back.
    Pattern,
}

impl From<Exhausted> for Overrun {
    fn from(exhausted: Exhausted) -> Self {
        match exhausted {
            Exhausted::Steps => Self::Steps,
            Exhausted::Time => Self::Time,
        }
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Steps | Self::Time => {
                "checking it takes too long; send less, or let the schema have fewer alternatives (anyOf, oneOf) that lead to each other"
            }
            Self::Depth => "it is nested too deeply to be checked; send fewer levels",
            Self::Pattern => {
                "a text in it is too long or too tangled for a pattern that looks around or back; send a shorter one, or write the pattern without (?=…), (?!…), (?<…) and \\1"
            }
        })
    }
}

/// Which words a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// 2020-12.
    Current,
    Draft7,
}

impl SchemaCompiler {
    /// Compiles `schema`: 2020-12 unless its `$schema` says draft-07. Every fault comes back with a pointer into the schema.
    pub fn compile(&self, schema: &Value) -> Result<Validator, Vec<Violation>> {
        self.check_bounds(schema)?;
        let faults = meta_faults(dialect_of(schema)?, schema);
        if !faults.is_empty() {
            return Err(faults);
        }
        let faults = remote_references(schema);
        if !faults.is_empty() {
            return Err(faults);
        }
        expansion::check(schema).map_err(|fault| vec![fault])?;
        self.compile_again(schema)
    }

    /// Compiles a schema that compiled before.
    pub fn compile_again(&self, schema: &Value) -> Result<Validator, Vec<Violation>> {
        let built = build::build(schema, dialect_of(schema)?).map_err(|fault| vec![fault])?;
        Ok(Validator { nodes: built.nodes, tried: built.tried, weight: built.weight })
    }

    fn check_bounds(&self, schema: &Value) -> Result<(), Vec<Violation>> {
        let mut nodes = 0;
        let mut stack = vec![(schema, 0)];
        while let Some((value, depth)) = stack.pop() {
            nodes += 1;
            if depth > self.max_depth || nodes > self.max_nodes {
                let message = format!(
                    "the schema is too large: at most {} levels and {} values are allowed; move parts into $defs or drop detail",
                    self.max_depth, self.max_nodes
                );
                return Err(vec![Violation { pointer: String::new(), message }]);
            }
            match value {
                Value::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(members) => stack.extend(members.values().map(|item| (item, depth + 1))),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Validator {
    /// About how many states its patterns have, each of which takes some fifty bytes of memory.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Whether `value` fits, and if not why: a few reasons at most.
    pub fn check(&self, value: &Value, effort: Effort) -> Result<(), Misfit> {
        self.check_for(value, effort, MOST_VIOLATIONS)
    }

    /// The same with at most `limit` reasons.
    pub fn check_for(&self, value: &Value, effort: Effort, limit: usize) -> Result<(), Misfit> {
        match effort.run(&self.nodes).fits(0, value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.explain(value, effort, limit)),
            Err(overrun) => Err(Misfit::Overrun(overrun)),
        }
    }

    fn explain(&self, value: &Value, effort: Effort, limit: usize) -> Misfit {
        let mut run = effort.run(&self.nodes).remembering();
        let (found, path, under_way) = (Vec::new(), Vec::new(), Vec::new());
        let mut explanation = Explanation { run: &mut run, limit, found, path, under_way };
        let ended = explanation.explain(0, value);
        let mut found = explanation.found;
        if let (Err(overrun), Effort::Brief) = (ended, effort) {
            return Misfit::Overrun(overrun);
        }
        if found.is_empty() {
            let message = format!("{} does not fit", quote::brief(value));
            found.push(Violation { pointer: String::new(), message });
        }
        Misfit::Violations(found)
    }

    /// JSON pointers to patterns that look around or back: they can only be matched by trying, which is bounded.
    pub fn tried_patterns(&self) -> &[String] {
        &self.tried
    }
}

impl Effort {
    fn run(self, nodes: &[Node]) -> Run<'_> {
        /// What a small value may take, however tangled the schema.
        const STEPS: u64 = 500_000;
        const STEPS_PER_BYTE: u64 = 8;
        const WITHIN: Duration = Duration::from_secs(5);
        match self {
            Self::Brief => Run::new(nodes, 10_000, WITHIN),
            Self::Thorough(bytes) => Run::new(nodes, STEPS + STEPS_PER_BYTE * bytes as u64, WITHIN),
        }
    }
}

/// Says what is wrong with a value, naming a missing or unexpected property by its own pointer and quoting no more
/// than a little of the value.
fn describe(error: &jsonschema::ValidationError<'_>) -> Violation {
    use jsonschema::error::ValidationErrorKind as Kind;
    let pointer = error.instance_path().to_string();
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            Violation {
                message: format!("{name:?} is required"),
                pointer: format!("{pointer}/{}", escape(name)),
            }
        }
        Kind::AdditionalProperties { unexpected } if unexpected.len() == 1 => Violation {
            message: format!("{:?} is not a known property", unexpected[0]),
            pointer: format!("{pointer}/{}", escape(&unexpected[0])),
        },
        _ => Violation { message: shortened(&error.to_string()), pointer },
    }
}

fn shortened(message: &str) -> String {
    const LONGEST: usize = 300;
    if message.chars().count() <= LONGEST {
        return message.to_owned();
    }
    let (head, tail): (String, Vec<char>) =
        (message.chars().take(LONGEST / 3).collect(), message.chars().collect());
    let tail: String = tail[tail.len() - LONGEST / 3..].iter().collect();
    format!("{head} … {tail}")
}

fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

fn dialect_of(schema: &Value) -> Result<Dialect, Vec<Violation>> {
    let Some(named) = schema.get("$schema") else {
        return Ok(Dialect::Current);
    };
    let text = named.as_str().unwrap_or_default().trim_end_matches('#');
    match text {
        "https://json-schema.org/draft/2020-12/schema" => Ok(Dialect::Current),
        "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => {
            Ok(Dialect::Draft7)
        }
        _ => Err(vec![Violation {
            pointer: "/$schema".into(),
            message: format!(
                "the dialect {} is not supported; use https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema, or leave $schema out",
                quote::brief(named)
            ),
        }]),
    }
}

fn meta_faults(dialect: Dialect, schema: &Value) -> Vec<Violation> {
    let meta = match dialect {
        Dialect::Draft7 => jsonschema::draft7::meta::validator(),
        Dialect::Current => jsonschema::draft202012::meta::validator(),
    };
    let mut faults: Vec<Violation> = Vec::new();
    for error in meta.iter_errors(schema).take(MOST_FAULTS) {
        let fault =
            unknown_type(&error).or_else(|| unquoted_word(&error)).unwrap_or_else(|| describe(&error));
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults
}

/// The fault of a `type` that names no type, which the meta-schema tells as two alternatives.
fn unknown_type(error: &jsonschema::ValidationError<'_>) -> Option<Violation> {
    let pointer = error.instance_path().to_string();
    let is_type = pointer.ends_with("/type") && error.schema_path().to_string().ends_with("/type/anyOf");
    let named = is_type.then(|| error.instance().as_str()).flatten()?;
    let hint = closest(named, TYPES.iter().copied())
        .map(|meant| format!("; did you mean {meant:?}?"))
        .unwrap_or_default();
    Some(Violation { pointer, message: format!("{named:?} is not one of {}{hint}", TYPES.join(", ")) })
}

/// The fault of a boolean where a text should be: YAML takes words such as `n` and `off` for booleans.
fn unquoted_word(error: &jsonschema::ValidationError<'_>) -> Option<Violation> {
    use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
    let Kind::Type { kind: TypeKind::Single(jsonschema::types::JsonType::String) } = error.kind() else {
        return None;
    };
    error.instance().as_bool().map(|_| Violation {
        pointer: error.instance_path().to_string(),
        message: "must be of type string, not a boolean; quote it".into(),
    })
}

/// Every `$ref` that does not stay inside the schema.
fn remote_references(schema: &Value) -> Vec<Violation> {
    let mut faults = Vec::new();
    let mut stack = vec![(schema, String::new())];
    while let Some((value, pointer)) = stack.pop() {
        match value {
            Value::Array(items) => {
                stack.extend(
                    items.iter().enumerate().map(|(index, item)| (item, format!("{pointer}/{index}"))),
                );
            }
            Value::Object(members) => {
                for (key, member) in members {
                    let place = format!("{pointer}/{}", escape(key));
                    match member.as_str() {
                        Some(target)
                            if matches!(key.as_str(), "$ref" | "$dynamicRef") && !target.starts_with('#') =>
                        {
                            faults.push(Violation {
                                pointer: place,
                                message: format!("the reference {target:?} leaves the schema; copy its target into $defs and refer to it with #/$defs/…"),
                            });
                        }
                        _ => stack.push((member, place)),
                    }
                }
            }
            _ => {}
        }
    }
    faults
}
