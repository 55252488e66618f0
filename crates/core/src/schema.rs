//! JSON Schemas of arguments and results: compiled once, bounded, and never allowed to fetch anything. What a check may
//! take is bounded, too, whatever the schema and the value: a small budget on the spot, a larger one elsewhere.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

mod build;
mod evaluate;
mod expansion;
mod explain;
mod inside;
mod keywords;
mod known;
mod looked_at;
mod meta;
mod nearest;
mod node;
mod overrun;
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
pub(crate) use explain::{Fault, Reason};
use node::Node;
pub use overrun::{Overrun, Unchecked};

/// The most reasons that are told why a value does not fit.
const MOST_VIOLATIONS: usize = 8;
/// The longest that a check may take.
const LONGEST: Duration = Duration::from_secs(2);

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
    Overrun(Unchecked),
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
        let faults = meta::faults(dialect_of(schema)?, schema);
        if !faults.is_empty() {
            return Err(faults);
        }
        // Most schemas refer to nothing: they come to what they are, which is bounded.
        if has_references(schema) {
            let faults = remote_references(schema);
            if !faults.is_empty() {
                return Err(faults);
            }
            expansion::check(schema).map_err(|fault| vec![fault])?;
        }
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
        self.found(value, Bounds { effort, limit, within: LONGEST })
    }

    /// The same for a value that takes that many bytes as JSON, and whoever waits for it waits no longer than that.
    pub fn check_within(&self, value: &Value, bytes: usize, within: Duration) -> Result<(), Misfit> {
        let (effort, within) = (Effort::Thorough(bytes), within.min(LONGEST));
        self.found(value, Bounds { effort, limit: MOST_VIOLATIONS, within })
    }

    fn found(&self, value: &Value, bounds: Bounds) -> Result<(), Misfit> {
        let reasons = self.reasons_within(value, bounds).map_err(Misfit::Overrun)?;
        if reasons.is_empty() {
            return Ok(());
        }
        Err(Misfit::Violations(reasons.into_iter().map(|reason| reason.violation).collect()))
    }

    /// Why a value does not fit, by sort; nothing if it fits.
    pub(crate) fn reasons(
        &self,
        value: &Value,
        effort: Effort,
        limit: usize,
    ) -> Result<Vec<Reason>, Unchecked> {
        self.reasons_within(value, Bounds { effort, limit, within: LONGEST })
    }

    fn reasons_within(&self, value: &Value, bounds: Bounds) -> Result<Vec<Reason>, Unchecked> {
        // A brief check is over before it would look at the clock.
        let began = (bounds.effort != Effort::Brief).then(Instant::now);
        let mut run = bounds.run(&self.nodes);
        match run.fits(0, value) {
            Ok(true) => Ok(Vec::new()),
            Ok(false) => {
                let spent = began.map(|began| began.elapsed()).unwrap_or_default();
                self.explain(value, Bounds { within: bounds.within.saturating_sub(spent), ..bounds })
            }
            Err(overrun) => Err(run.unchecked(overrun, value)),
        }
    }

    fn explain(&self, value: &Value, bounds: Bounds) -> Result<Vec<Reason>, Unchecked> {
        let mut run = bounds.run(&self.nodes).remembering();
        let mut explanation = Explanation::new(&mut run, bounds.limit);
        let ended = explanation.explain(0, value);
        match ended {
            Err(overrun) if bounds.effort == Effort::Brief => return Err(overrun.into()),
            Ok(()) if bounds.effort == Effort::Brief && explanation.is_cut => {
                return Err(Overrun::Steps.into());
            }
            Err(_) if explanation.found.is_empty() => {
                // Told where the search for reasons had come to.
                let message = "does not fit; what is wrong with it takes too long to find out".to_owned();
                explanation.tell(Fault::Other, message);
            }
            Err(_) | Ok(()) => {}
        }
        let mut found = explanation.found;
        if found.is_empty() {
            let message = format!("{} does not fit", quote::brief(value));
            let violation = Violation { pointer: String::new(), message };
            found.push(Reason { violation, fault: Fault::Other });
        }
        Ok(found)
    }

    /// JSON pointers to patterns that look around or back: they can only be matched by trying, which is bounded.
    pub fn tried_patterns(&self) -> &[String] {
        &self.tried
    }
}

/// What one check may take and tell.
#[derive(Clone, Copy)]
struct Bounds {
    effort: Effort,
    /// The most reasons.
    limit: usize,
    /// The verdict and the reasons together.
    within: Duration,
}

impl Bounds {
    fn run(self, nodes: &[Node]) -> Run<'_> {
        /// What a small value may take, however tangled the schema.
        const STEPS: u64 = 500_000;
        const STEPS_PER_BYTE: u64 = 8;
        match self.effort {
            Effort::Brief => Run::new(nodes, 10_000, self.within),
            Effort::Thorough(bytes) => Run::new(nodes, STEPS + STEPS_PER_BYTE * bytes as u64, self.within),
        }
    }
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

/// Whether a key anywhere in a schema of bounded depth says that it refers to another place.
fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_references),
        Value::Object(members) => {
            members.iter().any(|(key, member)| is_reference(key) || has_references(member))
        }
        _ => false,
    }
}

fn is_reference(key: &str) -> bool {
    matches!(key, "$ref" | "$dynamicRef")
}

/// A member of a schema. Most have few, and then looking at each is quicker than a hash.
fn member<'s>(schema: &'s Map<String, Value>, keyword: &str) -> Option<&'s Value> {
    const FEW: usize = 8;
    if schema.len() > FEW {
        return schema.get(keyword);
    }
    schema.iter().find(|(key, _)| *key == keyword).map(|(_, value)| value)
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
                        Some(target) if is_reference(key) && !target.starts_with('#') => {
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
