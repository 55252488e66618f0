//! The catalogue of RegistryTools (`tools.json`): tools by name, with nothing to call. Each becomes a definition of
//! type `metadata`; its fields keep their names, so that problems point at what stands in the file.

use serde_json::{Map, Value};

/// Whether that is such a catalogue: every member is a tool under its own name, with a description.
pub(super) fn is_catalogue(members: &Map<String, Value>) -> bool {
    let is_tool = |(name, tool): (&String, &Value)| {
        tool.get("name").and_then(Value::as_str) == Some(name.as_str()) && tool.get("description").is_some()
    };
    !members.is_empty() && members.iter().all(is_tool)
}

/// The definition of one of its tools.
pub fn definition(tool: Value) -> Value {
    let Value::Object(mut members) = tool else {
        return tool;
    };
    members.retain(|_, value| !value.is_null());
    let mut metadata = Map::new();
    for (theirs, ours) in
        [("mcp_server", "mcpServer"), ("use_frequency", "useFrequency"), ("last_used", "lastUsed")]
    {
        // Most were never used, which goes without saying.
        if let Some(value) = members.shift_remove(theirs).filter(|value| *value != 0) {
            metadata.insert(ours.to_owned(), value);
        }
    }
    // Follows from the use.
    members.shift_remove("temperature");
    if let Some(Value::Array(tags)) = members.get_mut("tags") {
        // A set there, in another order whenever it is written.
        tags.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
        if tags.is_empty() {
            members.shift_remove("tags");
        }
    }
    members.insert("type".into(), "metadata".into());
    members.insert("metadata".into(), Value::Object(metadata));
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_of_a_catalogue_becomes_a_definition() {
        let tool = json!({
            "name": "github.create_pull_request", "description": "Create a pull request", "mcp_server": "github",
            "defer_loading": true, "tags": ["pr", "git"], "category": "github", "use_frequency": 3,
            "last_used": "2026-01-02T03:04:05", "temperature": "warm", "input_schema": null, "output_schema": null,
        });
        assert_eq!(
            definition(tool),
            json!({
                "name": "github.create_pull_request", "description": "Create a pull request", "defer_loading": true,
                "tags": ["git", "pr"], "category": "github", "type": "metadata",
                "metadata": {"mcpServer": "github", "useFrequency": 3, "lastUsed": "2026-01-02T03:04:05"},
            })
        );
    }

    #[test]
    fn only_a_whole_catalogue_is_taken_for_one() {
        let is = |value: Value| is_catalogue(value.as_object().unwrap());
        assert!(is(json!({"a": {"name": "a", "description": "d"}})));
        assert!(!is(json!({})));
        assert!(!is(json!({"name": "a", "description": "d", "http": {"url": "x"}})));
        assert!(!is(json!({"a": {"name": "b", "description": "d"}})));
        assert!(!is(json!({"a": {"name": "a", "description": "d"}, "b": 1})));
    }
}
