//! What a tool's entry in `tools/list` says that can be found: its title and its arguments, nested ones too, the outermost
//! first, bounded in depth and number.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The most arguments of one tool that can be found.
const MOST_PARAMETERS: usize = 64;
/// The most schemas that are looked into for them.
const MOST_SCHEMAS: usize = 256;
/// How deep arguments may be nested in arguments.
const MOST_DEPTH: u8 = 5;

/// The title and the arguments of a tool.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadEntry<'e> {
    /// Its name for people.
    pub title: Option<Cow<'e, str>>,
    /// The names and descriptions of its arguments.
    pub parameters: Vec<NamedText<'e>>,
}

/// Reads a list entry. What is not as it should be is left out.
pub fn read_entry(entry: &[u8]) -> ReadEntry<'_> {
    let Members(members) = serde_json::from_slice(entry).unwrap_or_default();
    let parameters = find(&members, "inputSchema").map(|schema| parameters_of(schema)).unwrap_or_default();
    ReadEntry { title: text_of(&members, "title"), parameters }
}

/// The JSON texts of those members of an entry; empty where there are none.
pub fn raw_members<'e, const N: usize>(entry: &'e [u8], keys: [&str; N]) -> [&'e str; N] {
    let Members(members) = serde_json::from_slice(entry).unwrap_or_default();
    keys.map(|key| find(&members, key).map(RawValue::get).unwrap_or_default())
}

/// A name and what is said of it.
pub type NamedText<'e> = (Cow<'e, str>, Option<Cow<'e, str>>);
type Schema<'e> = Vec<(Text<'e>, &'e RawValue)>;

fn parameters_of(schema: &RawValue) -> Vec<NamedText<'_>> {
    let mut parameters = Vec::new();
    let mut waiting = VecDeque::from([(members_of(schema), 0)]);
    for _ in 0..MOST_SCHEMAS {
        let Some((schema, depth)) = waiting.pop_front() else {
            break;
        };
        for (Text(keyword), value) in schema {
            let inner = look_into(&keyword, value, &mut parameters);
            if depth < MOST_DEPTH {
                waiting.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
            }
        }
    }
    parameters
}

/// Notes the arguments that stand under a keyword of a schema, and gives the schemas in which there may be more.
fn look_into<'e>(keyword: &str, value: &'e RawValue, parameters: &mut Vec<NamedText<'e>>) -> Vec<Schema<'e>> {
    match keyword {
        "properties" => {
            let room = MOST_PARAMETERS.saturating_sub(parameters.len());
            let note = |(Text(name), property)| {
                let property = members_of(property);
                parameters.push((name, text_of(&property, "description")));
                property
            };
            members_of(value).into_iter().take(room).map(note).collect()
        }
        "$defs" | "definitions" => {
            members_of(value).into_iter().map(|(_, inner)| members_of(inner)).collect()
        }
        "items" | "anyOf" | "oneOf" | "allOf" | "additionalProperties" => {
            let several = serde_json::from_str::<Vec<&RawValue>>(value.get());
            several.unwrap_or_else(|_| vec![value]).into_iter().map(members_of).collect()
        }
        _ => Vec::new(),
    }
}

/// The members of an object; none of anything else.
fn members_of(value: &RawValue) -> Schema<'_> {
    serde_json::from_str(value.get()).map(|Members(members)| members).unwrap_or_default()
}

fn find<'e>(members: &[(Text<'e>, &'e RawValue)], key: &str) -> Option<&'e RawValue> {
    members.iter().find(|(name, _)| name.0 == key).map(|(_, value)| *value)
}

fn text_of<'e>(members: &[(Text<'e>, &'e RawValue)], key: &str) -> Option<Cow<'e, str>> {
    let Text(text) = serde_json::from_str(find(members, key)?.get()).ok()?;
    Some(text)
}

/// A text, borrowed where nothing in it is escaped.
#[derive(serde::Deserialize)]
struct Text<'e>(#[serde(borrow)] Cow<'e, str>);

/// The members of an object in their order, not looked into.
#[derive(Default)]
struct Members<'e>(Schema<'e>);

impl<'e> Deserialize<'e> for Members<'e> {
    fn deserialize<D: Deserializer<'e>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'e> Visitor<'e> for MembersVisitor {
    type Value = Members<'e>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'e>>(self, mut entries: A) -> Result<Members<'e>, A::Error> {
        let mut members = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            members.push(entry);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn names(entry: &Value) -> Vec<String> {
        let entry = entry.to_string();
        read_entry(entry.as_bytes()).parameters.into_iter().map(|(name, _)| name.into_owned()).collect()
    }

    #[test]
    fn arguments_are_read_with_the_outermost_first() {
        let entry = json!({"name": "a", "title": "A \"title\"", "inputSchema": {"type": "object",
            "$defs": {"place": {"properties": {"zip": {"type": "string", "description": "post code"}}}},
            "properties": {
                "to": {"type": "object", "properties": {"street": {"description": "line\nbreak"}}},
                "parts": {"type": "array", "items": {"anyOf": [true, {"properties": {"weight": {}}}]}},
                "description": {"description": "about it"}, "odd": {"description": 7}, "all": true}}})
        .to_string();
        let read = read_entry(entry.as_bytes());
        assert_eq!(read.title.as_deref(), Some("A \"title\""));
        let told: Vec<_> = read.parameters.iter().map(|(name, text)| (&**name, text.as_deref())).collect();
        assert_eq!(
            told,
            [
                ("to", None),
                ("parts", None),
                ("description", Some("about it")),
                ("odd", None),
                ("all", None),
                ("zip", Some("post code")),
                ("street", Some("line\nbreak")),
                ("weight", None),
            ]
        );
    }

    #[test]
    fn what_is_no_entry_has_nothing() {
        for text in [
            "",
            "{",
            "[]",
            "null",
            r#"{"inputSchema": 7, "title": 7}"#,
            r#"{"inputSchema": {"properties": []}}"#,
        ] {
            assert_eq!(read_entry(text.as_bytes()), ReadEntry::default(), "{text}");
        }
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let many: serde_json::Map<_, _> =
            (0..1_000).map(|number| (format!("p{number}"), json!({}))).collect();
        assert_eq!(names(&json!({"inputSchema": {"properties": many}})).len(), MOST_PARAMETERS);
        let deep = (0..50).fold(json!({}), |inner, _| json!({"properties": {"p": inner}}));
        assert_eq!(names(&json!({"inputSchema": deep})).len(), usize::from(MOST_DEPTH) + 1);
        let wide: Vec<_> = (0..2_000).map(|_| json!({"anyOf": [{}, {}, {}]})).collect();
        assert!(names(&json!({"inputSchema": {"allOf": wide}})).is_empty());
    }
}
