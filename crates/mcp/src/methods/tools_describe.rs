//! `tools/describe`: one tool's entry. Not part of MCP, but part of what older clients were told.

use serde_json::Value;
use toolrail_protocol::meta::SERVER_INFO;

use super::Context;
use super::tools_call::{tool_name, unknown_tool};
use crate::dialect::Dialect;
use crate::reply::{Outcome, Reply};

pub(super) fn handle(context: Context<'_>) -> Reply {
    let name = tool_name(&context)?;
    let snapshot = context.snapshot();
    let Some(tool) = snapshot.find(&name) else {
        return Err(unknown_tool(&context, &name));
    };
    let mut entry: Value = serde_json::from_slice(tool.list_entry()).unwrap_or_default();
    if context.dialect == Dialect::Modern {
        // The entry may have its own `_meta`, so the usual ending would be a second one.
        entry["resultType"] = "complete".into();
        entry["_meta"][SERVER_INFO] = context.server.me.implementation();
    }
    Ok(Outcome::whole(entry.to_string()))
}
