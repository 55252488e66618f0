//! `unregister_tool`: removes a tool that an agent registered for good, so that its name is free again.
//! Its history stays. What an operator registered is not an agent's to remove: it could take the name afterwards.

use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, Expected, Outcome, RegisteredBy};
use toolrail_registry::{DISCOVERY, Done, Which, WriteError};

use crate::arguments::Arguments;
use crate::discovery_call::{DiscoveryCall, good};
use crate::failure::{may_not_change, not_written, of_operator, unknown};
use crate::register::author;
use crate::takes;

pub(crate) fn entry() -> Value {
    let properties = json!({
        "tool_name": {"type": "string", "description": "The name of the tool to remove"},
    });
    json!({
        "name": "unregister_tool",
        "title": "Unregister a tool",
        "description": "Removes a tool from the registry, for everybody. Only tools that were registered with register_tool can be \
            removed here, not those of operators, files or other servers.",
        "inputSchema": takes(properties, &["tool_name"]),
        "annotations": {
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false
        },
    })
}

pub(crate) async fn run(asked: DiscoveryCall<'_>) -> Outcome {
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
    match remove(&asked, name).await {
        Ok(Some(done)) => good(&json!({
            "success": true, "tool_name": done.name, "message": format!("工具 '{}' 已成功注销", done.name),
            "note": format!("the tool {:?} is removed; its name is free again", done.name),
        })),
        Ok(None) => Err(of_operator(name)),
        Err(WriteError::NotFound(_)) => Err(unknown(&asked, name).await),
        Err(other) => Err(not_written(&other)),
    }
}

/// Removes it, if an agent registered it.
async fn remove(asked: &DiscoveryCall<'_>, name: &str) -> Result<Option<Done>, WriteError> {
    let mut which = Which { tenant: asked.tenant(), name: name.to_owned(), expected: Expected::Anything };
    let row = asked.registry.changes().stored(&which).await?;
    if !is_of_agent(&row.config_json) {
        return Ok(None);
    }
    // Not what an operator put in its place meanwhile.
    which.expected = Expected::Version(row.version);
    asked.registry.changes().purge(&which, &author(asked.call.caller)).await.map(Some)
}

fn is_of_agent(config_json: &str) -> bool {
    let document: Value = serde_json::from_str(config_json).unwrap_or_default();
    document.get(RegisteredBy::FIELD).and_then(Value::as_str) == Some(RegisteredBy::Agent.word())
}

fn built_in(name: &str) -> CallError {
    let message = format!(
        "{name:?} belongs to the gateway itself; \"discovery: false\" in its configuration switches it off"
    );
    CallError::new(ErrorCode::Conflict, message)
}
