//! What schemas refuse at registration, and what they say of values.

use serde_json::json;

use super::*;

fn compiled(schema: &Value) -> Validator {
    SchemaCompiler::default().compile(schema).unwrap()
}

fn fits(validator: &Validator, value: &Value) -> bool {
    validator.check(value, Effort::Thorough(0)).is_ok()
}

/// What a check took too much of.
fn overrun(validator: &Validator, value: &Value, effort: Effort) -> Option<Overrun> {
    match validator.check(value, effort) {
        Err(Misfit::Overrun(unchecked)) => Some(unchecked.overrun),
        _ => None,
    }
}

/// What is told of a value that does not fit.
fn told(schema: &Value, value: &Value) -> Vec<String> {
    match compiled(schema).check(value, Effort::Thorough(0)) {
        Ok(()) => Vec::new(),
        Err(Misfit::Violations(found)) => {
            found.iter().map(|violation| format!("{}: {}", violation.pointer, violation.message)).collect()
        }
        Err(Misfit::Overrun(overrun)) => vec![overrun.to_string()],
    }
}

#[test]
fn references_that_double_at_every_level_are_refused() {
    let doubling = |levels: usize| {
        let mut defs = Map::new();
        for level in 0..levels {
            let next = format!("#/$defs/l{}", level + 1);
            defs.insert(format!("l{level}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        }
        defs.insert(format!("l{levels}"), json!({"type": "integer"}));
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": defs})
    };
    let faults = SchemaCompiler::default().compile(&doubling(30)).unwrap_err();
    assert!(faults[0].pointer.starts_with("/$defs/l"), "{faults:?}");
    assert!(faults[0].message.contains("expand to more than 100000 schemas"), "{faults:?}");
    assert!(SchemaCompiler::default().compile(&doubling(5)).is_ok());
    // Within a resource of its own, references start from there.
    let mut inner = doubling(30);
    inner["$id"] = json!("urn:inner");
    let faults = SchemaCompiler::default().compile(&json!({"properties": {"x": inner}})).unwrap_err();
    assert!(faults[0].message.contains("expand to more than"), "{faults:?}");
}

#[test]
fn doubling_by_anchors_is_refused_too() {
    let mut defs = Map::new();
    for level in 0..30 {
        let next = format!("#l{}", level + 1);
        let anchor = format!("l{level}");
        defs.insert(
            anchor.clone(),
            json!({"$anchor": anchor, "anyOf": [{"$ref": next}, {"$dynamicRef": next}]}),
        );
    }
    defs.insert("l30".into(), json!({"$anchor": "l30", "type": "integer"}));
    let faults = SchemaCompiler::default().compile(&json!({"$ref": "#l0", "$defs": defs})).unwrap_err();
    assert!(faults[0].message.contains("expand to more than"), "{faults:?}");
}

#[test]
fn a_long_chain_of_references_is_refused() {
    let chain = |links: usize| {
        let mut defs = Map::new();
        for link in 0..links {
            let next = json!({"not": {"$ref": format!("#/$defs/l{}", link + 1)}});
            defs.insert(format!("l{link}"), (0..20).fold(next, |inner, _| json!({"not": inner})));
        }
        defs.insert(format!("l{links}"), json!({"type": "integer"}));
        json!({"$ref": "#/$defs/l0", "$defs": defs})
    };
    let faults = SchemaCompiler::default().compile(&chain(500)).unwrap_err();
    assert!(faults[0].message.contains("lead through more than 400 levels"), "{faults:?}");
    assert!(SchemaCompiler::default().compile(&chain(10)).is_ok());
}

#[test]
fn a_schema_that_refers_to_itself_is_fine() {
    let tree = json!({
        "$defs": {"node": {"type": "object", "properties": {
            "left": {"$ref": "#/$defs/node"},
            "right": {"$ref": "#/$defs/node"},
            "root": {"$ref": "#"}
        }}},
        "$ref": "#/$defs/node"
    });
    let validator = SchemaCompiler::default().compile(&tree).unwrap();
    assert!(fits(&validator, &json!({"left": {"right": {}}})));
    assert!(!fits(&validator, &json!({"left": {"right": 1}})));
}

#[test]
fn a_word_that_yaml_took_for_a_boolean_is_told_with_what_to_do() {
    let schema = json!({"properties": {"a": {"type": "string", "description": false}}, "required": [true]});
    let faults = SchemaCompiler::default().compile(&schema).unwrap_err();
    let mut told: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    told.sort_unstable();
    assert_eq!(told, ["/properties/a/description", "/required/0"]);
    assert!(faults.iter().all(|fault| fault.message.ends_with("not a boolean; quote it")), "{faults:?}");
}

#[test]
fn a_misspelt_type_is_told_once_with_what_was_meant() {
    for dialect in ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
    {
        let schema = json!({"$schema": dialect, "properties": {"a": {"type": "strng"}, "b": {"items": {"type": ["x", 1]}}}});
        let faults = SchemaCompiler::default().compile(&schema).unwrap_err();
        let told: Vec<_> =
            faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect();
        assert_eq!(
            told[0],
            "/properties/a/type: \"strng\" is not one of string, number, integer, boolean, array, object, null; did you mean \"string\"?"
        );
        assert_eq!(told.len(), 3, "each wrong name by itself: {told:#?}");
    }
}

/// A filter as tools have it: and, or, not, and leaves.
fn filter_schema() -> Value {
    json!({
        "$defs": {"filter": {"oneOf": [
            {"type": "object", "properties": {"op": {"const": "and"}, "children": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}, "required": ["op", "children"]},
            {"type": "object", "properties": {"op": {"const": "or"}, "children": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}, "required": ["op", "children"]},
            {"type": "object", "properties": {"op": {"const": "not"}, "children": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}, "required": ["op", "children"]},
            {"type": "object", "properties": {"op": {"const": "is"}, "field": {"type": "string"}, "value": {"type": "integer"}}, "required": ["op", "field", "value"]}
        ]}},
        "$ref": "#/$defs/filter"
    })
}

#[test]
fn one_wrong_leaf_of_a_deep_filter_is_found_at_once_and_named() {
    let leaf = json!({"op": "is", "field": "a", "value": "wrong"});
    let filter = (0..40).fold(leaf, |inner, _| json!({"op": "and", "children": [inner]}));
    let told = told(&filter_schema(), &filter);
    assert_eq!(
        told,
        [format!(
            "{}/value: \"wrong\" is not of type \"integer\" (in the nearest of 4 alternatives)",
            "/children/0".repeat(40)
        )]
    );
}

#[test]
fn branches_that_lead_to_each_other_cannot_multiply() {
    let schema = json!({
        "$defs": {
            "x": {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/y"}}, "required": ["a"]}, {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}]},
            "y": {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}, {"type": "object", "properties": {"a": {"$ref": "#/$defs/y"}}, "required": ["a"]}]}
        },
        "$ref": "#/$defs/x"
    });
    let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(told(&schema, &deep).len(), 1, "one reason, and within the budget");
    let unevaluated = json!({
        "$defs": {"x": {"anyOf": [
            {"properties": {"a": {"$ref": "#/$defs/x"}}, "unevaluatedProperties": false},
            {"properties": {"a": {"$ref": "#/$defs/x"}, "b": {}}, "unevaluatedProperties": false}
        ], "unevaluatedProperties": false}},
        "$ref": "#/$defs/x"
    });
    let deep = (0..100).fold(json!({"wrong": 1}), |inner, _| json!({"a": inner}));
    assert!(!told(&unevaluated, &deep).is_empty());
}

#[test]
fn neither_a_deep_value_nor_a_deep_schema_uses_up_the_stack() {
    let part = |inner: Value| (0..20).fold(inner, |inner, _| json!({"allOf": [inner]}));
    let mut defs = Map::new();
    for at in 0..8 {
        let next = part(json!({"$ref": format!("#/$defs/d{}", at + 1)}));
        defs.insert(format!("d{at}"), next);
    }
    defs.insert("d8".into(), json!({"properties": {"a": {"$ref": "#/$defs/d0"}}}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
    let validator = compiled(&schema);
    let deep = (0..120).fold(json!(1), |inner, _| json!({"a": inner}));
    let checked = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        assert_eq!(overrun(&validator, &deep, Effort::Brief), Some(Overrun::Depth));
        assert_eq!(overrun(&validator, &deep, Effort::Thorough(800)), Some(Overrun::Depth));
        assert_eq!(validator.check(&json!({"a": 1}), Effort::Thorough(800)), Ok(()));
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn the_reasons_of_a_deep_value_are_found_on_the_stack_of_a_thread() {
    let leaf = json!({"op": "is", "field": "a", "value": "wrong"});
    let filter = (0..60).fold(leaf, |inner, _| json!({"op": "and", "children": [inner]}));
    let chained = (0..8).fold(json!({}), |defs: Value, at| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        let mut defs = defs;
        defs[format!("d{at}")] = (0..20).fold(next, |inner, _| json!({"allOf": [inner]}));
        defs
    });
    let mut steep = json!({"$ref": "#/$defs/d0", "$defs": chained});
    steep["$defs"]["d8"] = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}});
    let checked = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let found = told(&filter_schema(), &filter);
        assert!(found[0].contains("\"wrong\" is not of type \"integer\""), "{found:?}");
        assert_eq!(told(&steep, &json!({"a": {"a": 1}})), ["/a: {\"a\":1} does not fit"]);
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn a_deep_tree_is_checked_on_a_small_stack() {
    let leaf = json!({"op": "is", "field": "a", "value": 1});
    let filter = (0..60).fold(leaf, |inner, _| json!({"op": "and", "children": [inner]}));
    let validator = compiled(&filter_schema());
    let checked = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || validator.check(&filter, Effort::Thorough(2_000)));
    assert_eq!(checked.unwrap().join().unwrap(), Ok(()));
}

#[test]
fn a_brief_check_ends_soon_and_a_thorough_one_tells() {
    let validator = compiled(&json!({"items": {"type": "integer"}}));
    let mut items = vec![json!(1); 50_000];
    items.push(json!("x"));
    let long = Value::Array(items);
    assert_eq!(overrun(&validator, &long, Effort::Brief), Some(Overrun::Steps));
    let Err(Misfit::Violations(found)) = validator.check(&long, Effort::Thorough(100_000)) else {
        panic!("it does not fit");
    };
    assert_eq!(found[0].pointer, "/50000");
}

#[test]
fn a_pattern_that_looks_around_is_bounded_and_named() {
    let validator = compiled(
        &json!({"properties": {"a": {"pattern": "^(?=.*[0-9])(?=.*[a-z]).{4,}$"}}, "patternProperties": {"^(?!a)": true}}),
    );
    let mut tried = validator.tried_patterns().to_vec();
    tried.sort();
    assert_eq!(tried, ["/patternProperties/^(?!a)", "/properties/a/pattern"]);
    assert!(fits(&validator, &json!({"a": "abc1"})));
    assert!(!fits(&validator, &json!({"a": "abcd"})));
    let long = json!({"a": "a1".repeat(5_000)});
    assert_eq!(overrun(&validator, &long, Effort::Thorough(10_000)), Some(Overrun::Pattern));
    let many = compiled(&json!({"items": {"pattern": "x(?=y)"}}));
    let texts = json!(vec!["xy".repeat(900); 200]);
    assert_eq!(overrun(&many, &texts, Effort::Thorough(400_000)), Some(Overrun::Steps));
}

#[test]
fn a_pattern_that_is_none_is_told_where_it_stands() {
    let refused = |schema: &Value| SchemaCompiler::default().compile(schema).unwrap_err()[0].pointer.clone();
    assert_eq!(refused(&json!({"items": {"pattern": "("}})), "/items/pattern");
    assert_eq!(refused(&json!({"patternProperties": {"a{2,1}": {}}})), "/patternProperties/a{2,1}");
}

#[test]
fn a_part_that_leads_back_to_itself_at_the_same_value_asks_once() {
    let animal = json!({
        "$defs": {
            "animal": {"required": ["kind"], "oneOf": [{"$ref": "#/$defs/dog"}, {"$ref": "#/$defs/cat"}]},
            "dog": {"allOf": [{"$ref": "#/$defs/animal"}, {"properties": {"kind": {"const": "dog"}}}], "unevaluatedProperties": false},
            "cat": {"allOf": [{"$ref": "#/$defs/animal"}, {"properties": {"kind": {"const": "cat"}}}]}
        },
        "$ref": "#/$defs/animal"
    });
    assert_eq!(told(&animal, &json!({"kind": "dog"})), Vec::<String>::new());
    assert_eq!(
        told(&animal, &json!({"kind": "cow"})),
        ["/kind: \"cow\" is not \"dog\" (in the nearest of 2 alternatives)"]
    );
    for endless in [
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        assert!(fits(&compiled(&endless), &json!({"a": 1})));
    }
}

#[test]
fn reasons_name_the_place_and_what_is_wrong() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "multipleOf": 2},
            "s": {"type": ["string", "null"], "maxLength": 3},
            "e": {"enum": ["a", "b", 3]},
            "l": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
            "x": {"anyOf": [{"type": "string"}, {"type": "null"}]}
        },
        "required": ["n", "a/b"],
        "additionalProperties": false
    });
    let value = json!({"s": 1, "e": "c", "l": ["x", 2, "x"], "x": 5, "other": 1});
    assert_eq!(
        told(&schema, &value),
        [
            "/n: \"n\" is required",
            "/a~1b: \"a/b\" is required",
            "/s: 1 is not of type \"null\" or \"string\"",
            "/e: \"c\" is not one of \"a\", \"b\" or 3",
            "/l: [\"x\",2,\"x\"] has more than 2 items",
            "/l/1: 2 is not of type \"string\"",
            "/l: [\"x\",2,\"x\"] has an item twice",
            "/x: 5 is not of type \"string\" or \"null\"",
        ]
    );
    assert_eq!(
        told(&json!({"properties": {"n": schema["properties"]["n"]}}), &json!({"n": -1}))[0],
        "/n: -1 is less than the minimum of 1"
    );
    let long = json!({"s": "x".repeat(10_000)});
    assert!(told(&schema, &long)[2].len() < 300);
}

#[test]
fn a_reference_that_leads_nowhere_is_told() {
    let faults = SchemaCompiler::default()
        .compile(&json!({"properties": {"a": {"$ref": "#/$defs/missing"}}}))
        .unwrap_err();
    assert_eq!(faults[0].pointer, "/properties/a");
    assert!(faults[0].message.contains("\"#/$defs/missing\" leads to nothing"), "{faults:?}");
}

#[test]
fn a_list_of_the_items_that_are_all_different_takes_as_long_as_it_is() {
    let validator = compiled(&json!({"uniqueItems": true}));
    let items: Vec<Value> = (0..20_000).map(|at| json!({"id": at, "name": [at]})).collect();
    assert_eq!(validator.check(&Value::Array(items), Effort::Thorough(500_000)), Ok(()));
}

#[test]
fn a_text_that_takes_too_long_is_named_with_the_word_of_the_schema_and_what_to_do() {
    let schema = json!({
        "properties": {"a/b": {"type": "string", "pattern": "(.{1,100}[ab]){1,90}!"}, "n": {"type": "integer"}}
    });
    let validator = compiled(&schema);
    let long = json!({"n": 1, "a/b": "ab".repeat(400_000)});
    let began = Instant::now();
    let Err(Misfit::Overrun(unchecked)) = validator.check_within(&long, 800_000, Duration::from_millis(50))
    else {
        panic!("it was checked");
    };
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    assert_eq!(
        unchecked.to_string(),
        "/a~1b: the value could not be checked in time because of \"pattern\"; send a shorter text, or let the pattern of the schema repeat less"
    );
}

#[test]
fn what_took_the_most_is_blamed_not_what_came_last() {
    let blamed = |schema: Value, value: Value| match compiled(&schema).check(&value, Effort::Thorough(0)) {
        Err(Misfit::Overrun(unchecked)) => (unchecked.pointer, unchecked.keyword.unwrap_or_default()),
        checked => panic!("{checked:?}"),
    };
    let texts = json!(vec!["x"; 100_000]);
    let strings = json!({"properties": {"l": {"items": {"type": "string", "pattern": "^x$"}}}});
    assert_eq!(blamed(strings, json!({"l": texts})), ("/l".into(), "items"));
    let alternatives: Vec<Value> = (1..100).map(|n| json!({"contains": {"const": n}})).collect();
    let schema = json!({"properties": {"x": {"anyOf": alternatives}}});
    assert_eq!(blamed(schema, json!({"x": vec![0; 10_000]})), ("/x".into(), "anyOf"));
}

#[test]
fn of_many_alternatives_the_nearest_is_named_wherever_it_stands() {
    let alternatives: Vec<Value> = (0..500)
        .map(|n| json!({"type": "object", "properties": {"kind": {"const": format!("k{n}")}, "n": {"type": "integer"}}, "required": ["kind", "n"]}))
        .collect();
    let schema = json!({"anyOf": alternatives});
    for n in [0, 199, 200, 499] {
        assert_eq!(
            told(&schema, &json!({"kind": format!("k{n}"), "n": "wrong"})),
            ["/n: \"wrong\" is not of type \"integer\" (in the nearest of 500 alternatives)"]
        );
    }
}

#[test]
fn alternatives_that_were_not_looked_at_are_counted() {
    let wide: Map<String, Value> = (0..40).map(|n| (format!("p{n}"), json!({"minLength": 1}))).collect();
    let alternatives: Vec<Value> =
        (0..500).map(|n| json!({"$ref": "#/$defs/wide", "required": [format!("r{n}")]})).collect();
    let value: Map<String, Value> = (0..40).map(|n| (format!("p{n}"), json!("x".repeat(10_000)))).collect();
    let schema = json!({"anyOf": alternatives, "$defs": {"wide": {"properties": wide}}});
    let found = told(&schema, &Value::Object(value));
    assert!(
        found[0].starts_with("/r0: \"r0\" is required (in the nearest of 500 alternatives, "),
        "{found:?}"
    );
    assert!(found[0].ends_with(" of which were not looked at)"), "{found:?}");
}

#[test]
fn of_two_that_are_wrong_the_one_whose_fault_lies_deeper_is_nearer() {
    let schema = json!({"anyOf": [
        {"properties": {"filter": {"type": "string"}}},
        {"properties": {"filter": {"type": "object", "properties": {"limit": {"type": "integer"}}}}}
    ]});
    assert_eq!(
        told(&schema, &json!({"filter": {"limit": "ten"}})),
        ["/filter/limit: \"ten\" is not of type \"integer\" (in the nearest of 2 alternatives)"]
    );
}

#[test]
fn a_misspelt_property_is_told_with_what_was_meant() {
    let mut schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}, "units": {"type": "string"}}, "required": ["city"]
    });
    assert_eq!(
        told(&schema, &json!({"citty": "x", "units": "m"})),
        ["/city: \"city\" is required; \"citty\" is not a known property, did you mean \"city\"?"]
    );
    assert_eq!(told(&schema, &json!({"elsewhere": "x", "units": "m"})), ["/city: \"city\" is required"]);
    schema["additionalProperties"] = json!(false);
    assert_eq!(
        told(&schema, &json!({"citty": "x"})),
        ["/city: \"city\" is required", "/citty: \"citty\" is not a known property; did you mean \"city\"?"]
    );
    assert_eq!(
        told(&schema, &json!({"city": "x", "citty": "x"})),
        ["/citty: \"citty\" is not a known property"]
    );
}
