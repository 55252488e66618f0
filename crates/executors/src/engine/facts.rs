//! What expressions and templates come to: the same as in the reference implementation, and nothing beyond their means.

use serde_json::json;

use super::*;
use crate::meter::{Allowance, Meter, Spent};

fn context() -> serde_json::Value {
    json!({
        "n": 7, "f": 2.5, "s": "Hello World", "list": [3, 1, 2, 1], "nil": null, "yes": true, "empty": [],
        "rows": [{"k": "b", "v": 2, "t": {"x": 1}}, {"k": "a", "v": 1, "t": {"x": 2}}, {"k": "B", "v": 2, "t": {"x": 0}}],
        "map": {"z": 1, "a": [1, 2]}, "words": ["b", "A", "c"]
    })
}

fn variables(context: &serde_json::Value, meter: &mut Meter) -> Vec<(String, Value<'static>)> {
    let members = context.as_object().unwrap().iter();
    members.map(|(name, value)| (name.clone(), Value::of_json(value, meter).unwrap())).collect()
}

fn evaluated(source: &str, allowance: Allowance) -> Result<String, Fault> {
    let mut meter = Meter::new(allowance);
    let variables = variables(&context(), &mut Meter::new(Allowance::LARGE));
    let variables = variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let expression = parse_expression(source).unwrap_or_else(|syntax| panic!("{source}: {}", syntax.words));
    let value = Evaluator::new(Absence::Passes, 20_000, variables, &mut meter).value(&expression)?;
    if value.is_undefined() {
        return Ok("undefined".into());
    }
    Ok(value.to_json(&mut meter)?.to_string())
}

/// What both must agree on.
const EXPRESSIONS: &[&str] = &[
    "1 + 2 * 3",
    "(1 + 2) * 3",
    "7 / 2",
    "7 // 2",
    "-7 // 2",
    "7 % 3",
    "-7 % 3",
    "2 ** 10",
    "-n",
    "- -n",
    "n - -1",
    "1.5 + 1",
    "'a' + 'b'",
    "'a' ~ 1 ~ 'b'",
    "'ab' * 3",
    "[1, 2] + [3]",
    "n > 3 and n < 10",
    "n > 3 or nope",
    "not n",
    "1 < 2 < 3",
    "1 < 3 < 2",
    "n == 7.0",
    "n != 7",
    "'a' < 'b'",
    "1 in list",
    "9 not in list",
    "'ell' in s",
    "'z' in map",
    "'q' in map",
    "n if yes else s",
    "n if nil else s",
    "n if nil",
    "nope.deeper.still",
    "nope[1]",
    "list[0]",
    "list[-1]",
    "list[9]",
    "s[0]",
    "s[-1]",
    "s[1:3]",
    "s[::-1]",
    "list[1:]",
    "list[:-1]",
    "list[::2]",
    "list[::-1]",
    "map.z",
    "map['a'][1]",
    "rows[1].t.x",
    "rows.0.k",
    "map.a.1",
    "{'a': 1, 'b': [n]}",
    "[1, 'x', none, true]",
    "(1, 2)",
    "()",
    "'it''s'",
    "'\\n\\u00e9'",
    "1_000",
    "s|upper",
    "s|lower",
    "'hELLO wORLD'|capitalize",
    "'hello world-wide'|title",
    "'  x '|trim",
    "'xxaxx'|trim('x')",
    "s|replace('l', 'L')",
    "'a,b,c'|split(',')",
    "'a,b,c'|split(',', 1)",
    "' a  b '|split",
    "'a\\nb'|lines",
    "['a', 'b']|join('-')",
    "list|length",
    "s|length",
    "map|length",
    "list|first",
    "list|last",
    "s|first",
    "list|min",
    "list|max",
    "list|sum",
    "list|sort",
    "words|sort",
    "words|sort(case_sensitive=true)",
    "list|sort(reverse=true)",
    "rows|sort(attribute='k')|map(attribute='v')|list",
    "list|unique|list",
    "words|reverse|list",
    "s|reverse",
    "map|list",
    "map|items|list",
    "map|dictsort",
    "map|dictsort(by='value')",
    "words|map('upper')|list",
    "rows|map(attribute='t.x')|list",
    "list|select('odd')|list",
    "list|reject('odd')|list",
    "rows|selectattr('v', 'eq', 2)|map(attribute='k')|list",
    "rows|rejectattr('v', 'gt', 1)|map(attribute='k')|list",
    "list|select('divisibleby', 3)|list",
    "[1,2]|zip(['a','b'])|list",
    "[1]|chain([2], [3])|list",
    "map|attr('z')",
    "nope|default('x')",
    "nil|default('x')",
    "''|default('x', true)",
    "'42'|int",
    "'4.7'|float",
    "3.7|int",
    "n|float",
    "2.567|round(1)",
    "2.5|round",
    "7|round",
    "1234.5|round(-2)",
    "2.1|round(method='ceil')",
    "-3|abs",
    "n|bool",
    "''|bool",
    "rows|groupby('v')|map(attribute='grouper')|list",
    "n is odd",
    "n is even",
    "n is not odd",
    "n is divisibleby 7",
    "n is divisibleby(2)",
    "s is startingwith 'He'",
    "s is endingwith('x')",
    "nope is defined",
    "nope is undefined",
    "nil is none",
    "n is number",
    "f is float",
    "f is integer",
    "s is string",
    "map is mapping",
    "list is sequence",
    "list is iterable",
    "yes is true",
    "n is in [7, 8]",
    "1 is lt 2",
    "'A' is upper",
    "list|sort|first + 1",
    "-1|abs",
    "not 1 == 2",
    "1 if 0 else 2 if 0 else 3",
    "range(3)|list",
    "range(1, 7, 2)|list",
    "true and 'x'",
    "0 or 'y'",
    "rows|map(attribute='nope', default=5)|list",
    "rows|min(attribute='v')",
    "rows|unique(attribute='v')|map(attribute='k')|list",
];

#[test]
fn an_expression_comes_to_what_the_reference_makes_of_it() {
    let mut reference = minijinja::Environment::new();
    reference.set_undefined_behavior(minijinja::UndefinedBehavior::Chainable);
    for source in EXPRESSIONS {
        let expected = reference
            .compile_expression(source)
            .unwrap()
            .eval(minijinja::Value::from(minijinja::value::Serde(&context())));
        let expected = expected.unwrap_or_else(|fault| panic!("{source}: {fault}"));
        let expected = if expected.is_undefined() {
            "undefined".into()
        } else {
            serde_json::to_string(&expected).unwrap()
        };
        let found =
            evaluated(source, Allowance::LARGE).unwrap_or_else(|fault| panic!("{source}: {}", fault.why));
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn a_template_comes_to_what_the_reference_makes_of_it() {
    let reference = minijinja::Environment::new();
    for source in [
        "a{{ n }}b\n",
        "{{ n -}}  x",
        "x  {{- n }}",
        "{# no #}{{ s }}",
        "{% if n %}yes{% endif %}",
        "{% if nil %}a{% elif yes %}b{% else %}c{% endif %}",
        "{% for x in list %}{{ x }},{% endfor %}",
        "{% for x in empty %}{{ x }}{% else %}none{% endfor %}",
        "{% for x in list if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ', ' if not loop.last }}{% endfor %}",
        "{% for k, v in map|items %}{{ k }}={{ v|length if v is sequence else v }};{% endfor %}",
        "{% for row in rows|sort(attribute='k') %}{{ row.k }}{{ loop.index0 }}{{ loop.revindex }}{% endfor %}",
        "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ a * b }} {{ loop.depth }}{% endfor %}{% endfor %}",
        "{% for x in list %}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('+') }}{% endfor %}",
        "{% for x in list %}{{ loop.cycle('odd', 'even') }}{% endfor %}",
        "{% for v, rows in rows|groupby('v') %}{{ v }}:{{ rows|map(attribute='k')|join(',') }} {% endfor %}",
        "{% for g in rows|groupby('v') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}",
        "{%- for c in 'abc' -%}  {{ c }}  {%- endfor -%}  ",
        "{{ '}}' }}{{ {'a': {'b': 1}}.a.b }}{ {a} %}",
        "{% for i in range(3) %}{% if i is odd %}{{ i }}{% endif %}{% endfor %}",
        "line\r\n",
        "{{ s }}\n\n",
    ] {
        let expected = reference
            .render_str(source, minijinja::Value::from(minijinja::value::Serde(&context())))
            .unwrap();
        let mut meter = Meter::new(Allowance::LARGE);
        let variables = variables(&context(), &mut meter);
        let variables = variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let program = Program::parse(source).unwrap_or_else(|syntax| panic!("{source}: {}", syntax.words));
        let found = program.render(variables, 20_000, 1 << 20, &mut meter);
        assert_eq!(found.unwrap_or_else(|fault| panic!("{source}: {}", fault.why)), expected, "{source}");
    }
}

#[test]
fn values_print_as_json_does() {
    for (source, expected) in [
        ("[true, none, 1, 1.5, 'a', {'k': [1]}]|join(' ')", "\"true null 1 1.5 a {\\\"k\\\":[1]}\""),
        ("true|string", "\"true\""),
        ("true|upper", "\"TRUE\""),
        ("{'b': 1, 'a': '<'}|tojson", "\"{\\\"b\\\":1,\\\"a\\\":\\\"<\\\"}\""),
        ("'a b'|urlencode", "\"a%20b\""),
        ("'hi'|b64encode", "\"aGk=\""),
        ("'aGk='|b64decode", "\"hi\""),
        ("'你'|length", "1"),
        ("nope|upper|default('x')", "\"x\""),
        ("'<a href=\"x\">'|escape", "\"&lt;a href=&quot;x&quot;&gt;\""),
    ] {
        assert_eq!(evaluated(source, Allowance::LARGE).unwrap(), expected, "{source}");
    }
}

#[test]
fn what_would_cost_much_ends_before_it_does() {
    for source in [
        "[1] * 90000000",
        "'x' * 90000000",
        "([1] * 30000000)|sort|length",
        "range(1000000000)|length",
        "('x' * 8000000)|replace('x', 'y' * 1000)|length",
        "('x' * 100000)|replace('', 'y' * 100000)|length",
        "('x' * 100000)|split('')|join('y' * 100000)|length",
        "('\"' * 1000000)|tojson|tojson|tojson|tojson|tojson|length",
        "('x' * 8000000)|list|length",
        "('x' * 8000000) ~ ('x' * 8000000)",
        "([[1] * 100000] * 100)|tojson|length",
        "([[1] * 100000] * 1000)|unique|length",
        "([[[1] * 1000] * 1000] * 1000)|sort|length",
        "([('x' * 100000)] * 100000)|unique|length",
        "'a' * 10 ** 30",
        "2 ** 100000",
    ] {
        let fault = evaluated(source, Allowance::LARGE).unwrap_err();
        let words = fault.why.to_string();
        assert!(words.contains("too large") || words.contains("too much"), "{source}: {words}");
    }
}

#[test]
fn little_is_allowed_where_little_is_left() {
    let fault = evaluated("([1] * 20000)|sort|unique|length", Allowance::SMALL).unwrap_err();
    assert_eq!(fault.why, Why::Spent(Spent::Work));
    assert_eq!(evaluated("([1] * 20000)|length", Allowance::SMALL).unwrap(), "20000");
}

#[test]
fn what_is_not_an_expression_is_refused() {
    for source in [
        "", "1 +", "a b", "a.", "a[", "'x", "(1", "{1", "a|", "a is", "1 not 2", "a.b()", "a()", "a(1)", "@",
        "a||b", "in", "-",
    ] {
        assert!(parse_expression(source).is_err(), "{source}");
    }
}
