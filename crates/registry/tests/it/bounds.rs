//! What a definition or a caller can make long ends soon, and is refused with a reason.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolrail_core::ErrorCode;
use toolrail_registry::{FixedSource, Registry, SourceId};

use crate::support::{call, no_rows, registry};

/// A filter of and, or, not and leaves.
fn filter() -> Value {
    let inner = |op: &str| {
        json!({
            "type": "object",
            "properties": {"op": {"const": op}, "children": {"type": "array", "items": {"$ref": "#/$defs/filter"}}},
            "required": ["op", "children"]
        })
    };
    let leaf = json!({"type": "object", "properties": {"op": {"const": "is"}, "value": {"type": "integer"}}, "required": ["op", "value"]});
    json!({
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/filter"}},
        "$defs": {"filter": {"oneOf": [inner("and"), inner("or"), inner("not"), leaf]}}
    })
}

fn nested(leaf: Value, levels: usize) -> String {
    let filter = (0..levels).fold(leaf, |child, _| json!({"op": "and", "children": [child]}));
    json!({"filter": filter}).to_string()
}

async fn serving(definition: Value) -> Registry {
    let source = FixedSource::new(SourceId::Demo, "fixed", vec![definition]);
    let registry = registry(no_rows(), vec![Arc::new(source)], 10);
    registry.refresh().await;
    registry
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_leaf_deep_in_alternatives_is_named() {
    let definition = json!({"name": "find", "description": "d", "echo": {}, "inputSchema": filter()});
    let registry = serving(definition).await;
    let wrong = nested(json!({"op": "is", "value": "x"}), 20);
    let refused = call(&registry, "find", &wrong).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArguments);
    assert!(refused.message.contains("/value: \"x\" is not of type \"integer\""), "{refused}");
    assert!(call(&registry, "find", &nested(json!({"op": "is", "value": 1}), 20)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_with_a_wrong_leaf_is_refused_by_its_schema() {
    let definition = json!({
        "name": "find", "description": "d", "echo": {}, "inputSchema": {"type": "object"}, "outputSchema": filter()
    });
    let registry = serving(definition).await;
    let refused = call(&registry, "find", &nested(json!({"op": "is", "value": "x"}), 20)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UpstreamInvalid);
    assert!(refused.message.contains("is not of type \"integer\""), "{refused}");
}

/// A schema whose every level of the value means many levels of the schema.
fn steep() -> Value {
    let mut defs = serde_json::Map::new();
    for at in 0..8 {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        defs.insert(format!("d{at}"), (0..20).fold(next, |inner, _| json!({"allOf": [inner]})));
    }
    defs.insert("d8".into(), json!({"properties": {"a": {"$ref": "#/$defs/d0"}}}));
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_checked_is_refused_and_says_what_to_do() {
    let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner})).to_string();
    let input = serving(json!({"name": "t", "description": "d", "echo": {}, "inputSchema": steep()})).await;
    let refused = call(&input, "t", &deep).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArguments);
    assert!(refused.message.contains("input schema of t: it is nested too deeply"), "{refused}");
    let output = json!({"name": "t", "description": "d", "echo": {}, "inputSchema": {"type": "object"}, "outputSchema": steep()});
    let refused = call(&serving(output).await, "t", &deep).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UpstreamInvalid);
    assert!(refused.message.contains("output schema of t: it is nested too deeply"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_arguments_are_checked_all_the_same() {
    let schema =
        json!({"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}});
    let registry = serving(
        json!({"name": "t", "description": "d", "echo": {}, "inputSchema": schema, "outputSchema": schema}),
    )
    .await;
    let mut ids: Vec<Value> = (0..100_000).map(Value::from).collect();
    assert!(call(&registry, "t", &json!({"ids": ids}).to_string()).await.is_ok());
    ids.push(json!("x"));
    let refused = call(&registry, "t", &json!({"ids": ids}).to_string()).await.unwrap_err();
    assert!(refused.message.contains("/ids/100000: \"x\" is not of type \"integer\""), "{refused}");
}

/// Letters in no order that repeats.
fn letters(count: usize) -> String {
    let next = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(7), next)
        .map(|number| char::from(b'a' + (number >> 24) as u8 % 8))
        .take(count)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn checking_counts_in_the_time_of_a_call() {
    let schema = json!({
        "type": "object", "properties": {"text": {"type": "string", "pattern": "(.{1,50}[ab]){1,20}!"}}
    });
    let definition = |output: &Value| {
        json!({
            "name": "t", "description": "d", "echo": {}, "policy": {"timeoutMs": 300},
            "inputSchema": if output.is_null() { schema.clone() } else { json!({"type": "object"}) },
            "outputSchema": output
        })
    };
    let arguments = json!({"text": letters(400_000)}).to_string();
    let mut input = definition(&Value::Null);
    input.as_object_mut().unwrap().remove("outputSchema");
    for (definition, code) in
        [(input, ErrorCode::InvalidArguments), (definition(&schema), ErrorCode::UpstreamInvalid)]
    {
        let registry = serving(definition).await;
        // The first call compiles the pattern.
        drop(call(&registry, "t", "{}").await);
        let began = Instant::now();
        let refused = call(&registry, "t", &arguments).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_millis(1_700), "{:?}", began.elapsed());
        assert_eq!(refused.code, code, "{refused}");
        let words =
            "/text: the value could not be checked in time because of \"pattern\"; send a shorter text";
        assert!(refused.message.contains(words), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_not_end_is_ended_by_its_limit_whatever_it_waits_for() {
    let definition =
        json!({"name": "t", "description": "d", "echo": {"endless": true}, "policy": {"timeoutMs": 50}});
    let refused = call(&serving(definition).await, "t", "{}").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Timeout);
    assert!(refused.message.starts_with("t did not finish within 50 ms (policy.timeoutMs)"), "{refused}");
}

#[test]
fn a_pattern_that_can_only_be_tried_is_told() {
    let definition = json!({"name": "t", "description": "d", "echo": {}, "inputSchema": {
        "type": "object", "required": [],
        "properties": {"password": {"type": "string", "description": "d", "pattern": "^(?=.*[0-9]).{8,}$"}}
    }});
    let told = registry(no_rows(), Vec::new(), 10).intake().check(&definition);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].pointer, "/inputSchema/properties/password/pattern");
    assert!(told[0].message.contains("looks around"), "{told:?}");
}

#[test]
fn very_many_required_names_are_told_in_part() {
    let properties: serde_json::Map<_, _> = (0..8_000)
        .map(|at| (format!("declared_under_this_name_{at}"), json!({"type": "string", "description": "d"})))
        .collect();
    let required: Vec<String> = (0..8_000).map(|at| format!("required_under_that_name_{at}")).collect();
    let definition = json!({"name": "t", "description": "d", "echo": {}, "inputSchema": {
        "type": "object", "properties": properties, "required": required
    }});
    let told = registry(no_rows(), Vec::new(), 10).intake().check(&definition);
    assert!((10..300).contains(&told.len()), "{}", told.len());
}
