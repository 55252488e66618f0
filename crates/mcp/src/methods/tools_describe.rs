//! `tools/describe`: one tool's entry (R9). Not part of MCP, but part of what older clients were told.

use super::Context;
use super::tools_call::{tool_name, unknown_tool};
use crate::reply::{Outcome, Reply};

pub(super) fn handle(context: Context<'_>) -> Reply {
    let name = tool_name(&context)?;
    let snapshot = context.server.registry.snapshot();
    let Some(tool) = snapshot.find(&name) else {
        return Err(unknown_tool(&context, &name));
    };
    let mut out = tool.list_entry().to_vec();
    out.pop();
    Ok(Outcome::whole(context.close(out)))
}
