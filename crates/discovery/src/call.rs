//! `call_tool`: calls a tool that is not listed. Only its description is here: the registry resolves it to the real tool
//! before anything else sees the call.

use serde_json::{Value, json};
use toolrail_core::{CallError, ErrorCode, Outcome};
use toolrail_registry::CALL_TOOL;

use crate::takes;

pub(crate) fn entry() -> Value {
    let properties = json!({
        "name": {"type": "string", "description": "The name of the tool, as search_tools returns it in tool_name"},
        "arguments": {
            "type": "object", "default": {},
            "description": "The arguments of that tool, as its input_schema has them (see get_tool_definition)"
        },
    });
    json!({
        "name": CALL_TOOL,
        "title": "Call a tool",
        "description": "Calls a tool that search_tools found and that is not in your own list of tools. The result is that of the \
            tool itself. Look at its input_schema with get_tool_definition before you call it for the first time.",
        "inputSchema": takes(properties, &["name"]),
        "annotations": {"openWorldHint": true},
    })
}

/// Nobody comes here.
pub(crate) fn run() -> Outcome {
    Err(CallError::new(ErrorCode::Internal, "call_tool was not resolved; this is a fault of Toolrail"))
}
