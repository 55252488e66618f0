//! `unregister_tool` (15.3 of the requirements): removes a tool of the store for good, so that its name is free again. Its
//! history stays.

use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, Expected, Outcome};
use toolrail_registry::{DISCOVERY, Which, WriteError};

use crate::arguments::Arguments;
use crate::asked::{Asked, good};
use crate::failure::{may_not_change, not_written, unknown};
use crate::register::author;
use crate::takes;

pub(crate) fn entry() -> Value {
    let properties = json!({
        "tool_name": {"type": "string", "description": "The name of the tool to remove"},
    });
    json!({
        "name": "unregister_tool",
        "title": "Unregister a tool",
        "description": "Removes a tool from the registry, for everybody. Only tools that were registered (register_tool, the admin API) \
            can be removed here, not those of files or other servers.",
        "inputSchema": takes(properties, &["tool_name"]),
        "annotations": {
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false
        },
    })
}

pub(crate) async fn run(asked: Asked<'_>) -> Outcome {
    if !asked.call.caller.may_change() {
        return Err(may_not_change("unregister_tool"));
    }
    let mut arguments = Arguments::of(asked.call)?;
    let name = match arguments.text("name")? {
        Some(name) => name,
        None => arguments.needed("tool_name", "工具名称不能为空")?,
    };
    arguments.finish()?;
    let name = name.trim();
    // What is not seen at this endpoint does not exist there.
    if asked.snapshot.entry(name).is_none() {
        return Err(match asked.snapshot.find(name) {
            Some(tool) if &*tool.kind == DISCOVERY => built_in(name),
            _ => unknown(&asked, name).await,
        });
    }
    let which = Which { tenant: asked.tenant(), name: name.to_owned(), expected: Expected::Anything };
    match asked.registry.changes().purge(&which, &author(asked.call.caller)).await {
        Ok(done) => good(&json!({
            "success": true, "tool_name": done.name, "message": format!("工具 '{}' 已成功注销", done.name),
            "note": format!("the tool {:?} is removed; its name is free again", done.name),
        })),
        Err(WriteError::NotFound(_)) => Err(unknown(&asked, name).await),
        Err(other) => Err(not_written(&other)),
    }
}

fn built_in(name: &str) -> CallError {
    let message = format!(
        "{name:?} belongs to the gateway itself; \"discovery: false\" in its configuration switches it off"
    );
    CallError::new(ErrorCode::Conflict, message)
}
