//! `server/discover`: revisions, capabilities and identity, before anything else is asked.

use serde_json::json;

use super::Context;
use crate::dialect;
use crate::reply::{Outcome, Reply};

pub(super) fn handle(context: Context<'_>) -> Reply {
    let mut result = json!({
        "supportedVersions": dialect::supported(),
        "capabilities": {"tools": {}},
    });
    if let Some(instructions) = &context.server.info.instructions {
        result["instructions"] = instructions.as_str().into();
    }
    let mut out = result.to_string().into_bytes();
    out.pop();
    Ok(context.close_cacheable(Outcome::whole(out)))
}
