//! Variables of definitions: `vars` of the configuration, and `--var NAME=VALUE`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toolrail_core::Variables;

/// Reads a mapping of names to texts, numbers or booleans, which become texts.
pub(super) fn variables<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let Some(members) = Option::<Map<String, Value>>::deserialize(from)? else {
        return Ok(None);
    };
    let one = |(name, value): (String, Value)| {
        if !Variables::is_name(&name) {
            return Err(format!("{name:?} is not the name of a variable; use letters, digits and _"));
        }
        match value {
            Value::String(text) => Ok((name, text)),
            Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                Err(format!("{name} must be a text, a number or a boolean"))
            }
        }
    };
    let read: Result<_, String> = members.into_iter().map(one).collect();
    read.map(Some).map_err(serde::de::Error::custom)
}

/// Reads `NAME=VALUE`.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if Variables::is_name(name) => Ok((name.to_owned(), value.to_owned())),
        Some((name, _)) => Err(format!("{name:?} is not the name of a variable; use letters, digits and _")),
        None => Err("write it like NAME=VALUE".to_owned()),
    }
}
