//! The JSON Schema that is published for editors: stricter than the check of the form where the check has better words
//! later on, and for a whole file, which may hold several definitions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{AnyKind, METADATA, ToolName};

/// The schema of a file, made from the schema by which one definition is checked.
pub(super) fn file_schema(checked: &Value, kinds: &[Arc<dyn AnyKind>]) -> Value {
    let mut definition = checked.clone();
    if let Some(properties) = definition.get_mut("properties").and_then(Value::as_object_mut) {
        for kind in kinds {
            properties.insert(kind.name().into(), kind.published_schema());
        }
    }
    if let Some(members) = definition.as_object_mut() {
        members.extend(names());
    }
    let dialect = definition.as_object_mut().and_then(|members| members.shift_remove("$schema"));
    let one = json!({"$ref": "#/$defs/definition"});
    json!({
        "$schema": dialect,
        "title": "Toolrail tool definitions",
        "description": "One definition, a list of them, or a list under \"tools\".",
        "anyOf": [
            one,
            {"type": "array", "items": one},
            {
                "type": "object",
                "properties": {"$schema": {"type": "string"}, "tools": {"type": "array", "items": one}},
                "required": ["tools"],
                "additionalProperties": false
            }
        ],
        "$defs": {"definition": definition}
    })
}

/// What names may be: any for tools that are only described, letters of any script for others.
fn names() -> [(String, Value); 3] {
    let name = |pattern: &str| json!({"properties": {"name": {"pattern": pattern}}});
    let says_so = json!({"properties": {"type": {"const": METADATA}}, "required": ["type"]});
    let described = json!({"anyOf": [says_so, {"required": [METADATA]}]});
    [
        ("if".to_owned(), described),
        ("then".to_owned(), name(ToolName::DESCRIBED_PATTERN)),
        ("else".to_owned(), name(ToolName::DEFINED_PATTERN)),
    ]
}
