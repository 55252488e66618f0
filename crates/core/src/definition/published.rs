//! The JSON Schema that is published for editors: stricter than the check of the form where the check has better words
//! later on, and for a whole file, which may hold several definitions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{AnyKind, ToolName};

/// The schema of a file, made from the schema by which one definition is checked.
pub(super) fn file_schema(checked: &Value, kinds: &[Arc<dyn AnyKind>]) -> Value {
    let mut definition = checked.clone();
    if let Some(properties) = definition.get_mut("properties").and_then(Value::as_object_mut) {
        if let Some(Value::Object(name)) = properties.get_mut("name") {
            name.insert("pattern".into(), ToolName::PATTERN.into());
        }
        for kind in kinds {
            properties.insert(kind.name().into(), kind.published_schema());
        }
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
