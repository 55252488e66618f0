//! Definitions become tools: arguments, schemas, faults, pages.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{ErrorCode, Payload};
use toolrail_registry::{Era, FixedSource, List, SourceId};

use crate::support::{call, files, names, no_rows, registry, tool};

#[tokio::test(flavor = "multi_thread")]
async fn arguments_get_their_defaults_and_are_checked() {
    let source = FixedSource::new(SourceId::Demo, "fixed", vec![tool("a", "d")]);
    let registry = registry(no_rows(), vec![Arc::new(source)], 10);
    registry.refresh().await;
    let Payload::Json(answer) = call(&registry, "A", "{}").await.unwrap().payload else { unreachable!() };
    assert_eq!(answer.text(), r#"{"n":7}"#);
    let refused = call(&registry, "a", r#"{"n":"x"}"#).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArguments);
    assert!(refused.message.contains("/n"), "{refused}");
}

/// R92: without an input schema, the arguments a path needs are required and nothing else is checked.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_input_schema_is_derived_from_the_templates() {
    let definition = json!({"name": "a", "description": "d", "echo": {"needs": "id"}});
    let registry =
        registry(no_rows(), vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", vec![definition]))], 10);
    registry.refresh().await;
    assert!(call(&registry, "a", r#"{"id":1,"more":true}"#).await.is_ok());
    assert!(call(&registry, "a", "{}").await.unwrap_err().message.contains("\"id\" is required"));
}

#[track_caller]
fn check_told(document: &Value, expected: &[&str]) {
    let told: Vec<_> = registry(no_rows(), Vec::new(), 10)
        .intake()
        .check(document)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for words in expected {
        assert!(told.iter().any(|text| text.contains(words)), "{words} in {told:#?}");
    }
}

#[test]
fn an_input_schema_that_contradicts_itself_or_the_templates_is_told() {
    let with = |schema: Value, needs: &str| json!({"name": "a", "description": "d", "echo": {"needs": needs, "only": true}, "inputSchema": schema});
    let text = || json!({"type": "string", "description": "d"});
    check_told(
        &with(json!({"properties": {"city": text(), "day": text()}, "required": ["city", "day"]}), "day"),
        &["warning in a at /inputSchema/properties/city: the argument \"city\" is used nowhere"],
    );
    check_told(
        &with(json!({"properties": {"city": text(), "day": text()}, "required": ["day"]}), "day"),
        &[],
    );
    check_told(
        &json!({"name": "a", "description": "d", "echo": {}, "inputSchema": {"properties": {"city": text()}, "required": ["city"]}}),
        &[],
    );
    check_told(
        &with(json!({"properties": {"day": text()}, "required": ["day", "dy"]}), "day"),
        &["warning in a at /inputSchema/required: \"dy\" is not in \"properties\"; did you mean \"day\"?"],
    );
    let defaults = json!({
        "properties": {
            "day": text(),
            "n": {"type": "integer", "description": "d", "default": "x"},
            "a/b": {"$ref": "#/$defs/list", "description": "d", "default": [1, "y"]},
            "fine": {"type": ["integer", "null"], "description": "d", "default": null}
        },
        "required": ["day"], "$defs": {"list": {"items": {"type": "integer"}}}
    });
    check_told(
        &with(defaults, "day"),
        &[
            "error in a at /inputSchema/properties/n/default: the default does not fit",
            "error in a at /inputSchema/properties/a~1b/default/1: the default does not fit",
        ],
    );
    check_told(
        &with(json!({"city": "string", "day": {"type": "string"}}), "day"),
        &[
            "error in a at /inputSchema/city: \"city\" is no JSON Schema keyword",
            "error in a at /inputSchema/day: \"day\" is no JSON Schema keyword",
            "args.day is not a property",
        ],
    );
    check_told(
        &with(
            json!({"properties": {"day": {"type": "strng", "description": "d"}}, "required": ["day"]}),
            "day",
        ),
        &[
            "error in a at /inputSchema/properties/day/type: not a valid JSON Schema here: \"strng\" is not one of",
        ],
    );
}

/// R26, R36: the first definition of a name wins, and the second is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_definition_never_stops_the_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("1.json"),
        json!([tool("a", "first"), {"name": "bad", "echo": {"x": 1}}]).to_string(),
    )
    .unwrap();
    fs::write(folder.path().join("2.json"), json!([tool("A", "second"), tool("c", "d")]).to_string())
        .unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["a", "c"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entry("bad").unwrap().state(), "broken");
    let told: Vec<_> = snapshot.problems().map(ToString::to_string).collect();
    assert!(told.iter().any(|text| text.contains("is taken by 1.json#/0")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("/echo/x")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged_in_a_fixed_order_and_cursors_survive_changes() {
    let tools = (0..7).map(|number| tool(&format!("t{number}"), "d")).collect();
    let registry = registry(no_rows(), vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", tools))], 3);
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = snapshot.page(List::Tools, Era::Modern, after.as_deref());
        let listed: Vec<Value> = serde_json::from_slice(&page.entries).unwrap();
        seen.extend(listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        after = page.next_after;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
    let odd: Vec<Value> =
        serde_json::from_slice(&snapshot.page(List::Tools, Era::Modern, Some("t3x")).entries).unwrap();
    assert_eq!(odd[0]["name"], "t4");
    assert_eq!(snapshot.page(List::Tools, Era::Legacy, Some("zzz")).entries, "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_schema_that_is_no_object_is_wrapped_for_legacy_clients() {
    let mut definition = tool("a", "d");
    definition["outputSchema"] = json!({"type": "array"});
    let registry =
        registry(no_rows(), vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", vec![definition]))], 3);
    registry.refresh().await;
    let list = |era| {
        serde_json::from_slice::<Value>(&registry.snapshot().page(List::Tools, era, None).entries).unwrap()
    };
    assert_eq!(list(Era::Modern)[0]["outputSchema"], json!({"type": "array"}));
    assert_eq!(list(Era::Legacy)[0]["outputSchema"]["properties"]["result"], json!({"type": "array"}));
    let refused = call(&registry, "a", "{}").await.unwrap_err();
    assert!(refused.message.contains("does not fit the output schema"), "{refused}");
}
