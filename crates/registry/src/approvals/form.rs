//! The client's own user is asked: a form with yes or no, and why.

use serde_json::{Map, Value, json};
use toolrail_core::Question;

/// The most characters of a request that stand in a form.
const MOST_CHARACTERS: usize = 4_000;
/// The most characters of a reason that are kept.
const LONGEST_REASON: usize = 500;

/// How the user answered.
pub(super) struct FormAnswer {
    pub(super) approves: bool,
    pub(super) reason: Option<String>,
}

/// Whether a client can show forms: it says nothing of modes, or names this one.
pub(super) fn can_be_shown(capabilities: &Value) -> bool {
    let declared = capabilities.get("elicitation").and_then(Value::as_object);
    declared.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// The form.
pub(super) fn question(tool: &str, message: Option<&str>, shown: &Value) -> Question {
    let request = serde_json::to_string_pretty(shown).unwrap_or_default();
    let mut text = format!("May {tool} be called? This is what it would send:\n\n{request}");
    if let Some((end, _)) = text.char_indices().nth(MOST_CHARACTERS) {
        text.truncate(end);
        text.push_str("…\n\nThere is more than is shown here.");
    }
    if let Some(message) = message {
        text = format!("{message}\n\n{text}");
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "approve": {"type": "boolean", "title": "Approve", "description": "Whether this call may be made, once"},
            "reason": {"type": "string", "title": "Why", "description": "Kept in the audit record", "maxLength": LONGEST_REASON}
        },
        "required": ["approve"]
    });
    let params = json!({"message": text, "requestedSchema": schema});
    Question { method: "elicitation/create".to_owned(), params }
}

/// What was filled in. Whoever goes away without an answer has not approved.
pub(super) fn read(answer: Option<&Value>) -> FormAnswer {
    let action = answer.and_then(|answer| answer["action"].as_str()).unwrap_or_default();
    let content = answer.and_then(|answer| answer["content"].as_object());
    let nothing = Map::new();
    let content = content.unwrap_or(&nothing);
    let approves = action == "accept" && content.get("approve") == Some(&Value::Bool(true));
    FormAnswer { approves, reason: content.get("reason").and_then(Value::as_str).and_then(reason_of) }
}

/// A reason as it is kept: plain and short; nothing if nothing is said.
pub(super) fn reason_of(said: &str) -> Option<String> {
    let plain = |letter: &char| !letter.is_control() || *letter == '\n';
    let reason: String = said.trim().chars().filter(plain).take(LONGEST_REASON).collect();
    (!reason.is_empty()).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_approves() {
        let read = |answer: Value| read(Some(&answer));
        assert!(read(json!({"action": "accept", "content": {"approve": true}})).approves);
        for no in [
            json!({"action": "accept", "content": {"approve": false}}),
            json!({"action": "accept", "content": {"approve": "true"}}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept"}),
            json!({"action": "decline", "content": {"approve": true}}),
            json!({"action": "cancel"}),
            json!(null),
            json!([]),
        ] {
            assert!(!read(no.clone()).approves, "{no}");
        }
        let said =
            read(json!({"action": "accept", "content": {"approve": true, "reason": " as agreed\u{7} "}}));
        assert_eq!(said.reason.as_deref(), Some("as agreed"));
    }

    #[test]
    fn a_form_needs_a_client_that_shows_forms() {
        for can in [json!({"elicitation": {}}), json!({"elicitation": {"form": {}, "url": {}}})] {
            assert!(can_be_shown(&can), "{can}");
        }
        for cannot in
            [json!({}), json!({"elicitation": {"url": {}}}), json!({"elicitation": true}), json!(null)]
        {
            assert!(!can_be_shown(&cannot), "{cannot}");
        }
    }

    #[test]
    fn a_form_stays_something_to_read() {
        let shown = json!({"request": "ü".repeat(100_000)});
        let question = question("pay", Some("Sends money"), &shown);
        let text = question.params["message"].as_str().unwrap();
        assert!(text.starts_with("Sends money\n") && text.contains("May pay be called?"));
        assert!(text.chars().count() < MOST_CHARACTERS + 200 && text.ends_with("more than is shown here."));
    }
}
