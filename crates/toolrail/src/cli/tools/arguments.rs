//! The arguments of a call as given on the command line: `--args` for all of them, `--arg name=value` for one.

use std::io::Read;

use anyhow::Context;
use serde_json::{Map, Value};

use crate::cli::Hinted;

/// Everything given, later words before earlier ones. `schema` is the tool's input schema, to tell text from JSON.
pub(super) fn collect(
    whole: Option<&str>,
    single: &[String],
    schema: &Value,
) -> anyhow::Result<Map<String, Value>> {
    let mut arguments = whole.map(read_whole).transpose()?.unwrap_or_default();
    for word in single {
        let Some((name, text)) = word.split_once('=') else {
            return Err(Hinted::usage(
                format!("--arg {word} has no value"),
                format!("write it like --arg {word}=VALUE"),
            ));
        };
        arguments.insert(name.to_owned(), value_of(text, &schema["properties"][name]));
    }
    Ok(arguments)
}

/// `{…}`, `@file` or `-` for standard input.
fn read_whole(word: &str) -> anyhow::Result<Map<String, Value>> {
    let text = if word == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("--args - cannot read standard input")?;
        text
    } else if let Some(file) = word.strip_prefix('@') {
        std::fs::read_to_string(file).with_context(|| format!("--args @{file} cannot be read"))?
    } else {
        word.to_owned()
    };
    let misused = |fault: String| Hinted::usage(fault, "write it like --args '{\"city\": \"Paris\"}'");
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(misused("--args must be a JSON object".to_owned())),
        Err(error) => Err(misused(format!("--args is not valid JSON: {error}"))),
    }
}

/// The value as JSON where it is JSON, unless the schema wants a text.
fn value_of(text: &str, property: &Value) -> Value {
    if property["type"] == "string" {
        return Value::String(text.to_owned());
    }
    match serde_json::from_str(text) {
        Ok(Value::String(_)) | Err(_) => Value::String(text.to_owned()),
        Ok(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_json_unless_the_schema_wants_a_text() {
        let schema = json!({"properties": {"zip": {"type": "string"}, "count": {"type": "integer"}}});
        let given = [
            "zip=01234",
            "count=3",
            "tags=[\"a\"]",
            "plain=hello world",
            "flag=true",
            "quoted=\"x\"",
            "empty=",
        ];
        let given: Vec<String> = given.map(str::to_owned).into();
        let arguments = collect(Some("{\"count\": 1, \"kept\": null}"), &given, &schema).unwrap();
        let expected = json!({
            "count": 3, "kept": null, "zip": "01234", "tags": ["a"], "plain": "hello world", "flag": true,
            "quoted": "\"x\"", "empty": ""
        });
        assert_eq!(Value::Object(arguments), expected);
    }

    #[test]
    fn what_is_no_argument_is_told() {
        assert!(collect(None, &["city".into()], &Value::Null).is_err());
        assert!(collect(Some("[1]"), &[], &Value::Null).is_err());
    }
}
