//! Our verdict against that of jsonschema, over schemas and values that nobody wrote.

use jsonschema::Draft;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::*;

const NAMES: [&str; 4] = ["a", "b", "c", "ab"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..6).prop_map(Value::from),
        prop::sample::select(vec![0.0, -0.0, 1.0, 2.5, 1e300, 9_007_199_254_740_993.0]).prop_map(Value::from),
        Just(json!(18_446_744_073_709_551_615_u64)),
        prop::sample::select(vec!["", "a", "ab", "abc", "über", "2024-02-30", "2024-02-28", "eyJ9", "e30="])
            .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&NAMES), inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

/// Keywords that need no other schema.
fn assertion() -> impl Strategy<Value = (String, Value)> {
    let number = || prop_oneof![(-2_i64..5).prop_map(Value::from), Just(json!(1.5)), Just(json!(0.1))];
    let size = || prop_oneof![(0_u64..4).prop_map(Value::from), Just(json!(2.0))];
    let names =
        || prop::collection::btree_set(prop::sample::select(&NAMES), 0..3).prop_map(|names| json!(names));
    let types =
        || prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let pair = |keyword: &'static str| move |value: Value| (keyword.to_owned(), value);
    prop_oneof![
        types().prop_map(Value::from).prop_map(pair("type")),
        prop::collection::btree_set(types(), 1..4).prop_map(|types| json!(types)).prop_map(pair("type")),
        value().prop_map(pair("const")),
        prop::collection::vec(value(), 1..4).prop_map(Value::from).prop_map(pair("enum")),
        (prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number())
            .prop_map(|(keyword, value)| (keyword.to_owned(), value)),
        prop::sample::select(vec![json!(1), json!(2), json!(0.5), json!(0.1), json!(1e-5)])
            .prop_map(pair("multipleOf")),
        (
            prop::sample::select(vec![
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties",
                "minContains",
                "maxContains"
            ]),
            size()
        )
            .prop_map(|(keyword, value)| (keyword.to_owned(), value)),
        names().prop_map(pair("required")),
        (prop::sample::select(&NAMES), names())
            .prop_map(|(name, names)| { ("dependentRequired".to_owned(), json!({name: names})) }),
        (prop::sample::select(&NAMES), names())
            .prop_map(|(name, names)| ("dependencies".to_owned(), json!({name: names}))),
        any::<bool>().prop_map(Value::from).prop_map(pair("uniqueItems")),
        prop::sample::select(vec!["^a", "b$", "^[a-z]+$", "^(?!a)", r"^\S*$", r"\w\d?", "(a)\\1"])
            .prop_map(Value::from)
            .prop_map(pair("pattern")),
        prop::sample::select(vec!["date", "regex", "uri", "nobody-knows"])
            .prop_map(Value::from)
            .prop_map(pair("format")),
        Just(("contentEncoding".to_owned(), json!("base64"))),
        Just(("contentMediaType".to_owned(), json!("application/json"))),
        prop::sample::select(vec!["#", "#/$defs/x", "#/$defs/y", "#z"])
            .prop_map(Value::from)
            .prop_map(pair("$ref")),
        prop::sample::select(vec!["#z", "#/$defs/x"]).prop_map(Value::from).prop_map(pair("$dynamicRef")),
    ]
}

/// Keywords around other schemas.
fn applicator(
    inner: impl Strategy<Value = Value> + Clone + 'static,
) -> impl Strategy<Value = (String, Value)> {
    let one = vec![
        "additionalProperties",
        "propertyNames",
        "items",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "unevaluatedProperties",
        "unevaluatedItems",
        "additionalItems",
    ];
    let named = vec!["properties", "dependentSchemas", "dependencies"];
    let list = vec!["allOf", "anyOf", "oneOf", "prefixItems"];
    let members = |names: Vec<&'static str>, inner| {
        prop::collection::vec((prop::sample::select(names), inner), 0..3).prop_map(|members| {
            Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        })
    };
    let inner2 = inner.clone();
    prop_oneof![
        4 => (prop::sample::select(one), inner.clone()).prop_map(|(keyword, value)| (keyword.to_owned(), value)),
        4 => (prop::sample::select(named), members(NAMES.to_vec(), inner.clone().boxed()))
            .prop_map(|(keyword, value)| (keyword.to_owned(), value)),
        1 => members(vec!["^a", "b", "^(?!a)"], inner2.boxed())
            .prop_map(|value| ("patternProperties".to_owned(), value)),
        4 => (prop::sample::select(list), prop::collection::vec(inner.clone(), 1..4))
            .prop_map(|(keyword, values)| (keyword.to_owned(), Value::from(values))),
        1 => prop::collection::vec(inner, 0..3).prop_map(|values| ("items".to_owned(), Value::from(values))),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        8 => prop::collection::vec(assertion(), 0..3).prop_map(|members| Value::Object(members.into_iter().collect())),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        (prop::collection::vec(assertion(), 0..2), prop::collection::vec(applicator(inner), 1..4)).prop_map(
            |(assertions, applicators)| Value::Object(assertions.into_iter().chain(applicators).collect()),
        )
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (part(), part(), part(), part(), any::<bool>(), prop::option::of(part())).prop_map(
        |(mut whole, x, y, mut z, is_old, resource)| {
            if let Value::Object(named) = &mut z {
                named.insert("$dynamicAnchor".into(), json!("z"));
            }
            if let Value::Object(members) = &mut whole {
                members.insert("$defs".into(), json!({"x": x, "y": y, "z": z}));
                if let Some(Value::Object(mut resource)) = resource {
                    resource.insert("$id".into(), json!("urn:inner"));
                    resource.insert(
                        "$defs".into(),
                        // No second `z`: jsonschema does not look for it in the schemas around.
                        json!({"x": y, "z": {"$anchor": "z", "type": "string"}, "y": {}}),
                    );
                    members.insert("then".into(), Value::Object(resource));
                    members.insert("if".into(), json!(true));
                }
                if is_old {
                    members.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
                }
            }
            whole
        },
    )
}

fn draft_of(schema: &Value) -> Draft {
    match dialect_of(schema) {
        Ok(Dialect::Draft7) => Draft::Draft7,
        _ => Draft::Draft202012,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, failure_persistence: None, rng_seed: seed(), ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn our_verdict_is_that_of_jsonschema(schema in schema(), values in prop::collection::vec(value(), 12)) {
        let ours = SchemaCompiler::default().compile(&schema);
        prop_assume!(ours.is_ok());
        let ours = ours.unwrap();
        // What a part asks of a value by way of itself is not defined.
        prop_assume!(!ours.nodes.iter().any(|node| node.is_looping));
        let theirs = jsonschema::options().with_draft(draft_of(&schema)).build(&schema);
        // We find names also where their dialect has none.
        prop_assume!(theirs.is_ok());
        let theirs = theirs.unwrap();
        for value in values {
            let expected = theirs.is_valid(&value);
            let checked = ours.check(&value, Effort::Thorough(0));
            prop_assert_eq!(checked.is_ok(), expected, "{} against {}: {:?}", value, schema, checked);
            let mut remembering = Run::new(&ours.nodes, 100_000, Duration::from_secs(9)).remembering();
            prop_assert_eq!(remembering.fits(0, &value), Ok(expected), "remembering, {} against {}", value, schema);
            if let Err(misfit) = checked {
                prop_assert!(matches!(misfit, Misfit::Violations(found) if !found.is_empty()));
            }
        }
    }

    #[test]
    fn we_accept_the_schemas_that_jsonschema_accepts(schema in schema()) {
        let theirs = jsonschema::options().with_draft(draft_of(&schema)).build(&schema);
        if theirs.is_ok() {
            let ours = SchemaCompiler::default().compile(&schema);
            prop_assert!(ours.is_ok(), "{:?}", ours.map(drop));
        }
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

/// The same cases in every run of the tests, and others where more are asked for.
fn seed() -> RngSeed {
    if std::env::var_os("PROPTEST_CASES").is_some() { RngSeed::Random } else { RngSeed::Fixed(11) }
}

const KEYWORDS: [&str; 53] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "uniqueItems",
];

/// What a keyword may be said to be, rightly or wrongly.
fn said() -> impl Strategy<Value = Value> {
    let small = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(2),
        json!(1.5),
        json!(3.0),
        json!("a"),
        json!("string"),
        json!("-"),
        json!([]),
        json!({}),
        json!({"type": "integer"}),
        json!({"type": "int"}),
    ]);
    prop_oneof![
        small.clone(),
        prop::collection::vec(small.clone(), 0..3).prop_map(Value::from),
        small.prop_map(|inner| json!({"a": inner})),
        Just(json!({"a": ["b", "c"]})),
        Just(json!({"a": ["b", "b"]})),
    ]
}

/// Texts that are of a format, or nearly.
fn nearly() -> impl Strategy<Value = (&'static str, String)> {
    let shapes = [
        ("date", "[0-2][09][0-9]{2}-[01][0-9]-[0-3][0-9]x?"),
        ("time", "[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{0,3})?([Zz]|[+-][0-2][0-9]:[0-6][0-9])?"),
        ("time", "23:59:60([Zz]|[+-]0[01]:[0-9]0)"),
        (
            "date-time",
            "20[0-9]{2}-0[0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?[Zz]?",
        ),
        ("ipv4", "([0-9]{1,3}\\.){2,3}[0-9]{1,3}"),
        ("ipv6", "([0-9a-f]{0,4}:){1,7}[0-9a-g]{0,4}"),
        ("json-pointer", "(/[a-z~01]{0,3}){0,3}x?"),
        ("relative-json-pointer", "[0-9]{0,2}(#|(/[a-z~01]{0,2}){0,2})"),
        ("uri", "([a-z+1]{1,3}:)?(//)?[a-c@:\\[\\]%20é{ ]{0,4}(:[0-9]{0,2})?(/[a-b%20?#]{0,4}){0,2}"),
        ("uri-reference", "([a-z]{1,2}:)?(//)?[a-c@:%20é]{0,4}(/[a-b%20?#|]{0,4}){0,2}"),
        ("iri", "[a-z]{1,2}:(//)?[a-cé%20]{0,4}(/[a-b?#é]{0,4}){0,2}"),
        ("uri-template", "[a-c%20é]{0,3}(\\{[+#?&]?[a-c_.,:*1]{0,4}\\}?){0,2}[a-c}]{0,1}"),
        ("hostname", "[a-c0-]{0,4}(\\.[a-c0-]{0,4}){0,2}"),
        ("email", "[a-c.+\" ]{0,4}@?[a-c0-]{1,3}(\\.[a-c0-]{1,3}){0,2}"),
    ];
    prop::sample::select(shapes.to_vec()).prop_flat_map(|(format, shape)| {
        prop::string::string_regex(shape).unwrap().prop_map(move |text| (format, text))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: seed(), ..ProptestConfig::with_cases(30 * cases()) })]

    #[test]
    fn a_schema_has_the_right_form_if_jsonschema_says_so(keyword in prop::sample::select(&KEYWORDS), said in said(), draft_7 in any::<bool>()) {
        // Formats in schemas themselves are looked at where they are compiled.
        let dialect = if draft_7 { Dialect::Draft7 } else { Dialect::Current };
        let schema = json!({"properties": {"x": {keyword: said}}});
        let theirs = if draft_7 { jsonschema::draft7::meta::is_valid(&schema) } else { jsonschema::draft202012::meta::is_valid(&schema) };
        let ours = meta::faults(dialect, &schema);
        prop_assert_eq!(ours.is_empty(), theirs, "{} {:?}: {:?}", schema, dialect, ours);
    }

    #[test]
    fn a_text_is_of_a_format_if_jsonschema_says_so((format, text) in nearly()) {
        let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": format});
        let theirs = jsonschema::options().with_draft(Draft::Draft7).build(&schema).unwrap();
        let ours = SchemaCompiler::default().compile(&schema).unwrap();
        let value = Value::from(text);
        prop_assert_eq!(ours.check(&value, Effort::Brief).is_ok(), theirs.is_valid(&value), "{} {}", format, value);
    }
}
