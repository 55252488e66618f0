//! `responseMapping` of type `template`: a text over `result`, `args` and `status`. Unlike request templates it may hold
//! loops and conditions, so it runs with a bound on its steps and on its output.

use std::collections::BTreeSet;
use std::ops::Range;

use http::StatusCode;
use serde_json::Map;
use toolrail_core::{CallError, Outline, Payload, ToolResult, did_you_mean_written};

use super::{Mapped, MappingFailure, TEMPLATE, outline, unusable_at};
use crate::engine::{Fault, Program, Syntax, Value, Why};
use crate::meter::Meter;

mod limits;
mod names;

const VARIABLES: [&str; 3] = ["result", "args", "status"];
/// What the most patient template may do; a loop over 10,000 rows with ten steps each takes half of it.
const STEPS: u64 = 200_000;
const MOST_BYTES: usize = 4 << 20;
const LONGEST_TEMPLATE: usize = 64 << 10;

/// A compiled template.
#[derive(Debug)]
pub(super) struct ResponseTemplate {
    program: Program,
    written: String,
}

/// What a template may look at besides the result.
pub(super) struct Scope<'a> {
    pub(super) arguments: &'a Map<String, serde_json::Value>,
    pub(super) status: StatusCode,
    pub(super) place: &'a str,
}

impl ResponseTemplate {
    pub(super) fn compile(written: &str) -> Result<Self, Vec<String>> {
        if written.len() > LONGEST_TEMPLATE {
            let length = written.len();
            return Err(vec![format!(
                "the template has {length} bytes, more than the {LONGEST_TEMPLATE} that are allowed; shorten it"
            )]);
        }
        limits::check(written).map_err(|fault| vec![fault])?;
        let program =
            Program::parse(written).map_err(|Syntax { words, at }| vec![at_line(written, at, &words)])?;
        let template = Self { program, written: written.to_owned() };
        let faults = template.unknown_names();
        if faults.is_empty() { Ok(template) } else { Err(faults) }
    }

    /// The text that the template makes of the result.
    pub(super) fn apply(&self, mut result: ToolResult, scope: &Scope<'_>, meter: &mut Meter) -> Mapped {
        let text = match &result.payload {
            Payload::Json(json) => {
                let outline: Outline<'_> = outline(json, scope.place, meter)?;
                let value = Value::of_part(outline.root(), meter);
                value.and_then(|value| self.render(value, scope, meter))
            }
            Payload::Text(text) => {
                Value::of_text(text, meter).and_then(|value| self.render(value, scope, meter))
            }
            Payload::Empty => self.render(Value::Null, scope, meter),
            Payload::Blocks(_) | Payload::Whole(_) | Payload::InputRequired(_) => {
                return Err(MappingFailure::Failed(unusable_at(
                    TEMPLATE,
                    format!(
                        "the answer of {} is neither JSON nor text, so the responseMapping template cannot use it",
                        scope.place
                    ),
                )));
            }
        };
        result.payload = Payload::Text(text.map_err(|fault| self.failed(&fault))?);
        Ok(result)
    }

    fn render(&self, result: Value<'_>, scope: &Scope<'_>, meter: &mut Meter) -> Result<String, Fault> {
        let variables = vec![
            ("result", result),
            ("args", Value::of_members(scope.arguments, meter)?),
            ("status", Value::Int(scope.status.as_u16().into())),
        ];
        self.program.render(variables, STEPS, MOST_BYTES, meter)
    }

    /// The arguments it names, and whether it takes all of them together.
    pub(super) fn arguments(&self) -> (Vec<String>, bool) {
        let mut all = false;
        let mut names = BTreeSet::new();
        for (_, step) in self.program.uses().filter(|(name, _)| *name == "args") {
            match step {
                Some(step) => drop(names.insert(step.to_owned())),
                None => all = true,
            }
        }
        (names.into_iter().collect(), all)
    }

    /// Names that would only be missed when the template runs.
    fn unknown_names(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let variables: BTreeSet<&str> = self.program.uses().map(|(name, _)| name).collect();
        for name in variables.into_iter().filter(|name| !VARIABLES.contains(name)) {
            let hint = did_you_mean_written(name, VARIABLES, str::to_owned)
                .unwrap_or_else(|| "there are result, args and status".to_owned());
            faults.push(format!("{name} is not known in this template; {hint}"));
        }
        for unknown in self.program.unknown() {
            let (sort, name) = (unknown.sort, &unknown.name);
            let words = format!("there is no {sort} {name}; see the list of template {sort}s");
            faults.push(at_line(&self.written, unknown.at, &words));
        }
        faults
    }

    fn failed(&self, fault: &Fault) -> MappingFailure {
        let mut words = match fault.why {
            Why::Steps => format!("it takes more than {STEPS} steps; loop over less"),
            Why::Spent(_) => format!("{}; loop over less, or over smaller values", fault.why),
            Why::Words(_) | Why::Undefined | Why::TooLarge => fault.why.to_string(),
        };
        if let Some(range) = &fault.at {
            if let Some(expression) = self.written.get(Range::clone(range)).filter(|text| !text.is_empty()) {
                let expression: String = expression.chars().take(100).collect();
                words = format!("{words} in {expression:?}");
            }
            words = at_line(&self.written, range.start, &words);
        }
        let error: CallError = unusable_at(TEMPLATE, format!("the responseMapping template failed: {words}"));
        if matches!(fault.why, Why::Spent(_)) {
            MappingFailure::Spent(error)
        } else {
            MappingFailure::Failed(error)
        }
    }
}

fn at_line(written: &str, at: usize, words: &str) -> String {
    let before = written.get(..at).unwrap_or(written);
    format!("line {}: {words}", 1 + before.matches('\n').count())
}
