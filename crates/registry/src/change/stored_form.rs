//! A stored definition as one JSON value, its switch included, so that versions can be compared.

use serde_json::{Map, Value, json};
use toolrail_core::{Row, Version, VersionKind};

/// The definition with `enabled` as it counts: off if either the store or the document says so. What is no JSON object
/// stands as it is under `definition`.
pub fn stored_form(enabled: bool, config_json: &str) -> Value {
    match serde_json::from_str(config_json) {
        Ok(Value::Object(mut members)) => {
            let word = members.shift_remove("enabled");
            let counts = enabled && word.is_none_or(|word| word != Value::Bool(false));
            members.insert("enabled".to_owned(), counts.into());
            Value::Object(members)
        }
        Ok(other) => json!({"enabled": enabled, "definition": other}),
        Err(_) => json!({"enabled": enabled, "definition": config_json}),
    }
}

/// A row in that form.
pub(crate) fn form_of_row(row: &Row) -> Value {
    stored_form(row.enabled, &row.config_json)
}

/// A version in that form; nothing if the definition was removed with it.
pub(crate) fn form_of_version(version: &Version) -> Option<Value> {
    (version.kind != VersionKind::Removed).then(|| stored_form(version.enabled, &version.config_json))
}

/// A document in a table need not repeat the name that stands beside it; one in a file must.
pub(crate) fn named(mut form: Value, name: &str) -> Value {
    if let Some(members) = form.as_object_mut().filter(|members| !members.contains_key("definition")) {
        members.entry("name").or_insert_with(|| name.into());
    }
    form
}

/// Whether two definitions differ in nothing but the switch.
pub(crate) fn same_but_switch(one: &Value, other: &Value) -> bool {
    let without = |form: &Value| -> Option<Map<String, Value>> {
        let mut members = form.as_object()?.clone();
        members.shift_remove("enabled");
        Some(members)
    };
    without(one) == without(other)
}

/// The definition as JSON, or as the text it is where another program wrote something else.
pub fn document_of(config_json: &str) -> Value {
    serde_json::from_str(config_json).unwrap_or_else(|_| Value::String(config_json.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_off_if_either_word_says_so_and_the_order_of_members_does_not_matter() {
        let on = stored_form(true, r#"{"name":"a","x":1}"#);
        assert_eq!(on, stored_form(true, r#"{"x":1,"enabled":true,"name":"a"}"#));
        let off = stored_form(true, r#"{"name":"a","enabled":false,"x":1}"#);
        assert_eq!(off["enabled"], false);
        assert!(on != off && same_but_switch(&on, &off));
        assert_eq!(stored_form(true, "{nonsense")["definition"], "{nonsense");
        assert_eq!(stored_form(true, "[1]")["definition"], json!([1]));
    }
}
