//! Lists as bytes: each entry is serialised when its definition is compiled, each page when a snapshot is first listed.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};
use toolrail_core::{Definition, METADATA};

/// Which generation of clients a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28 and newer.
    Modern,
    /// Before: structured content and its schema must be objects.
    Legacy,
}

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
    let entry = |output_schema: Option<&Value>| {
        Bytes::from(entry_of(definition, input_schema, output_schema).to_string())
    };
    let output = definition.output_schema.as_ref();
    (entry(output), output.and_then(wrapped).map(|schema| entry(Some(&schema))))
}

fn entry_of(definition: &Definition, input_schema: &Value, output_schema: Option<&Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), definition.name.as_str().into());
    if let Some(title) = &definition.title {
        entry.insert("title".into(), title.as_str().into());
    }
    if let Some(description) = &definition.description {
        entry.insert("description".into(), description.as_str().into());
    }
    entry.insert("inputSchema".into(), input_schema.clone());
    if let Some(schema) = output_schema {
        entry.insert("outputSchema".into(), schema.clone());
    }
    if let Some(annotations) = &definition.annotations {
        entry.insert("annotations".into(), serde_json::to_value(annotations).unwrap_or_default());
    }
    let meta = meta_of(definition);
    if !meta.is_empty() {
        entry.insert("_meta".into(), Value::Object(meta));
    }
    Value::Object(entry)
}

fn meta_of(definition: &Definition) -> Map<String, Value> {
    let mut meta = Map::new();
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

/// Cuts entries into pages of at most `most_entries` entries and about `most_bytes` bytes.
pub(crate) fn pages(entries: &[(&str, Bytes)], most_entries: usize, most_bytes: usize) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut rest = entries;
    loop {
        let (page, next) = rest.split_at(page_length(rest, most_entries, most_bytes));
        let next_after = page.last().filter(|_| !next.is_empty()).map(|(name, _)| (*name).to_owned());
        pages.push(Page { entries: array_of(page), next_after });
        rest = next;
        if rest.is_empty() {
            return pages;
        }
    }
}

/// How many entries the next page takes: one at least, if there are any.
fn page_length(entries: &[(&str, Bytes)], most_entries: usize, most_bytes: usize) -> usize {
    let mut bytes = 0;
    let fitting = entries.iter().take(most_entries.max(1)).take_while(|(_, entry)| {
        bytes += entry.len() + 1;
        bytes <= most_bytes
    });
    fitting.count().max(1).min(entries.len())
}

fn array_of(entries: &[(&str, Bytes)]) -> Bytes {
    let length: usize = entries.iter().map(|(_, entry)| entry.len() + 1).sum();
    let mut array = BytesMut::with_capacity(length + 2);
    array.put_u8(b'[');
    for (index, (_, entry)) in entries.iter().enumerate() {
        if index > 0 {
            array.put_u8(b',');
        }
        array.extend_from_slice(entry);
    }
    array.put_u8(b']');
    array.freeze()
}
