//! What an upstream server offers, in a few words.

use serde_json::Value;

/// What it offers, or why it does not; nothing for what is no server, or is switched off.
pub(super) fn offer(upstream: &Value) -> Option<String> {
    let status = upstream.as_object()?;
    if upstream["state"] == "failing" {
        let failure = upstream["failure"].as_str().unwrap_or_default();
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
    let nothing = if upstream["state"] == "connecting" { "offers nothing yet" } else { "offers nothing" };
    Some(if counted.is_empty() { nothing.to_owned() } else { counted.join(", ") })
}

/// The state of a definition; one that is live but whose server is not there is told by the state of the server.
pub(super) fn state(tool: &Value) -> &str {
    let there = tool["upstream"]["state"].as_str().filter(|_| tool["state"] == "live");
    there.or_else(|| tool["state"].as_str()).unwrap_or("-")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_offer_is_counted() {
        let of = |state: &str, tools: u64, prompts: u64| {
            offer(
                &json!({"state": state, "tools": tools, "prompts": prompts, "resources": 0, "failure": "gone"}),
            )
        };
        assert_eq!(of("live", 8, 1).as_deref(), Some("8 tools, 1 prompt"));
        assert_eq!(of("live", 0, 0).as_deref(), Some("offers nothing"));
        assert_eq!(of("connecting", 0, 0).as_deref(), Some("offers nothing yet"));
        assert_eq!(of("failing", 3, 0).as_deref(), Some("fails: gone"));
        assert_eq!(offer(&Value::Null), None);
    }

    #[test]
    fn the_state_of_a_live_server_is_the_one_it_has_itself() {
        assert_eq!(state(&json!({"state": "live", "upstream": {"state": "connecting"}})), "connecting");
        assert_eq!(state(&json!({"state": "live", "upstream": {"state": "failing"}})), "failing");
        assert_eq!(state(&json!({"state": "disabled", "upstream": null})), "disabled");
    }
}
