//! Conditions mean what CEL says: random ones are evaluated by ours and by the crate `cel`, which cannot be bounded.

use cel::{Context, Program, Value as CelValue};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{condition, problems};

/// What stands in the arguments of both.
fn given() -> Value {
    json!({"i": 3, "j": -2, "d": 1.5, "s": "abc", "t": true, "n": null, "l": [1, 2, 3], "w": ["a", "abc"], "o": {"a": 1, "b": "x"}})
}

/// JSON as CEL has it, with whole numbers as such: through serde they would be unsigned, which CEL does not add to signed ones.
fn to_cel(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| number.as_f64().unwrap_or_default().into(), Into::into)
        }
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => list.iter().map(to_cel).collect::<Vec<CelValue>>().into(),
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| (key.clone(), to_cel(value)));
            entries.collect::<std::collections::HashMap<String, CelValue>>().into()
        }
    }
}

/// True, false, or that it failed.
fn by_cel(text: &str) -> Option<bool> {
    let program = Program::compile(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
    let mut context = Context::default();
    context.add_variable_from_value("args", to_cel(&given()));
    match program.execute(&context) {
        Ok(CelValue::Bool(truth)) => Some(truth),
        Ok(_) | Err(_) => None,
    }
}

fn whole() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "args.i",
        "args.j",
        "0",
        "1",
        "7",
        "-3",
        "9223372036854775807",
        "args.l[1]",
        "args.o.a",
        "size(args.s)",
        "args.l.size()",
        "int('4')",
        "args.x",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(2, 8, 2, |inner| {
        (inner.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%"]), inner)
            .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"))
    })
}

fn fraction() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["args.d", "0.5", "-2.25", "1e3", "double(args.i)", "double('0.5')"]);
    leaf.prop_map(str::to_owned).prop_recursive(2, 6, 2, |inner| {
        (inner.clone(), prop::sample::select(vec!["+", "-", "*"]), inner)
            .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"))
    })
}

fn text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "args.s",
        "''",
        "'abc'",
        "'b'",
        "args.w[0]",
        "args.o['b']",
        "string(args.i)",
        "args.w[9]",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(2, 6, 2, |inner| {
        (inner.clone(), inner).prop_map(|(left, right)| format!("({left} + {right})"))
    })
}

fn list() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "args.l",
            "[]",
            "[1, 2, 3]",
            "args.l + [args.i]",
            "args.l.filter(e, e > 1)",
            "args.l.map(e, e * 2)",
            "args.l.map(e, e > 1, e - 1)",
            "args.x"
        ])
        .prop_map(str::to_owned),
        (whole(), whole()).prop_map(|(one, other)| format!("[{one}, {other}]")),
    ]
}

fn item_condition() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "e > 1",
        "e == 2",
        "e in [1, 9]",
        "e / (e - 2) > 0",
        "e < args.i",
        "args.o.a == e",
        "e > args.s",
        "true",
    ])
    .prop_map(str::to_owned)
}

fn truth() -> impl Strategy<Value = String> {
    let order = || prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        (whole(), order(), whole()).prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        (whole(), order(), fraction())
            .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        (fraction(), order(), fraction())
            .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        (text(), order(), text()).prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
        (text(), prop::sample::select(vec!["startsWith", "endsWith", "contains"]), text())
            .prop_map(|(left, name, right)| format!("{left}.{name}({right})")),
        (whole(), list()).prop_map(|(item, list)| format!("{item} in {list}")),
        (list(), list()).prop_map(|(left, right)| format!("({left}) == ({right})")),
        (list(), prop::sample::select(vec!["all", "exists", "exists_one"]), item_condition())
            .prop_map(|(list, name, body)| format!("({list}).{name}(e, {body})")),
        prop::sample::select(vec![
            "args.t",
            "has(args.i)",
            "has(args.x)",
            "has(args.o.a)",
            "has(args.x.y)",
            "'a' in args.o",
            "args.n == null",
            "args.i == args.s",
            "args.s",
            "args.o == {'a': 1, 'b': 'x'}",
            "args.o.all(k, k in ['a', 'b'])",
            "{'abc': true}[args.s]",
            "args.t && args.x"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left}) && ({right})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left}) || ({right})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a}) && ({b}) || ({c})")),
            inner.clone().prop_map(|part| format!("!({part})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a}) ? ({b}) : ({c})")),
        ]
    })
}

proptest! {
    #[test]
    fn a_condition_means_what_cel_says(text in truth()) {
        // So that none is refused because it asks for nothing; those that can only fail are, and are not compared.
        let text = format!("({text}) && args.t");
        let fine = problems(&json!({"rules": [{"name": "r", "effect": "deny", "when": text}]})).is_empty();
        prop_assume!(fine);
        prop_assert_eq!(condition(&text, given()).ok(), by_cel(&text), "{}", text);
    }
}
