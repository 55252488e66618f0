//! The tests, `value is name`.

use super::ast::Comparison;
use super::fault::Fault;
use super::filters::Given;
use super::operate::{compare, contains};
use super::value::Value;
use crate::meter::Meter;

/// A test by its name.
#[derive(Debug)]
pub(crate) struct Test {
    name: &'static str,
    pub(super) holds: Holds,
}

type Holds = for<'d> fn(&mut Meter, &Value<'d>, &Given<'_, 'd>) -> Result<bool, Fault>;

/// Whether there is a test of that name.
pub(crate) fn has_test(name: &str) -> bool {
    Test::find(name).is_some()
}

impl Test {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        TESTS.iter().find(|test| test.name == name)
    }

    /// The same; any for a name that was refused already.
    pub(super) fn find_or_any(name: &str) -> &'static Self {
        Self::find(name).unwrap_or(&TESTS[0])
    }

    const fn new(name: &'static str, holds: Holds) -> Self {
        Self { name, holds }
    }
}

static TESTS: &[Test] = &[
    Test::new("defined", |_, value, _| Ok(!value.is_undefined())),
    Test::new("undefined", |_, value, _| Ok(value.is_undefined())),
    Test::new("none", |_, value, _| Ok(matches!(value, Value::Null))),
    Test::new("true", |_, value, _| Ok(matches!(value, Value::Bool(true)))),
    Test::new("false", |_, value, _| Ok(matches!(value, Value::Bool(false)))),
    Test::new("string", |_, value, _| Ok(matches!(value, Value::Text(_)))),
    Test::new("number", |_, value, _| Ok(matches!(value, Value::Int(_) | Value::Float(_)))),
    Test::new("integer", |_, value, _| Ok(matches!(value, Value::Int(_)))),
    Test::new("int", |_, value, _| Ok(matches!(value, Value::Int(_)))),
    Test::new("float", |_, value, _| Ok(matches!(value, Value::Float(_)))),
    Test::new("boolean", |_, value, _| Ok(matches!(value, Value::Bool(_)))),
    Test::new("mapping", |_, value, _| Ok(matches!(value, Value::Map(_)))),
    Test::new("sequence", |_, value, _| Ok(matches!(value, Value::List(_)))),
    Test::new("iterable", |_, value, _| Ok(matches!(value, Value::List(_) | Value::Map(_) | Value::Text(_)))),
    Test::new("odd", |_, value, _| Ok(matches!(value, Value::Int(number) if number % 2 != 0))),
    Test::new("even", |_, value, _| Ok(matches!(value, Value::Int(number) if number % 2 == 0))),
    Test::new("divisibleby", |_, value, given| {
        Ok(match (value, given.get(0, "num")) {
            (Value::Int(number), Some(Value::Int(by))) => *by != 0 && number.checked_rem(*by) == Some(0),
            _ => false,
        })
    }),
    Test::new("startingwith", |meter, value, given| {
        text_test(meter, value, given, |text, end| text.starts_with(end))
    }),
    Test::new("endingwith", |meter, value, given| {
        text_test(meter, value, given, |text, end| text.ends_with(end))
    }),
    Test::new("lower", |meter, value, _| cased(meter, value, char::is_uppercase)),
    Test::new("upper", |meter, value, _| cased(meter, value, char::is_lowercase)),
    Test::new("in", |meter, value, given| match given.get(0, "seq") {
        Some(container) => contains(container, value, meter),
        None => Err(Fault::new("in takes a list, as in x is in [1, 2]")),
    }),
    Test::new("eq", equal),
    Test::new("equalto", equal),
    Test::new("sameas", equal),
    Test::new("ne", |meter, value, given| compared(meter, value, Comparison::Unequal, given)),
    Test::new("lt", |meter, value, given| compared(meter, value, Comparison::Less, given)),
    Test::new("lessthan", |meter, value, given| compared(meter, value, Comparison::Less, given)),
    Test::new("le", |meter, value, given| compared(meter, value, Comparison::LessOrEqual, given)),
    Test::new("gt", |meter, value, given| compared(meter, value, Comparison::Greater, given)),
    Test::new("greaterthan", |meter, value, given| compared(meter, value, Comparison::Greater, given)),
    Test::new("ge", |meter, value, given| compared(meter, value, Comparison::GreaterOrEqual, given)),
];

fn equal<'d>(meter: &mut Meter, value: &Value<'d>, given: &Given<'_, 'd>) -> Result<bool, Fault> {
    compared(meter, value, Comparison::Equal, given)
}

fn compared<'d>(
    meter: &mut Meter,
    value: &Value<'d>,
    comparison: Comparison,
    given: &Given<'_, 'd>,
) -> Result<bool, Fault> {
    match given.get(0, "other") {
        Some(other) => compare(value, comparison, other, meter),
        None => Err(Fault::new("a comparison needs something to compare with, as in x is eq(1)")),
    }
}

fn text_test<'d>(
    meter: &mut Meter,
    value: &Value<'d>,
    given: &Given<'_, 'd>,
    holds: fn(&str, &str) -> bool,
) -> Result<bool, Fault> {
    let (Some(text), Some(end)) = (value.as_str(), given.get(0, "prefix").and_then(Value::as_str)) else {
        return Ok(false);
    };
    meter.read(end.len())?;
    Ok(holds(text, end))
}

/// Whether no letter of a text is of the other case.
fn cased(meter: &mut Meter, value: &Value<'_>, other: fn(char) -> bool) -> Result<bool, Fault> {
    let Some(text) = value.as_str() else {
        return Ok(false);
    };
    meter.read(text.len())?;
    Ok(!text.chars().any(other))
}
