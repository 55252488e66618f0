//! `get_tool_definition`: everything about one tool that whoever wants to call it has to know.

use serde_json::{Map, Value, json};
use toolrail_core::{METADATA, Outcome};
use toolrail_registry::Tool;

use crate::arguments::Arguments;
use crate::discovery_call::{DiscoveryCall, good};
use crate::failure::unknown;
use crate::{only_looks, takes};

pub(crate) fn entry() -> Value {
    let properties = json!({
        "tool_name": {"type": "string", "description": "The name of the tool, as search_tools returns it"},
    });
    json!({
        "name": "get_tool_definition",
        "title": "Get a tool's definition",
        "description": "Returns all there is to know about one tool: what it does, the JSON Schema of its arguments (input_schema) and \
            of its result, its server, category and tags, and whether it can be called here. Use it after search_tools and \
            before the first call of a tool.",
        "inputSchema": takes(properties, &["tool_name"]),
        "annotations": only_looks(),
    })
}

pub(crate) async fn run(asked: DiscoveryCall<'_>) -> Outcome {
    let mut arguments = Arguments::of(asked.call)?;
    // `call_tool` says `name`, so models do here.
    let name = match arguments.text("name")? {
        Some(name) => name,
        None => arguments.needed("tool_name", "工具名称不能为空")?,
    };
    arguments.finish()?;
    match asked.snapshot.find(name.trim()) {
        Some(tool) => good(&described(&asked, tool)),
        None => Err(unknown(&asked, name.trim()).await),
    }
}

/// All there is to know about a tool, under fixed names; what is not known is left out.
pub(crate) fn described(asked: &DiscoveryCall<'_>, tool: &Tool) -> Value {
    let listed: Map<String, Value> = serde_json::from_slice(tool.list_entry()).unwrap_or_default();
    let is_described = &*tool.kind == METADATA;
    let server = asked.snapshot.entry(tool.name.as_str()).and_then(|entry| entry.server());
    let used = asked.registry.usage().use_of(tool, asked.call.principal.tenant());
    let input_schema = listed.get("inputSchema").filter(|schema| !is_described || says_anything(schema));
    let members = [
        ("name", json!(tool.name)),
        ("title", json!(listed.get("title"))),
        ("description", json!(tool.description.as_deref().unwrap_or_default())),
        ("mcp_server", json!(server)),
        ("tags", json!(tool.tags)),
        ("category", json!(tool.category)),
        ("use_frequency", json!(used.count)),
        ("last_used", json!(used.last_used_text())),
        ("temperature", json!(used.temperature)),
        ("defer_loading", json!(defers(&listed).unwrap_or(is_described))),
        ("input_schema", json!(input_schema)),
        ("output_schema", json!(listed.get("outputSchema"))),
        ("annotations", json!(listed.get("annotations"))),
        ("callable", json!(!is_described)),
    ];
    let known = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(known.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn defers(listed: &Map<String, Value>) -> Option<bool> {
    listed.get("_meta")?.get("toolrail/deferLoading")?.as_bool()
}

/// Whether somebody wrote it: a described tool without a schema is listed with one that allows everything.
fn says_anything(schema: &Value) -> bool {
    let empty = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    let members = schema.as_object().into_iter().flatten();
    members.filter(|(name, _)| *name != "type").any(|(_, value)| !empty(value))
}
