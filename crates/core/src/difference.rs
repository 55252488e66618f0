//! How one JSON document differs from another, for people: history, audit and conflicts.

use serde::Serialize;
use serde_json::Value;

/// One place at which two documents differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// JSON pointer to the place; empty for the whole document.
    pub pointer: String,
    /// What was there, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there now, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// The places at which `after` differs from `before`, in the order of `before`, then of what is new. The order of the
/// members of an object does not matter.
pub fn differences(before: Option<&Value>, after: Option<&Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), before, after, &mut found);
    found
}

// Documents are at most as deep as the JSON reader allows, so this ends.
fn compare(pointer: String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            for (key, value) in before {
                compare(step(&pointer, key), Some(value), after.get(key), found);
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                compare(step(&pointer, key), None, Some(value), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                let place = step(&pointer, &index.to_string());
                compare(place, before.get(index), after.get(index), found);
            }
        }
        (None, None) => {}
        (before, after) => {
            found.push(Difference { pointer, before: before.cloned(), after: after.cloned() });
        }
    }
}

/// The pointer to a member of what another points to.
pub(crate) fn step(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_name_each_place_once() {
        let before = json!({"name": "t", "http": {"url": "a", "query": {"q": 1}}, "tags": ["x", "y"]});
        let after = json!({"name": "t", "http": {"query": {"q": 2}, "a/b": true}, "tags": ["x"]});
        let found = differences(Some(&before), Some(&after));
        let told: Vec<_> = found.iter().map(|one| (one.pointer.as_str(), &one.before, &one.after)).collect();
        assert_eq!(
            told,
            [
                ("/http/url", &Some(json!("a")), &None),
                ("/http/query/q", &Some(json!(1)), &Some(json!(2))),
                ("/http/a~1b", &None, &Some(json!(true))),
                ("/tags/1", &Some(json!("y")), &None),
            ]
        );
        assert_eq!(differences(Some(&before), Some(&before)), []);
        assert_eq!(differences(None, Some(&json!(1))).len(), 1);
    }
}
