//! What tells one call from another: nobody can have one call approved and make another.

use ring::digest::{Context, SHA256};
use serde_json::Value;
use toolrail_core::hexadecimal;

/// The digest of some texts, each with its length, so that none can flow into another.
pub(super) fn digest_of(parts: &[&str]) -> String {
    let mut hash = Context::new(&SHA256);
    for part in parts {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(hash.finish().as_ref())
}

/// Arguments as text that is the same however their keys are ordered.
pub(super) fn sorted(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in members {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_the_same_only_if_their_arguments_are() {
        let of = |value: Value| digest_of(&["t", &sorted(&value)]);
        assert_eq!(
            of(json!({"a": 1, "b": {"c": [1, 2], "d": null}})),
            of(json!({"b": {"d": null, "c": [1, 2]}, "a": 1}))
        );
        for other in
            [json!({"a": "1"}), json!({"a": [1]}), json!({"a": 1, "b": 1}), json!({"a": 1.5}), json!({})]
        {
            assert_ne!(of(json!({"a": 1})), of(other));
        }
        assert_ne!(digest_of(&["ab", "c"]), digest_of(&["a", "bc"]));
    }
}
