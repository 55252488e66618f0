//! `server/discover`: revisions, capabilities and identity, before anything else is asked.

use serde_json::json;
use toolrail_protocol::revision;

use super::Context;
use crate::reply::{Outcome, Reply};
use crate::{capabilities, instructions};

pub(super) fn handle(context: Context<'_>) -> Reply {
    let mut result = json!({
        "supportedVersions": revision::all(),
        "capabilities": capabilities::modern(),
    });
    let own = context.server.me.info.instructions.as_deref();
    if let Some(instructions) = instructions::of(own, &context.snapshot()) {
        result["instructions"] = instructions.into();
    }
    let mut out = result.to_string().into_bytes();
    out.pop();
    Ok(context.finish().close_cached(Outcome::whole(out), context.brief_cache()))
}
