//! What tells one call from another: nobody can have one call approved and make another.

use ring::digest::{Context, SHA256};
use serde_json::{Map, Value};
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
pub(super) fn sorted(arguments: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_object(arguments, &mut text);
    text
}

/// Whether every number of a JSON text is read as what it says: whole numbers of 64 bits, and others of at most 15 digits.
pub(crate) fn is_exact(json: &str) -> bool {
    let (mut is_text, mut is_escaped) = (false, false);
    let outside = json.split(|letter: char| {
        if is_text {
            is_text = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            return true;
        }
        is_text = letter == '"';
        !(letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
    });
    let mut numbers =
        outside.filter(|word| word.starts_with(|first: char| first == '-' || first.is_ascii_digit()));
    numbers.all(|number| {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let digits = mantissa.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
        let is_near = exponent.parse().is_ok_and(|exponent: i32| exponent.unsigned_abs() <= 200);
        number.parse::<i64>().is_ok()
            || number.parse::<u64>().is_ok()
            || (digits <= 15 && mantissa.len() <= 40 && is_near)
    })
}

fn write_object(members: &Map<String, Value>, text: &mut String) {
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

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => write_object(members, text),
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
    fn numbers_that_are_read_as_others_are_found_outside_of_texts() {
        for exact in [
            r#"{"a": 1, "b": [-2.50, 1e10, 0, 18446744073709551615, -9223372036854775808], "c": true, "d": null}"#,
            r#"{"a": "1234567890123456789012345", "b\"12345678901234567890123": "\\"}"#,
            "0.000000123456789012345",
        ] {
            assert!(is_exact(exact), "{exact}");
        }
        for inexact in [
            r#"{"account": 1234567890123456789012345}"#,
            "[0.1234567890123456]",
            "1e400",
            "-1e-400",
            "18446744073709551616",
            r#"{"a\\": 12345678901234567890123}"#,
            "1e99999999999",
        ] {
            assert!(!is_exact(inexact), "{inexact}");
        }
    }

    #[test]
    fn calls_are_the_same_only_if_their_arguments_are() {
        let of = |value: Value| digest_of(&["t", &sorted(value.as_object().unwrap())]);
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
