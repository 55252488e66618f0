//! Finds every fault of a file at once: each key, and each item of a list, is tried on its own, so that one does not hide the
//! next.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::keys::keys_of;
use super::wording::{fault, in_plain_words, step, unknown_key};
use super::{ConfigFile, broker, endpoints, issuers, permissions, search, secrets, semantic, services, tls};

/// Everything that is wrong with the file.
pub(super) fn of_file(members: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, value) in members {
        faults.extend(match (key.as_str(), value) {
            ("listing", value) => endpoints::listing_faults("/listing", value),
            ("groups", value) => endpoints::group_faults(value),
            ("services", Value::Object(services)) => services::faults(services),
            ("permissions", document) => permissions::faults(document),
            ("broker", Value::Object(_)) => broker::faults(value, members.get("publicUrl")),
            ("issuers", Value::Array(list)) => issuers::faults(list, members.contains_key("publicUrl")),
            ("secrets", Value::Object(bindings)) => secrets::faults(bindings),
            ("search", Value::Object(members)) => of_search(members),
            ("tls" | "adminTls", Value::Object(members)) => tls::faults(&format!("/{key}"), members),
            ("vars", Value::Object(variables)) => of_variables(variables),
            _ => of_key(key, value),
        });
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

fn of_variables(variables: &Map<String, Value>) -> Vec<String> {
    let told = |(name, value): (&String, &Value)| {
        let error =
            serde_json::from_value::<ConfigFile>(alone("vars", &alone(name, value))).err()?.to_string();
        // The place says the name.
        let words = error.strip_prefix(name.as_str()).map_or(error.as_str(), str::trim_start);
        Some(fault(&format!("/vars/{}", step(name)), words))
    };
    variables.iter().filter_map(told).collect()
}

fn of_key(key: &str, value: &Value) -> Vec<String> {
    if !keys_of::<ConfigFile>().contains(&key) {
        return vec![fault(&format!("/{}", step(key)), &unknown_key(key, keys_of::<ConfigFile>()))];
    }
    let wrong = |value: &Value| match serde_json::from_value::<ConfigFile>(alone(key, value)) {
        Err(error) => Some(in_plain_words(&error.to_string())),
        Ok(file) => file.out_of_range(),
    };
    of_value(&format!("/{key}"), value, wrong)
}

/// Everything that is wrong with a mapping that stands at `place` and is read into `T`.
pub(super) fn of_members<T: DeserializeOwned>(place: &str, members: &Map<String, Value>) -> Vec<String> {
    let keys = keys_of::<T>();
    let of_member = |(key, value): (&String, &Value)| {
        let place = format!("{place}/{}", step(key));
        if !keys.contains(&key.as_str()) {
            return vec![fault(&place, &unknown_key(key, keys))];
        }
        let wrong = |value: &Value| {
            let error = serde_json::from_value::<T>(alone(key, value)).err()?;
            Some(in_plain_words(&error.to_string()))
        };
        of_value(&place, value, wrong)
    };
    members.iter().flat_map(of_member).collect()
}

/// What is `wrong` with a value; of a list, with each of its items.
fn of_value(place: &str, value: &Value, wrong: impl Fn(&Value) -> Option<String>) -> Vec<String> {
    let items = match value {
        // Where no list may stand, its items are not what is wrong.
        Value::Array(items) if wrong(&Value::Array(Vec::new())).is_none() => items.as_slice(),
        _ => &[],
    };
    let of_item = |(index, item): (usize, &Value)| {
        wrong(&Value::Array(vec![item.clone()])).map(|words| fault(&format!("{place}/{index}"), &words))
    };
    let of_items: Vec<String> = items.iter().enumerate().filter_map(of_item).collect();
    if of_items.is_empty() {
        return wrong(value).map(|words| fault(place, &words)).into_iter().collect();
    }
    of_items
}

fn alone(key: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value.clone())]))
}
