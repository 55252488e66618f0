//! One expression of a template, compiled. A plain path such as `args.a.b[0]` is looked up directly; anything with a
//! filter, an operator or a condition goes through the expression engine.

use serde_json::{Map, Value};
use toolrail_core::Variables;

use super::inspect::{References, inspect};
use crate::engine::{Absence, Evaluator, Expr, Value as Computed, Why, parse_expression};
use crate::meter::{Allowance, Meter};

/// The longest expression that is accepted, in bytes.
const MAX_LENGTH: usize = 500;
/// Steps of one evaluation; expressions have no loops, so only a hostile one comes near.
const STEPS: u64 = 20_000;

/// What stands between the braces.
#[derive(Debug)]
pub(crate) struct Expression {
    source: String,
    term: Term,
    references: References,
    /// The variables that it names and that have values.
    variables: Vec<(String, String)>,
}

/// How the value is found.
#[derive(Debug)]
pub(super) enum Term {
    /// All arguments together.
    Arguments,
    /// An argument, or something inside it.
    Argument(String, Vec<ArgumentStep>),
    /// A secret.
    Secret(String),
    /// A variable, and its value if it has one.
    Variable(String, Option<String>),
    /// Anything else.
    Computed(Box<Expr>),
}

/// One step into an argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ArgumentStep {
    Member(String),
    Item(usize),
}

/// Why a computed expression has no value.
#[derive(Debug)]
pub(super) enum NoValue {
    /// It is undefined, or rests on an argument that is absent.
    Absent,
    /// It failed, in these words.
    Failed(String),
}

impl Expression {
    /// Compiles what stands between the braces, where those variables have values; a fault comes back in words for the user.
    pub(super) fn compile(source: &str, variables: &Variables) -> Result<Self, String> {
        let fault = |words: String| format!("{{{{{source}}}}}: {words}");
        if source.is_empty() {
            return Err("{{}} is empty; write {{args.name}}".into());
        }
        if source.len() > MAX_LENGTH {
            return Err(format!("an expression has at most {MAX_LENGTH} bytes; shorten it"));
        }
        if let Some(expression) = Self::plain(source, variables) {
            return Ok(expression);
        }
        let references = inspect(source).map_err(fault)?;
        let compiled = parse_expression(source).map_err(|syntax| {
            fault(format!(
                "not a valid expression ({}); write a path such as args.name, or a filter such as args.name|default('x')",
                syntax.words
            ))
        })?;
        let named = references.variables.iter();
        let variables =
            named.filter_map(|name| Some((name.clone(), variables.find(name)?.to_owned()))).collect();
        let term = Term::Computed(Box::new(compiled));
        Ok(Self { source: source.to_owned(), term, references, variables })
    }

    /// The argument of that name, whatever characters the name has.
    pub(super) fn argument(name: &str) -> Self {
        Self {
            source: format!("args.{name}"),
            references: References { arguments: vec![name.to_owned()], ..References::default() },
            term: Term::Argument(name.to_owned(), Vec::new()),
            variables: Vec::new(),
        }
    }

    fn plain(source: &str, variables: &Variables) -> Option<Self> {
        let (term, references) = if let Some(path) = root(source, "args") {
            let mut steps = parse_steps(path)?.into_iter();
            match steps.next() {
                None => (Term::Arguments, References { all_arguments: true, ..References::default() }),
                Some(ArgumentStep::Item(_)) => return None,
                Some(ArgumentStep::Member(name)) => {
                    let references = References { arguments: vec![name.clone()], ..References::default() };
                    (Term::Argument(name, steps.collect()), references)
                }
            }
        } else if let Some(path) = root(source, "vars") {
            let name = only_member(path)?;
            let value = variables.find(&name).map(str::to_owned);
            let references = References { variables: vec![name.clone()], ..References::default() };
            (Term::Variable(name, value), references)
        } else {
            let key = only_member(root(source, "secrets")?)?;
            let references = References { secrets: vec![key.clone()], ..References::default() };
            (Term::Secret(key), references)
        };
        Some(Self { source: source.to_owned(), term, references, variables: Vec::new() })
    }

    /// What the author wrote.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The arguments it names, by the first step after `args`.
    pub(super) fn arguments(&self) -> &[String] {
        &self.references.arguments
    }

    /// Whether it takes all arguments together.
    pub(super) fn names_all_arguments(&self) -> bool {
        self.references.all_arguments
    }

    /// Whether it names any argument.
    pub(crate) fn names_arguments(&self) -> bool {
        self.references.all_arguments || !self.references.arguments.is_empty()
    }

    /// The secrets it names.
    pub(super) fn secrets(&self) -> &[String] {
        &self.references.secrets
    }

    /// The variables it names.
    pub(super) fn variables(&self) -> &[String] {
        &self.references.variables
    }

    /// Its value where that is a text and the same in every call, because it rests on variables alone.
    pub(super) fn constant(&self) -> Option<String> {
        if self.references.variables.is_empty() || self.names_arguments() || !self.secrets().is_empty() {
            return None;
        }
        match &self.term {
            Term::Variable(_, value) => value.clone(),
            Term::Computed(computed) => match self.compute(
                computed,
                &Map::new(),
                |_| String::new(),
                &mut Meter::new(Allowance::SMALL),
            ) {
                Ok(Value::String(text)) => Some(text),
                Ok(_) | Err(_) => None,
            },
            Term::Arguments | Term::Argument(..) | Term::Secret(_) => None,
        }
    }

    pub(super) fn term(&self) -> &Term {
        &self.term
    }

    /// How an error message names it.
    pub(crate) fn label(&self) -> String {
        match &self.term {
            Term::Arguments => "the arguments".into(),
            Term::Argument(..) => {
                format!("the argument {:?}", self.source.strip_prefix("args.").unwrap_or(&self.source))
            }
            Term::Secret(key) => format!("the secret {key:?}"),
            Term::Variable(name, _) => format!("the variable {name:?}"),
            Term::Computed(_) => format!("the value of {{{{{}}}}}", self.source),
        }
    }

    /// Whether a call without arguments leaves it without a value, so that what it fills must be refused or dropped.
    pub(super) fn needs_arguments(&self) -> bool {
        match &self.term {
            Term::Arguments | Term::Secret(_) | Term::Variable(..) => false,
            Term::Argument(..) => true,
            Term::Computed(computed) => {
                self.names_arguments()
                    && !matches!(
                        self.compute(computed, &Map::new(), |_| String::new(), &mut Meter::new(Allowance::SMALL)),
                        Ok(value) if !value.is_null()
                    )
            }
        }
    }

    /// Evaluates a computed expression over the arguments and secrets it names.
    pub(super) fn compute(
        &self,
        computed: &Expr,
        arguments: &Map<String, Value>,
        secret: impl Fn(&str) -> String,
        meter: &mut Meter,
    ) -> Result<Value, NoValue> {
        let named = || {
            let names = self.references.arguments.iter();
            names.filter_map(|name| Some((name.clone(), arguments.get(name)?.clone()))).collect::<Map<_, _>>()
        };
        let secrets = self.references.secrets.iter().map(|key| (key.clone(), secret(key).into()));
        let secrets: Map<String, Value> = secrets.collect();
        let variables = self.variables.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        let variables: Map<String, Value> = variables.collect();
        let mut evaluate = || {
            let arguments = if self.references.all_arguments {
                Computed::of_members(arguments, meter)?
            } else {
                Computed::of_members(&named(), meter)?
            };
            let known = vec![
                ("args", arguments),
                ("secrets", Computed::of_members(&secrets, meter)?),
                ("vars", Computed::of_members(&variables, meter)?),
            ];
            let value = Evaluator::new(Absence::Passes, STEPS, known, meter).value(computed)?;
            if value.is_undefined() { Ok(None) } else { value.to_json(meter).map(Some) }
        };
        match evaluate() {
            Ok(value) => value.ok_or(NoValue::Absent),
            Err(fault) if matches!(fault.why, Why::Spent(_) | Why::TooLarge | Why::Steps) => {
                Err(NoValue::Failed(fault.why.to_string()))
            }
            // An operator over an absent argument fails; to the user the argument is simply absent.
            Err(_) if self.references.arguments.iter().any(|name| !arguments.contains_key(name)) => {
                Err(NoValue::Absent)
            }
            // The engine's words quote the values, which may be secret.
            Err(_) if !self.references.secrets.is_empty() => Err(NoValue::Failed("it fails".into())),
            Err(fault) => Err(NoValue::Failed(fault.why.to_string())),
        }
    }
}

impl Term {
    /// Looks a path up; nothing if any step leads nowhere.
    pub(super) fn look_up<'a>(
        name: &str,
        steps: &[ArgumentStep],
        arguments: &'a Map<String, Value>,
    ) -> Option<&'a Value> {
        steps.iter().try_fold(arguments.get(name)?, |value, step| match step {
            ArgumentStep::Member(key) => value.get(key),
            ArgumentStep::Item(index) => value.get(index),
        })
    }
}

/// What follows the root `name`, if `source` starts with that whole word.
fn root<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let rest = source.strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
}

/// The name in `.name` or `['name']`, if nothing follows.
fn only_member(path: &str) -> Option<String> {
    let mut steps = parse_steps(path)?.into_iter();
    match (steps.next()?, steps.next()) {
        (ArgumentStep::Member(name), None) => Some(name),
        (ArgumentStep::Member(_) | ArgumentStep::Item(_), _) => None,
    }
}

/// `.name`, `.0`, `[0]` and `['name']` in any number; nothing if there is anything else.
fn parse_steps(mut path: &str) -> Option<Vec<ArgumentStep>> {
    let mut steps = Vec::new();
    while !path.is_empty() {
        let (step, rest) = if let Some(after) = path.strip_prefix('.') {
            let length = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
            let name = &after[..length];
            if name.is_empty() {
                return None;
            }
            (
                name.parse().map_or_else(|_| ArgumentStep::Member(name.to_owned()), ArgumentStep::Item),
                &after[length..],
            )
        } else {
            let (inside, rest) = path.strip_prefix('[')?.split_once(']')?;
            (parse_subscript(inside.trim())?, rest)
        };
        steps.push(step);
        path = rest;
    }
    Some(steps)
}

fn parse_subscript(inside: &str) -> Option<ArgumentStep> {
    if let Ok(index) = inside.parse() {
        return Some(ArgumentStep::Item(index));
    }
    let quote = inside.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let name = inside.strip_prefix(quote)?.strip_suffix(quote)?;
    (!name.contains([quote, '\\'])).then(|| ArgumentStep::Member(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(source: &str) -> Result<Expression, String> {
        Expression::compile(source, &Variables::default())
    }

    fn is_computed(source: &str) -> bool {
        matches!(compile(source).unwrap().term, Term::Computed(_))
    }

    #[test]
    fn plain_paths_need_no_engine() {
        let arguments = json!({"a": {"b": [10, {"c": "x"}]}, "a-b": 1, "市": 2, "n": null});
        let arguments = arguments.as_object().unwrap();
        let cases = [
            ("args.a.b[0]", Some(json!(10))),
            ("args.a.b.1.c", Some(json!("x"))),
            ("args['a-b']", Some(json!(1))),
            ("args[\"a\"]['b'][1].c", Some(json!("x"))),
            ("args.市", Some(json!(2))),
            ("args.n", Some(json!(null))),
            ("args.n.x", None),
            ("args.a.b[7]", None),
            ("args.nope.deeper", None),
        ];
        for (source, expected) in cases {
            let expression = compile(source).unwrap();
            let Term::Argument(name, steps) = expression.term() else { panic!("{source}") };
            assert_eq!(Term::look_up(name, steps, arguments), expected.as_ref(), "{source}");
        }
        assert!(matches!(compile("args").unwrap().term, Term::Arguments));
        assert!(matches!(compile("secrets['KEY']").unwrap().term, Term::Secret(_)));
    }

    #[test]
    fn anything_else_is_computed() {
        for source in [
            "args.a|upper",
            "args.a[-1]",
            "args.a if args.b else 1",
            "'x'",
            "args.a == 1",
            "secrets.K|b64encode",
        ] {
            assert!(is_computed(source), "{source}");
        }
    }

    #[test]
    fn faults_name_the_expression() {
        for source in ["args.", "args.a |", "args.a b", "args[", "'open", "secrets.A.B C"] {
            let fault = compile(source).unwrap_err();
            assert!(fault.starts_with(&format!("{{{{{source}}}}}: ")), "{fault}");
        }
        assert!(compile("").is_err());
        assert!(compile(&"(".repeat(4000)).is_err());
        assert!(compile(&"x".repeat(5000)).is_err());
    }

    #[test]
    fn an_expression_with_a_default_does_not_need_its_argument() {
        let cases = [
            ("args.a", true),
            ("args.a|upper", true),
            ("args.a + 1", true),
            ("args.a|default(5)", false),
            ("args.a if args.a else 'none'", false),
            ("'fixed'", false),
            ("secrets.K", false),
        ];
        for (source, needs) in cases {
            assert_eq!(compile(source).unwrap().needs_arguments(), needs, "{source}");
        }
    }
}
