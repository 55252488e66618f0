//! What people see of a call before they approve of it: the request it would send and its arguments, without those that look
//! secret, and not more than anybody reads.

use std::collections::HashSet;

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
    "accesskey",
    "bearer",
];
/// Names that are secrets by themselves; within others they mean something else.
const SECRETS: &[&str] = &["pwd", "pin", "otp", "cvv", "cvc"];
/// How many `$ref`s are followed one after the other.
const MOST_REFS: usize = 16;
/// How many schemas are looked at.
const MOST_STEPS: usize = 10_000;

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
    let mut said = SaidSecrets::default();
    said.look_at(schema, schema, 0);
    let mut masked = arguments.clone();
    mask_members(&mut masked, &said, said.unnamed, 0);
    (masked != *arguments).then_some(masked)
}

/// What a schema says is secret: the names of members, wherever they stand; or something without a name.
#[derive(Default)]
struct SaidSecrets {
    names: HashSet<String>,
    unnamed: bool,
    /// How many schemas were looked at.
    steps: usize,
}

impl SaidSecrets {
    /// Looks through a schema. Whatever is deeper than anybody writes counts as secret.
    fn look_at(&mut self, schema: &Value, root: &Value, depth: usize) {
        if depth > DEEPEST || self.steps > MOST_STEPS {
            self.unnamed = true;
            return;
        }
        match schema {
            Value::Object(members) => {
                for (word, part) in members {
                    match (word.as_str(), part) {
                        ("properties", Value::Object(properties)) => {
                            for (name, part) in properties {
                                if self.is_said(part, root, 0) {
                                    self.names.insert(name.clone());
                                }
                            }
                        }
                        (
                            "items"
                            | "additionalProperties"
                            | "contains"
                            | "unevaluatedProperties"
                            | "unevaluatedItems",
                            part,
                        ) => {
                            self.unnamed |= self.is_said(part, root, 0);
                        }
                        ("prefixItems", Value::Array(parts)) => {
                            self.unnamed |= parts.iter().any(|part| self.is_said(part, root, 0));
                        }
                        ("patternProperties", Value::Object(parts)) => {
                            self.unnamed |= parts.values().any(|part| self.is_said(part, root, 0));
                        }
                        _ => {}
                    }
                    self.look_at(part, root, depth + 1);
                }
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.look_at(part, root, depth + 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Whether a schema calls what it describes a secret, by itself or by what it refers to. What takes too long to find out is one.
    fn is_said(&mut self, schema: &Value, root: &Value, followed: usize) -> bool {
        self.steps += 1;
        if followed > MOST_REFS || self.steps > MOST_STEPS {
            return true;
        }
        if schema["writeOnly"] == true || schema["format"] == "password" {
            return true;
        }
        let referred = schema["$ref"].as_str().and_then(|place| root.pointer(place.strip_prefix('#')?));
        let within =
            ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
        referred.into_iter().chain(within).any(|part| self.is_said(part, root, followed + 1))
    }
}

fn mask_members(members: &mut Map<String, Value>, said: &SaidSecrets, is_secret: bool, depth: usize) {
    for (name, member) in members {
        mask(member, said, is_secret || said.names.contains(name) || is_secretive(name), depth + 1);
    }
}

fn mask(value: &mut Value, said: &SaidSecrets, is_secret: bool, depth: usize) {
    let is_secret = is_secret || depth > DEEPEST;
    match value {
        Value::Object(members) => mask_members(members, said, is_secret, depth),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, said, is_secret, depth + 1)),
        Value::String(_) | Value::Number(_) if is_secret => *value = MASK.into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secretive(name: &str) -> bool {
    let plain: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    SECRETS.contains(&plain.as_str())
        || (SECRETIVE.iter().any(|word| plain.contains(word)) && !plain.ends_with("tokens"))
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
            "code": {"type": "string", "writeOnly": true},
            "who": {"properties": {"door": {"$ref": "#/$defs/hidden"}}},
            "one": {"oneOf": [{"type": "integer", "writeOnly": true}, {"type": "null"}]}
        }, "$defs": {"hidden": {"allOf": [{"format": "password"}]}}});
        let given = object(json!({
            "code": "1234", "who": {"name": "anna", "door": 4815}, "one": 42, "API_Key": "k", "max_tokens": 5,
            "accessToken": {"value": "t"}, "pwd": 7, "amount": 7
        }));
        let expected = json!({
            "code": "***", "who": {"name": "anna", "door": "***"}, "one": "***", "API_Key": "***", "max_tokens": 5,
            "accessToken": {"value": "***"}, "pwd": "***", "amount": 7
        });
        assert_eq!(Value::Object(masked(&given, &schema).unwrap()), expected);
        assert_eq!(masked(&object(json!({"amount": 7, "to": "anna"})), &schema), None);
    }

    #[test]
    fn where_a_secret_has_no_name_everything_is_one() {
        for schema in [
            json!({"properties": {"list": {"items": {"writeOnly": true}}}}),
            json!({"additionalProperties": {"format": "password"}}),
            json!({"patternProperties": {"^x": {"writeOnly": true}}}),
            json!({"properties": {"a": {"prefixItems": [{"writeOnly": true}]}}}),
            json!({"properties": {"a": {"$ref": "#/properties/a"}}}),
        ] {
            let shown = masked(&object(json!({"a": ["s"], "x1": 5})), &schema);
            let expected = if schema["properties"]["a"]["$ref"].is_string() {
                json!({"a": ["***"], "x1": 5})
            } else {
                json!({"a": ["***"], "x1": "***"})
            };
            assert_eq!(shown.map(Value::Object), Some(expected), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_leads_everywhere_again_and_again_costs_little() {
        let again: Vec<Value> = (0..10).map(|_| json!({"$ref": "#"})).collect();
        let schema = json!({"allOf": again, "properties": {"a": {"$ref": "#"}}});
        let mut said = SaidSecrets::default();
        said.look_at(&schema, &schema, 0);
        assert!(said.steps < 2 * MOST_STEPS && masked(&object(json!({"a": "s"})), &schema).is_some());
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
