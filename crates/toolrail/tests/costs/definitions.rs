//! Definitions that nobody would write, with arguments and answers for them: schemas that lead to themselves, patterns that
//! look around, expressions, paths and templates that do much with little.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["a", "b", "op", "children"];

/// A definition with what a call of it sends and gets.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) definition: Value,
    pub(crate) arguments: Value,
    pub(crate) answer: Value,
}

pub(crate) fn case(port: u16) -> impl Strategy<Value = Case> {
    let parts = (schema(), prop::option::of(schema()), expression(), prop::option::of(mapping()));
    (parts, arguments(), large_value()).prop_map(
        move |((input, output, expression, mapping), arguments, answer)| {
            let mut definition = json!({
                "name": "t", "description": "d", "type": "http", "inputSchema": input,
                "http": {
                    "method": "POST",
                    "url": format!("http://127.0.0.1:{port}/"),
                    "body": {"type": "json", "json": {"value": expression}}
                }
            });
            definition["inputSchema"]["type"] = json!("object");
            if let Some(output) = output {
                definition["outputSchema"] = output;
            }
            if let Some(mapping) = mapping {
                definition["responseMapping"] = mapping;
            }
            Case { definition, arguments, answer }
        },
    )
}

/// Cases that once took too much.
pub(crate) fn known(port: u16) -> Vec<Case> {
    let sorting_in_loops =
        "{% for x in result %}{% for y in result %}{{ result|unique|length }}{% endfor %}{% endfor %}";
    let definition = json!({
        "name": "t", "description": "d", "type": "http", "inputSchema": {"type": "object"},
        "http": {"method": "POST", "url": format!("http://127.0.0.1:{port}/")},
        "responseMapping": {"type": "template", "template": sorting_in_loops}
    });
    vec![Case { definition, arguments: json!({}), answer: json!(vec![json!([-1, 1]); 500]) }]
}

fn text() -> impl Strategy<Value = String> {
    (select(vec!["a", "ab", "x1", "über", "(", "温度"]), select(vec![0_usize, 1, 3, 30, 400]))
        .prop_map(|(piece, times)| piece.repeat(times))
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (-2_i64..3).prop_map(Value::from),
        text().prop_map(Value::from),
        select(vec!["and", "or", "not", "is"]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let flat = scalar().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(select(&NAMES), inner, 0..4).prop_map(|members| json!(members)),
        ]
    });
    // The same step again and again, which schemas that lead to themselves follow.
    (flat, select(vec![0_usize, 0, 10, 25, 60, 110]), select(&NAMES), any::<bool>()).prop_map(
        |(leaf, levels, name, in_array)| {
            (0..levels).fold(leaf, |inner, _| {
                if in_array { json!({"op": "and", name: [inner]}) } else { json!({name: inner}) }
            })
        },
    )
}

fn arguments() -> impl Strategy<Value = Value> {
    btree_map(select(&NAMES), large_value(), 0..4).prop_map(|members| json!(members))
}

fn large_value() -> impl Strategy<Value = Value> {
    (value(), select(vec![1_usize, 1, 1, 20, 500])).prop_map(|(value, times)| {
        let times = times.min(60_000 / value.to_string().len().max(1)).max(1);
        if times == 1 { value } else { Value::from(vec![value; times]) }
    })
}

fn pattern() -> impl Strategy<Value = &'static str> {
    select(vec![
        "^a",
        "(a+)+$",
        "^(a|aa)+$",
        "(?=.*x.*y.*z)q",
        "^(?!.*b).*$",
        "(a*)*b",
        r"(.*)\1(.*)\2$",
        r"^\p{L}{1,60}$",
        "(?<=a)b",
        "(x+x+)+y",
        "([a-z]+[0-9]?)*$",
        "(a?){20000}b",
        "[ab]*a[ab]{300}c",
        r"(?i)\p{L}{200}",
    ])
}

fn assertion() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        select(vec!["object", "array", "string", "integer", "null"])
            .prop_map(|name| ("type".to_owned(), json!(name))),
        scalar().prop_map(|value| ("const".to_owned(), value)),
        vec(scalar(), 1..4).prop_map(|values| ("enum".to_owned(), json!(values))),
        pattern().prop_map(|pattern| ("pattern".to_owned(), json!(pattern))),
        vec(select(&NAMES), 0..3).prop_map(|names| ("required".to_owned(), json!(names))),
        Just(("uniqueItems".to_owned(), json!(true))),
        select(vec!["#", "#/$defs/x", "#/$defs/y"]).prop_map(|target| ("$ref".to_owned(), json!(target))),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    let leaf = vec(assertion(), 0..3).prop_map(|members| Value::Object(members.into_iter().collect()));
    leaf.prop_recursive(4, 32, 4, |inner| {
        let one = select(vec![
            "additionalProperties",
            "items",
            "contains",
            "not",
            "if",
            "then",
            "else",
            "unevaluatedProperties",
            "unevaluatedItems",
            "propertyNames",
        ]);
        let keyword = prop_oneof![
            2 => (one, inner.clone()).prop_map(|(keyword, part)| (keyword.to_owned(), part)),
            3 => btree_map(select(&NAMES), inner.clone(), 0..4)
                .prop_map(|named| ("properties".to_owned(), json!(named))),
            1 => (pattern(), inner.clone())
                .prop_map(|(pattern, part)| ("patternProperties".to_owned(), json!({pattern: part}))),
            4 => (select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), vec(inner, 1..5))
                .prop_map(|(keyword, parts)| (keyword.to_owned(), json!(parts))),
        ];
        (vec(assertion(), 0..2), vec(keyword, 1..4)).prop_map(|(assertions, keywords)| {
            Value::Object(assertions.into_iter().chain(keywords).collect())
        })
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (part(), part(), part()).prop_map(|(mut whole, x, y)| {
        whole["$defs"] = json!({"x": x, "y": y});
        whole
    })
}

/// A whole expression: something large or small through a few filters.
fn expression() -> impl Strategy<Value = String> {
    let start = select(vec![
        "args.a",
        "args.children",
        "args",
        "[1]*30000000",
        "'ab'*1000000",
        "range(100000)",
        "'x'",
        "[args, args]*1000",
        "(args.a|string)*1000",
    ]);
    let filter = select(vec![
        "sort",
        "unique",
        "length",
        "join(',')",
        "upper",
        "list",
        "reverse",
        "replace('a', 'aaaaaaaa')",
        "tojson",
        "string",
        "first",
        "batch(2)",
        "map('string')",
        "default('x')",
    ]);
    (start, vec(filter, 0..4)).prop_map(|(start, filters)| {
        let filters: String = filters.iter().flat_map(|filter| ["|", filter]).collect();
        format!("{{{{ ({start}){filters} }}}}")
    })
}

fn mapping() -> impl Strategy<Value = Value> {
    let step = select(vec![
        "[*]",
        "..*",
        ".a",
        ".children",
        "[0]",
        "[-1]",
        "[::2]",
        "[::-1]",
        "[?match(@.a, '(a+)+b')]",
        "[?search(@.op, '.*x.*y.*z')]",
        "[?@.a == @.b]",
        "[?length(@.children) > 0]",
        "['a','b','a']",
    ]);
    let piece = select(vec![
        "{{ result }}",
        "{% for x in result %}{{ x }}{% endfor %}",
        "{% for x in result %}{% for y in result %}{{ result|unique|length }}{% endfor %}{% endfor %}",
        "{{ result|string|upper|length }}",
        "{% for x in range(100000) %}{{ args.a }}{% endfor %}",
        "{{ result|tojson|replace('a', 'aaaaaaaa') }}",
        "{{ ([result]*100000)|length }}",
        "{% for x in result recursive %}{{ loop(result) }}{% endfor %}",
    ]);
    prop_oneof![
        vec(step, 0..5).prop_map(|steps| json!({"type": "jsonPath", "path": format!("${}", steps.concat())})),
        vec(piece, 1..3).prop_map(|pieces| json!({"type": "template", "template": pieces.concat()})),
    ]
}
