//! Finds every fault of a file at once: each key is tried on its own, so that one does not hide the next.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolrail_core::closest;

use super::{ConfigFile, KEYS, endpoints, search, semantic, services};

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
    let mut faults = of_members::<search::SearchFile>("/search", &members, search::KEYS);
    if let Some(Value::Object(block)) = block {
        let place = "/search/semantic";
        faults.extend(of_members::<semantic::SemanticFile>(place, &block, semantic::KEYS));
        faults.extend(semantic::faults(&block));
    }
    faults
}

fn of_key(key: &str, value: &Value) -> Option<String> {
    if let Some(fault) = unknown(key, KEYS) {
        return Some(format!("/{key}: {fault}"));
    }
    match serde_json::from_value::<ConfigFile>(alone(key, value)) {
        Err(error) => Some(format!("/{key}: {error}")),
        Ok(file) => file.out_of_range().map(|fault| format!("/{key}: {fault}")),
    }
}

/// Everything that is wrong with a mapping that stands at `place` and has those keys.
pub(super) fn of_members<T: DeserializeOwned>(
    place: &str,
    members: &Map<String, Value>,
    keys: &[&str],
) -> Vec<String> {
    let fault = |(key, value): (&String, &Value)| {
        let alone = || serde_json::from_value::<T>(alone(key, value)).err().map(|error| error.to_string());
        let fault = unknown(key, keys).or_else(alone)?;
        Some(format!("{place}/{}: {fault}", step(key)))
    };
    members.iter().filter_map(fault).collect()
}

fn alone(key: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value.clone())]))
}

fn unknown(key: &str, keys: &[&str]) -> Option<String> {
    if keys.contains(&key) {
        return None;
    }
    let meant = closest(key, keys.iter().copied());
    let meant = meant.map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
    Some(format!("unknown key{meant}; known are {}", keys.join(", ")))
}

/// A key as a step of a JSON pointer.
pub(super) fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
