//! Lists as bytes: each entry is serialised when its definition is compiled, each page when a snapshot is first listed.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value, json};
use toolrail_core::{Annotations, Definition, METADATA};

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The JSON array of entries.
    pub entries: Bytes,
    /// The key after which the next page starts.
    pub next_after: Option<String>,
}

impl Page {
    pub(crate) const fn empty() -> Self {
        Self { entries: Bytes::from_static(b"[]"), next_after: None }
    }
}

/// The entries of one tool: for modern clients, and for legacy ones where it differs.
pub(crate) fn entries_of(definition: &Definition, input_schema: &Value) -> (Bytes, Option<Bytes>) {
    let output = definition.output_schema.as_ref();
    let entry = entry_of(definition, (input_schema, output));
    (entry, output.and_then(wrapped).map(|schema| entry_of(definition, (input_schema, Some(&schema)))))
}

/// What a list says of a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListEntry<'d> {
    name: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'d str>,
    input_schema: &'d Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'d Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'d Annotations>,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

fn entry_of(definition: &Definition, (input_schema, output_schema): (&Value, Option<&Value>)) -> Bytes {
    let alias = definition.name.alias();
    let entry = ListEntry {
        name: alias.as_deref().unwrap_or(definition.name.as_str()),
        // Whoever reads a list sees the name that its author gave, where a client has to call it otherwise.
        title: definition.title.as_deref().or(alias.as_ref().map(|_| definition.name.as_str())),
        description: definition.description.as_deref(),
        input_schema,
        output_schema,
        annotations: definition.annotations.as_ref(),
        meta: meta_of(definition),
    };
    let text = serde_json::to_vec(&entry).unwrap_or_default();
    // Without the room that was left for more, which would be as much again.
    Bytes::from(text.into_boxed_slice())
}

fn meta_of(definition: &Definition) -> Map<String, Value> {
    let mut meta = Map::new();
    if definition.name.alias().is_some() {
        meta.insert("toolrail/name".into(), definition.name.as_str().into());
    }
    if let Some(category) = &definition.category {
        meta.insert("toolrail/category".into(), category.as_str().into());
    }
    if !definition.tags.is_empty() {
        meta.insert("toolrail/tags".into(), json!(definition.tags));
    }
    if let Some(defer) = definition.defer_loading {
        meta.insert("toolrail/deferLoading".into(), defer.into());
    }
    if definition.kind == METADATA {
        meta.insert("toolrail/callable".into(), false.into());
    }
    meta
}

/// The output schema for legacy clients, where it differs: they take only objects as structured content, so any other
/// value goes under `result`.
pub(crate) fn wrapped(schema: &Value) -> Option<Value> {
    if schema.get("type").is_some_and(|kind| kind == "object") {
        return None;
    }
    let mut inner = schema.clone();
    let mut outer = Map::new();
    // References such as `#/$defs/item` are from the root.
    for shared in ["$schema", "$defs", "definitions"] {
        let moved = inner.as_object_mut().and_then(|members| members.shift_remove(shared));
        outer.extend(moved.map(|moved| (shared.to_owned(), moved)));
    }
    outer.insert("type".into(), "object".into());
    outer.insert("properties".into(), json!({"result": inner}));
    outer.insert("required".into(), json!(["result"]));
    Some(Value::Object(outer))
}

/// The most entries and about the most bytes on one page.
pub(crate) type PageLimits = (usize, usize);

/// Fills one page of a list.
pub(crate) struct Cut {
    most_entries: usize,
    most_bytes: usize,
    array: BytesMut,
}

impl Cut {
    pub(crate) fn new((most_entries, most_bytes): PageLimits) -> Self {
        Self { most_entries: most_entries.max(1), most_bytes, array: BytesMut::from(&b"["[..]) }
    }

    /// The page of the first of those entries, each with its key, in order: one at least, if there are any.
    pub(crate) fn page<'e>(mut self, entries: impl Iterator<Item = (Cow<'e, str>, &'e Bytes)>) -> Page {
        let mut last: Option<Cow<'e, str>> = None;
        let mut next_after = None;
        for (index, (key, entry)) in entries.enumerate() {
            if index == self.most_entries || (index > 0 && self.array.len() + entry.len() > self.most_bytes) {
                next_after = last.map(Cow::into_owned);
                break;
            }
            if index > 0 {
                self.array.put_u8(b',');
            }
            self.array.extend_from_slice(entry);
            last = Some(key);
        }
        self.array.put_u8(b']');
        Page { entries: self.array.freeze(), next_after }
    }
}
