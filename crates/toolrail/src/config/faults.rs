//! Finds every fault of a file at once: each key is tried on its own, so that one does not hide the next.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolrail_core::did_you_mean;

use super::keys::keys_of;
use super::{ConfigFile, endpoints, search, semantic, services};

/// Everything that is wrong with the file.
pub(super) fn of_file(members: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, value) in members {
        match (key.as_str(), value) {
            ("listing", value) => faults.extend(endpoints::listing_faults("/listing", value)),
            ("groups", value) => faults.extend(endpoints::group_faults(value)),
            ("services", Value::Object(services)) => faults.extend(services::faults(services)),
            ("search", Value::Object(members)) => {
                faults.extend(of_search(members));
            }
            ("vars" | "secrets", Value::Object(entries)) => faults.extend(of_entries(key, entries)),
            _ => faults.extend(of_key(key, value)),
        }
    }
    faults
}

fn of_search(members: &Map<String, Value>) -> Vec<String> {
    let mut members = members.clone();
    let block = match members.get("semantic") {
        Some(Value::Object(_)) => members.remove("semantic"),
        _ => None,
    };
    let mut faults = of_members::<search::SearchFile>("/search", &members);
    if let Some(Value::Object(block)) = block {
        let place = "/search/semantic";
        faults.extend(of_members::<semantic::SemanticFile>(place, &block));
        faults.extend(semantic::faults(&block));
    }
    faults
}

/// Everything that is wrong with the entries of a mapping of names, each tried on its own.
fn of_entries(key: &str, entries: &Map<String, Value>) -> Vec<String> {
    let fault = |(name, value): (&String, &Value)| {
        let error = serde_json::from_value::<ConfigFile>(alone(key, &alone(name, value))).err()?.to_string();
        // The place says the name.
        let fault = error
            .strip_prefix(name.as_str())
            .map_or(error.as_str(), |rest| rest.trim_start_matches([':', ' ']));
        Some(format!("/{key}/{}: {}", step(name), in_plain_words(fault)))
    };
    entries.iter().filter_map(fault).collect()
}

fn of_key(key: &str, value: &Value) -> Option<String> {
    if let Some(fault) = unknown(key, keys_of::<ConfigFile>()) {
        return Some(format!("/{key}: {fault}"));
    }
    match serde_json::from_value::<ConfigFile>(alone(key, value)) {
        Err(error) => Some(format!("/{key}: {}", in_plain_words(&error.to_string()))),
        Ok(file) => file.out_of_range().map(|fault| format!("/{key}: {fault}")),
    }
}

/// Everything that is wrong with a mapping that stands at `place` and is read into `T`.
pub(super) fn of_members<T: DeserializeOwned>(place: &str, members: &Map<String, Value>) -> Vec<String> {
    let fault = |(key, value): (&String, &Value)| {
        let alone = || serde_json::from_value::<T>(alone(key, value)).err();
        let alone = || alone().map(|error| in_plain_words(&error.to_string()));
        let fault = unknown(key, keys_of::<T>()).or_else(alone)?;
        Some(format!("{place}/{}: {fault}", step(key)))
    };
    members.iter().filter_map(fault).collect()
}

/// What the parser says, in words that are not its own.
fn in_plain_words(error: &str) -> String {
    let variant = error.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "));
    if let Some((word, known)) = variant {
        let known = known.trim_start_matches("one of ").replace(" or ", ", ").replace('`', "");
        return format!("{word:?} is not known; known are {known}");
    }
    let rest = error.strip_prefix("invalid type: ").or_else(|| error.strip_prefix("invalid value: "));
    let Some((found, expected)) = rest.and_then(|rest| rest.split_once(", expected ")) else {
        return error.to_owned();
    };
    let expected = match expected {
        "a sequence" => "a list",
        "a string" | "path string" => "a text",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 at least",
        "a map" => "a mapping",
        other if other.starts_with("struct ") => "a mapping",
        other => other,
    };
    let found = match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some((_, value)) => value.trim_start_matches("point ").replace('`', ""),
        None if found == "sequence" => "a list".to_owned(),
        None if found == "map" => "a mapping".to_owned(),
        None => found.to_owned(),
    };
    format!("must be {expected}, not {found}")
}

fn alone(key: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value.clone())]))
}

fn unknown(key: &str, keys: &[&str]) -> Option<String> {
    if keys.contains(&key) {
        return None;
    }
    let hint = did_you_mean(key, keys.iter().copied());
    let hint = hint.map(|question| format!("; {question}")).unwrap_or_default();
    Some(format!("unknown key{hint}; known are {}", keys.join(", ")))
}

/// A key as a step of a JSON pointer.
pub(super) fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
