//! What people see of a call before they approve of it: the request it would send and its arguments, without those that look
//! secret, and not more than anybody reads.

use serde_json::{Map, Value, json};
use toolrail_core::{MASK, Preview};

/// The most bytes of all that is shown.
const MOST_BYTES: usize = 12 * 1024;
/// How deep arguments are looked through for secrets; what lies deeper is left out.
const DEEPEST: usize = 32;
/// What the names of secrets have in them.
const SECRETIVE: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "credential",
    "authorization",
];

/// The request and the arguments of a call.
pub(crate) fn shown(preview: &Preview, arguments: &Map<String, Value>) -> Value {
    let whole = json!({"request": preview.request, "notes": preview.notes, "arguments": arguments});
    if fits(&whole) {
        return whole;
    }
    let without = json!({"request": preview.request, "notes": ["the arguments are too long to be shown"]});
    if fits(&without) {
        return without;
    }
    let mut text = preview.request.to_string();
    let bytes = text.len();
    text.truncate(text.floor_char_boundary(MOST_BYTES / 2));
    let note =
        format!("the request is too long to be shown: it has {bytes} bytes, and this is how it begins");
    json!({"request": format!("{text}…"), "notes": [note]})
}

fn fits(value: &Value) -> bool {
    value.to_string().len() <= MOST_BYTES
}

/// The arguments without what the schema calls `writeOnly` or a password, and what has the name of a secret; nothing if there
/// is no such.
pub(crate) fn masked(arguments: &Map<String, Value>, schema: &Value) -> Option<Map<String, Value>> {
    let mut masked = arguments.clone();
    mask_members(&mut masked, schema, false, 0);
    (masked != *arguments).then_some(masked)
}

fn mask_members(members: &mut Map<String, Value>, schema: &Value, is_secret: bool, depth: usize) {
    for (name, member) in members {
        mask(member, &schema["properties"][name], is_secret || is_secretive(name), depth + 1);
    }
}

fn mask(value: &mut Value, schema: &Value, is_secret: bool, depth: usize) {
    let is_said = schema["writeOnly"] == true || schema["format"] == "password";
    let is_secret = is_secret || is_said || depth > DEEPEST;
    match value {
        Value::String(text) if is_secret => MASK.clone_into(text),
        Value::Object(members) => mask_members(members, schema, is_secret, depth),
        Value::Array(items) => {
            for item in items {
                mask(item, &schema["items"], is_secret, depth + 1);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secretive(name: &str) -> bool {
    let plain: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    SECRETIVE.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn what_looks_secret_is_masked_and_nothing_else() {
        let schema = json!({"properties": {
            "pin": {"type": "string", "writeOnly": true},
            "who": {"properties": {"code": {"format": "password"}}},
            "list": {"items": {"writeOnly": true}}
        }});
        let given = object(json!({
            "pin": "1234", "who": {"name": "anna", "code": "x"}, "list": ["a"], "API_Key": "k", "max_tokens": 5,
            "accessToken": {"value": "t"}, "amount": 7
        }));
        let expected = json!({
            "pin": "***", "who": {"name": "anna", "code": "***"}, "list": ["***"], "API_Key": "***", "max_tokens": 5,
            "accessToken": {"value": "***"}, "amount": 7
        });
        assert_eq!(Value::Object(masked(&given, &schema).unwrap()), expected);
        assert_eq!(masked(&object(json!({"amount": 7, "to": "anna"})), &schema), None);
    }

    #[test]
    fn what_is_shown_is_short() {
        let preview = |request| Preview { request, values: Vec::new(), notes: Vec::new() };
        let small = shown(&preview(json!({"url": "http://x"})), &object(json!({"a": 1})));
        assert_eq!(small, json!({"request": {"url": "http://x"}, "notes": [], "arguments": {"a": 1}}));
        let long = "ü".repeat(100_000);
        for cut in [
            shown(&preview(json!({"url": "http://x"})), &object(json!({"a": long}))),
            shown(&preview(json!({"url": long})), &object(json!({"a": long}))),
        ] {
            assert!(fits(&cut) && cut["notes"][0].as_str().unwrap().contains("too long"), "{cut}");
        }
    }
}
