//! `responseMapping` of type `template`: a text over `result`, `args` and `status`. Unlike request templates it may hold
//! loops and conditions, so it runs with a bound on its steps and on its output.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use http::StatusCode;
use minijinja::value::{Rest, Serde, Value as Jinja, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State, UndefinedBehavior, context, filters};
use serde_json::{Map, Value};
use toolrail_core::{CallError, Outcome, Payload, ToolResult, closest};

use super::capped::Capped;
use super::path::tree;
use super::unusable;
use crate::template::{check_size, check_step, replace};

mod limits;
mod names;

const NAME: &str = "responseMapping";
const VARIABLES: [&str; 3] = ["result", "args", "status"];
/// What the most patient template may do; a loop over 10,000 rows with ten steps each takes half of it.
const STEPS: u64 = 200_000;
const MOST_BYTES: usize = 4 << 20;
const LONGEST_TEMPLATE: usize = 64 << 10;
/// Filters whose result can be made arbitrarily large by one number.
const NO_FILTERS: [&str; 5] = ["indent", "format", "pprint", "batch", "slice"];

/// Functions that print the context, or make values that loops could let grow without end.
const NO_FUNCTIONS: [&str; 3] = ["debug", "namespace", "dict"];

/// A compiled template.
#[derive(Debug)]
pub(super) struct Template {
    environment: Environment<'static>,
}

/// What a template may look at besides the result.
pub(super) struct Scope<'a> {
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) status: StatusCode,
    pub(super) place: &'a str,
}

impl Template {
    pub(super) fn compile(written: &str) -> Result<Self, Vec<String>> {
        if written.len() > LONGEST_TEMPLATE {
            let length = written.len();
            return Err(vec![format!(
                "the template has {length} bytes, more than the {LONGEST_TEMPLATE} that are allowed; shorten it"
            )]);
        }
        limits::check(written).map_err(|fault| vec![fault])?;
        let mut environment = ENVIRONMENT.clone();
        environment
            .add_template_owned(NAME, written.to_owned())
            .map_err(|error| vec![describe(&error, written)])?;
        let template = Self { environment };
        let faults = template.unknown_names(written);
        if faults.is_empty() { Ok(template) } else { Err(faults) }
    }

    /// The text that the template makes of the result.
    pub(super) fn apply(&self, mut result: ToolResult, scope: &Scope<'_>) -> Outcome {
        let value = match &result.payload {
            Payload::Json(json) => Jinja::from(Serde(&tree(json, scope.place)?)),
            Payload::Text(text) => Jinja::from(text.as_str()),
            Payload::Empty => Jinja::from(()),
            Payload::Blocks(_) | Payload::Whole(_) | Payload::InputRequired(_) => {
                return Err(unusable(format!(
                    "the answer of {} is neither JSON nor text, so the responseMapping template cannot use it",
                    scope.place
                )));
            }
        };
        let text = self.render(context! {
            result => value,
            args => Jinja::from(Serde(scope.arguments)),
            status => scope.status.as_u16(),
        })?;
        result.payload = Payload::Text(text);
        Ok(result)
    }

    fn render(&self, context: Jinja) -> Result<String, CallError> {
        let template = self.environment.get_template(NAME).map_err(|error| failed(&error, ""))?;
        EMITTED.set(0);
        let mut out = Capped::new(MOST_BYTES);
        let rendered = template.render_captured_to(context, &mut out);
        if let Err(error) = rendered {
            return Err(failed(&error, template.source()));
        }
        String::from_utf8(out.into_bytes()).map_err(|error| unusable(error.to_string()))
    }

    /// The arguments it names, and whether it takes all of them together.
    pub(super) fn arguments(&self) -> (Vec<String>, bool) {
        let Ok(template) = self.environment.get_template(NAME) else {
            return (Vec::new(), true);
        };
        let mut all = false;
        let mut names = BTreeSet::new();
        for path in template.undeclared_variables(true) {
            match path.strip_prefix("args.") {
                Some(steps) => names.extend(steps.split('.').next().map(str::to_owned)),
                None => all |= path == "args",
            }
        }
        (names.into_iter().collect(), all)
    }

    /// Names that would only be missed when the template runs.
    fn unknown_names(&self, written: &str) -> Vec<String> {
        let Ok(template) = self.environment.get_template(NAME) else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        let globals: BTreeSet<&str> = self.environment.globals().map(|(name, _)| name).collect();
        let mut variables: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        variables.sort();
        for name in variables {
            if !VARIABLES.contains(&name.as_str()) && !globals.contains(name.as_str()) {
                faults.push(match closest(&name, VARIABLES) {
                    Some(meant) => format!("{name} is not known in this template; did you mean {meant}?"),
                    None => {
                        format!("{name} is not known in this template; there are result, args and status")
                    }
                });
            }
        }
        for used in names::used(written) {
            if !self.knows(used.sort, &used.name) {
                faults.push(format!(
                    "line {}: there is no {} {}; see the list of template {}s",
                    used.line,
                    used.sort.word(),
                    used.name,
                    used.sort.word()
                ));
            }
        }
        faults
    }

    fn knows(&self, sort: names::Sort, name: &str) -> bool {
        let question = format!("name is {}", sort.word());
        self.environment
            .compile_expression(&question)
            .and_then(|expression| expression.eval(context! { name }))
            .is_ok_and(|answer| answer.is_true())
    }
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_formatter(write_value);
    environment.set_fuel(Some(STEPS));
    environment.set_debug(false);
    for name in NO_FUNCTIONS {
        environment.remove_global(name);
    }
    for name in NO_FILTERS {
        environment.remove_filter(name);
    }
    for (name, filter) in [
        (
            "replace",
            Jinja::from_function(|text: String, from: String, to: String| replace(&text, &from, &to)),
        ),
        ("join", Jinja::from_function(join)),
        ("tojson", Jinja::from_function(filters::tojson)),
        ("string", Jinja::from_function(filters::string)),
        ("escape", Jinja::from_function(filters::escape)),
        ("e", Jinja::from_function(filters::escape)),
        ("upper", Jinja::from_function(filters::upper)),
        ("lower", Jinja::from_function(filters::lower)),
        ("title", Jinja::from_function(filters::title)),
        ("capitalize", Jinja::from_function(filters::capitalize)),
        ("split", Jinja::from_function(filters::split)),
        ("lines", Jinja::from_function(filters::lines)),
        ("list", Jinja::from_function(filters::list)),
    ] {
        add_bounded(&mut environment, name, filter);
    }
    environment
});

/// A filter that takes and yields no more than the bound, so that a chain of filters stops early.
fn add_bounded(environment: &mut Environment<'static>, name: &'static str, filter: Jinja) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, parameters: Rest<Jinja>| {
        for parameter in parameters.iter() {
            check_size(parameter)?;
        }
        let result = filter.call(state, &parameters)?;
        check_step(&result)?;
        Ok::<_, Error>(result)
    });
}

thread_local! {
    /// Bytes written by the template that runs on this thread, blocks that are only captured included.
    static EMITTED: Cell<usize> = const { Cell::new(0) };
}

/// Writes values the way JSON does, not the way Python does; text stays as it is.
fn write_value(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Jinja) -> Result<(), Error> {
    let owned;
    let text = match value.kind() {
        ValueKind::Undefined => return Ok(()),
        ValueKind::String => value.as_str().unwrap_or_default(),
        _ => {
            check_size(value)?;
            owned = serde_json::to_string(value)
                .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
            owned.as_str()
        }
    };
    let emitted = EMITTED.get().saturating_add(text.len());
    EMITTED.set(emitted);
    if emitted > MOST_BYTES {
        return Err(too_long());
    }
    out.write_str(text).map_err(Error::from)
}

fn join(values: &Jinja, separator: Option<&str>) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut out = String::new();
    for (index, value) in values.try_iter()?.enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        match value.as_str() {
            Some(text) => out.push_str(text),
            None => out.push_str(
                &serde_json::to_string(&value)
                    .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?,
            ),
        }
        if out.len() > MOST_BYTES {
            return Err(too_long());
        }
    }
    Ok(out)
}

fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("the text grew beyond {MOST_BYTES} bytes"))
}

fn failed(error: &Error, written: &str) -> CallError {
    unusable(format!("the responseMapping template failed: {}", describe(error, written)))
}

/// Where and what, with the expression at fault.
fn describe(error: &Error, written: &str) -> String {
    let mut text = error.line().map(|line| format!("line {line}: ")).unwrap_or_default();
    if error.kind() == ErrorKind::OutOfFuel {
        return format!("{text}it takes more than {STEPS} steps; loop over less");
    }
    text.push_str(error.detail().unwrap_or(&error.kind().to_string()));
    if let Some(expression) = error.range().and_then(|range| expression_at(written, range)) {
        text = format!("{text} in {expression:?}");
    }
    text
}

/// The expression at that place. The engine marks the end of a path such as `result.a.b`; its beginning is added.
fn expression_at(written: &str, range: Range<usize>) -> Option<&str> {
    let before = written.get(..range.start)?;
    let path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '\'' | '"');
    let start =
        before.len() - before.chars().rev().take_while(|c| path(*c)).map(char::len_utf8).sum::<usize>();
    written.get(start..range.end).filter(|expression| !expression.is_empty())
}
