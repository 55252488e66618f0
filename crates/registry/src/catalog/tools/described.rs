//! What a definition of kind `metadata` says about its tool, which lives elsewhere: the server that has it, and how much it
//! had been used there.

use std::time::SystemTime;

use serde_json::Value;
use toolrail_core::{Definition, METADATA, moment_of};

/// A tool that is only described here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The MCP server that has it.
    pub mcp_server: Option<Box<str>>,
    /// How often it had been used where it was described before.
    pub use_frequency: u64,
    /// When it was last used there.
    pub last_used: Option<SystemTime>,
}

impl Described {
    /// What the definition says, if it only describes.
    pub(crate) fn of(definition: &Definition) -> Option<Box<Self>> {
        let text = |field: &str| definition.settings.get(field).and_then(Value::as_str);
        (definition.kind == METADATA).then(|| {
            Box::new(Self {
                mcp_server: text("mcpServer").filter(|server| !server.trim().is_empty()).map(Into::into),
                use_frequency: definition.settings.get("useFrequency").and_then(Value::as_u64).unwrap_or(0),
                last_used: text("lastUsed").and_then(moment_of),
            })
        })
    }
}
