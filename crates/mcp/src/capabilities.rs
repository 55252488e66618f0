//! What the server can do, as `initialize` and `server/discover` tell it.

use serde_json::{Map, Value, json};
use toolrail_protocol::meta::TASKS;
use toolrail_protocol::revision::{V2024_11_05, V2025_11_25};

/// For clients of 2026-07-28 and newer.
pub(crate) fn modern() -> Value {
    let mut capabilities = common();
    capabilities.insert("completions".into(), json!({}));
    capabilities.insert("extensions".into(), json!({TASKS: {}}));
    Value::Object(capabilities)
}

/// For clients of a revision that `initialize` settled.
pub(crate) fn legacy(revision: &str) -> Value {
    let mut capabilities = common();
    if revision != V2024_11_05 {
        capabilities.insert("completions".into(), json!({}));
    }
    if revision == V2025_11_25 {
        // Tools of upstream servers say each by itself whether they can be called as tasks.
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        capabilities.insert("tasks".into(), tasks);
    }
    Value::Object(capabilities)
}

fn common() -> Map<String, Value> {
    let mut capabilities = Map::new();
    capabilities.insert("tools".into(), json!({"listChanged": true}));
    capabilities.insert("prompts".into(), json!({"listChanged": true}));
    capabilities.insert("resources".into(), json!({"subscribe": true, "listChanged": true}));
    capabilities.insert("logging".into(), json!({}));
    capabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_is_told_only_what_it_knows() {
        assert_eq!(legacy("2024-11-05").get("completions"), None);
        assert_eq!(legacy("2025-03-26")["completions"], json!({}));
        assert_eq!(legacy("2025-11-25").get("extensions"), None);
        assert_eq!(legacy("2025-11-25")["tasks"]["requests"], json!({"tools": {"call": {}}}));
        assert_eq!(legacy("2025-06-18").get("tasks"), None);
        assert_eq!(modern()["extensions"][TASKS], json!({}));
    }
}
