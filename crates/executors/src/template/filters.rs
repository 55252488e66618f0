//! The expression engine with the few filters and tests that request templates may use. Values print as JSON does
//! (`true`, `null`), not as Python does.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value, filters, tests};
use percent_encoding::utf8_percent_encode;

use super::place::UNRESERVED;
use super::size::{DEEPEST, MOST_BYTES, check_step, replace, too_deep, too_large};

/// The filters there are.
pub(super) const FILTERS: &[&str] = &[
    "default",
    "upper",
    "lower",
    "capitalize",
    "title",
    "trim",
    "replace",
    "split",
    "join",
    "string",
    "int",
    "float",
    "bool",
    "round",
    "abs",
    "length",
    "first",
    "last",
    "min",
    "max",
    "sum",
    "sort",
    "unique",
    "reverse",
    "list",
    "tojson",
    "urlencode",
    "b64encode",
    "b64decode",
];

/// The tests (`is …`) there are.
pub(super) const TESTS: &[&str] = &[
    "defined",
    "undefined",
    "none",
    "true",
    "false",
    "string",
    "number",
    "integer",
    "float",
    "boolean",
    "mapping",
    "sequence",
    "iterable",
    "odd",
    "even",
    "startingwith",
    "endingwith",
    "in",
];

/// The one environment in which every expression is compiled and evaluated.
pub(super) static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(engine);

/// Steps of one evaluation; expressions have no loops, so only a hostile one comes near.
const FUEL: u64 = 20_000;

/// What each value of a result counts beside its text.
const VALUE_SIZE: usize = 64;

fn engine() -> Environment<'static> {
    // Empty rather than new: no debug() that prints the secrets, no range() that eats memory.
    let mut engine = Environment::empty();
    engine.set_undefined_behavior(UndefinedBehavior::Chainable);
    engine.set_fuel(Some(FUEL));
    engine.set_debug(false);
    engine.add_filter("default", filters::default);
    add_text_filters(&mut engine);
    add_value_filters(&mut engine);
    add_tests(&mut engine);
    engine
}

fn add_text_filters(engine: &mut Environment<'static>) {
    add_text(engine, "upper", Value::from_function(filters::upper));
    add_text(engine, "lower", Value::from_function(filters::lower));
    add_text(engine, "capitalize", Value::from_function(filters::capitalize));
    add_text(engine, "title", Value::from_function(filters::title));
    add_text(engine, "trim", Value::from_function(filters::trim));
    add_text(engine, "replace", Value::from_function(replace_text));
    add_text(engine, "split", Value::from_function(filters::split));
    add_text(engine, "string", Value::from_function(|text: String| text));
    add_text(
        engine,
        "urlencode",
        Value::from_function(|text: String| utf8_percent_encode(&text, UNRESERVED).to_string()),
    );
    add_text(engine, "b64encode", Value::from_function(|text: String| STANDARD.encode(text)));
    add_text(engine, "b64decode", Value::from_function(b64decode));
}

fn add_value_filters(engine: &mut Environment<'static>) {
    add_value(engine, "int", Value::from_function(filters::int));
    add_value(engine, "float", Value::from_function(filters::float));
    add_value(engine, "bool", Value::from_function(filters::bool));
    add_value(engine, "round", Value::from_function(filters::round));
    add_value(engine, "abs", Value::from_function(filters::abs));
    add_value(engine, "length", Value::from_function(filters::length));
    add_value(engine, "first", Value::from_function(filters::first));
    add_value(engine, "last", Value::from_function(filters::last));
    add_value(engine, "min", Value::from_function(filters::min));
    add_value(engine, "max", Value::from_function(filters::max));
    add_value(engine, "sum", Value::from_function(filters::sum));
    add_value(engine, "sort", Value::from_function(filters::sort));
    add_value(engine, "unique", Value::from_function(filters::unique));
    add_value(engine, "reverse", Value::from_function(filters::reverse));
    add_value(engine, "list", Value::from_function(filters::list));
    add_value(engine, "join", Value::from_function(join));
    add_value(
        engine,
        "tojson",
        Value::from_function(|value: Value| Ok::<_, Error>(to_json(&value)?.to_string())),
    );
}

fn add_tests(engine: &mut Environment<'static>) {
    engine.add_test("defined", tests::is_defined);
    engine.add_test("undefined", tests::is_undefined);
    engine.add_test("none", tests::is_none);
    engine.add_test("true", tests::is_true);
    engine.add_test("false", tests::is_false);
    engine.add_test("string", tests::is_string);
    engine.add_test("number", tests::is_number);
    engine.add_test("integer", tests::is_integer);
    engine.add_test("float", tests::is_float);
    engine.add_test("boolean", tests::is_boolean);
    engine.add_test("mapping", tests::is_mapping);
    engine.add_test("sequence", tests::is_sequence);
    engine.add_test("iterable", tests::is_iterable);
    engine.add_test("odd", tests::is_odd);
    engine.add_test("even", tests::is_even);
    engine.add_test("startingwith", tests::is_startingwith);
    engine.add_test("endingwith", tests::is_endingwith);
    engine.add_test("in", tests::is_in);
}

/// A filter over any value: what is absent stays absent, so that its place is dropped.
fn add_value(engine: &mut Environment<'static>, name: &'static str, filter: Value) {
    engine.add_filter(name, move |state: &mut State, value: Value, rest: Rest<Value>| {
        if value.is_undefined() {
            return Ok::<_, Error>(value);
        }
        let mut parameters = vec![value];
        parameters.extend(rest.0);
        let result = filter.call(state, &parameters)?;
        check_step(&result)?;
        Ok(result)
    });
}

/// A filter over text: other values are written as JSON first.
fn add_text(engine: &mut Environment<'static>, name: &'static str, filter: Value) {
    engine.add_filter(name, move |state: &mut State, value: Value, rest: Rest<Value>| {
        if value.is_undefined() {
            return Ok::<_, Error>(value);
        }
        let mut parameters =
            vec![if value.as_str().is_some() { value } else { Value::from(to_text(&value)?) }];
        parameters.extend(rest.0);
        let result = filter.call(state, &parameters)?;
        check_step(&result)?;
        Ok(result)
    });
}

fn replace_text(text: String, from: String, to: String) -> Result<String, Error> {
    replace(&text, &from, &to)
}

fn join(value: Value, separator: Option<String>) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut joined = String::new();
    for (index, item) in value.try_iter()?.enumerate() {
        if index > 0 {
            joined.push_str(&separator);
        }
        joined.push_str(&to_text(&item)?);
        if joined.len() + index * VALUE_SIZE > 2 * MOST_BYTES {
            return Err(too_large());
        }
    }
    Ok(joined)
}

fn b64decode(text: String) -> Result<String, Error> {
    let decoded = STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "b64decode needs the base64 of a text"))
}

fn to_text(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Ok(to_json(value)?.to_string()),
    }
}

/// The result of an evaluation as JSON; bounded, since a sequence may promise more items than memory holds.
pub(super) fn to_json(value: &Value) -> Result<serde_json::Value, Error> {
    let mut left = 2 * MOST_BYTES;
    convert(value, &mut left, 0)
}

fn convert(value: &Value, left: &mut usize, depth: usize) -> Result<serde_json::Value, Error> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    let size = value.as_str().map_or(0, str::len) + VALUE_SIZE;
    *left = left.checked_sub(size).ok_or_else(too_large)?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Result<Vec<_>, Error> =
                value.try_iter()?.map(|item| convert(&item, left, depth + 1)).collect();
            Ok(serde_json::Value::Array(items?))
        }
        ValueKind::Map => {
            let mut members = serde_json::Map::new();
            for key in value.try_iter()? {
                let member = convert(&value.get_item(&key)?, left, depth + 1)?;
                members.insert(to_text(&key)?, member);
            }
            Ok(serde_json::Value::Object(members))
        }
        _ => serde_json::to_value(value)
            .map_err(|_| Error::new(ErrorKind::InvalidOperation, "the result cannot be written as JSON")),
    }
}

#[cfg(test)]
mod tests_of_the_engine {
    use super::*;

    #[test]
    fn the_lists_name_just_what_the_engine_has() {
        for name in FILTERS {
            let expression = ENGINE.compile_expression_owned(format!("'1'|{name}('1','1')")).unwrap();
            let known =
                expression.eval(()).err().is_none_or(|error| error.kind() != ErrorKind::UnknownFilter);
            assert!(known, "{name}");
        }
        for name in TESTS {
            let expression = ENGINE.compile_expression_owned(format!("'1' is {name}")).unwrap();
            let known = expression.eval(()).err().is_none_or(|error| error.kind() != ErrorKind::UnknownTest);
            assert!(known, "{name}");
        }
    }

    #[test]
    fn values_print_as_json_does() {
        let cases = [
            ("[true, none, 1, 1.5, 'a', {'k': [1]}]|join(' ')", "true null 1 1.5 a {\"k\":[1]}"),
            ("true|string", "true"),
            ("true|upper", "TRUE"),
            ("{'b': 1, 'a': '<'}|tojson", "{\"b\":1,\"a\":\"<\"}"),
            ("'a b'|urlencode", "a%20b"),
            ("'hi'|b64encode", "aGk="),
            ("'aGk='|b64decode", "hi"),
            ("' x '|trim|replace('x', 'y')", "y"),
            ("'你'|length", "1"),
            ("2.567|round(1)", "2.6"),
            ("[3, 1]|sort|first", "1"),
            ("nothing|upper|default('x')", "x"),
        ];
        for (source, expected) in cases {
            let value = ENGINE.compile_expression(source).unwrap().eval(()).unwrap();
            assert_eq!(to_text(&value).unwrap(), expected, "{source}");
        }
    }

    #[test]
    fn a_huge_result_is_an_error_and_not_a_full_memory() {
        for source in
            ["[1] * 90000000", "('x' * 90000000)", "([1] * 90000000)|join", "[[1] * 90000000]|tojson"]
        {
            let value = ENGINE.compile_expression(source).unwrap().eval(());
            assert!(value.and_then(|value| to_json(&value)).is_err(), "{source}");
        }
    }

    #[test]
    fn a_chain_of_filters_stops_where_its_result_gets_too_large() {
        let long = "x".repeat(60_000);
        let context = || minijinja::context! { long => &long };
        for source in [
            "long|replace('x', long)|length".to_owned(),
            "long|replace('', long)|length".to_owned(),
            "long|split('')|join(long)|length".to_owned(),
            format!("('\"' * 1000){}|length", "|tojson".repeat(30)),
            format!("long{}|length", "|b64encode".repeat(40)),
        ] {
            let fault = ENGINE.compile_expression(&source).unwrap().eval(context()).unwrap_err();
            assert!(fault.to_string().contains("the result is too large"), "{source}: {fault}");
        }
        let short = ENGINE.compile_expression("'a-a'|replace('-', '+')").unwrap().eval(()).unwrap();
        assert_eq!(short.as_str(), Some("a+a"));
    }

    #[test]
    fn a_value_nested_too_deep_is_an_error_and_not_a_full_stack() {
        let deep = (0..100_000).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
        assert!(to_json(&deep).unwrap_err().to_string().contains("nested deeper"));
        // Dropping it goes as deep as it is.
        std::mem::forget(deep);
    }
}
