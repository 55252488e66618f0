//! What an upstream server offers, in a few words.

use serde_json::Value;

/// What it offers, or why it does not; nothing for what is no server, or is switched off.
pub(super) fn offer(upstream: &Value) -> Option<String> {
    let status = upstream.as_object()?;
    if let Some(failure) = status.get("failure").and_then(Value::as_str) {
        return Some(format!("fails: {failure}"));
    }
    let counted = ["tools", "prompts", "resources", "templates"].iter().filter_map(|sort| {
        match status.get(*sort).and_then(Value::as_u64)? {
            0 => None,
            1 => Some(format!("1 {}", sort.trim_end_matches('s'))),
            count => Some(format!("{count} {sort}")),
        }
    });
    let counted: Vec<String> = counted.collect();
    // One that was asked just now may not have answered.
    Some(if counted.is_empty() { "offers nothing yet".to_owned() } else { counted.join(", ") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_offer_is_counted() {
        let of = |tools: u64, prompts: u64| {
            offer(&json!({"name": "a", "tools": tools, "prompts": prompts, "resources": 0, "templates": 0}))
        };
        assert_eq!(of(8, 1).as_deref(), Some("8 tools, 1 prompt"));
        assert_eq!(of(0, 0).as_deref(), Some("offers nothing yet"));
        assert_eq!(offer(&json!({"tools": 3, "failure": "gone"})).as_deref(), Some("fails: gone"));
        assert_eq!(offer(&Value::Null), None);
    }
}
