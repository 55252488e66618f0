//! `initialize`: settles a legacy revision. Without one the client speaks plain JSON-RPC.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Context;
use crate::envelope::Params;
use crate::reply::Reply;
use crate::{capabilities, dialect, instructions};

pub(super) fn handle(context: Context<'_>) -> Reply {
    let requested = Params::text("protocolVersion", context.params.protocol_version)?;
    let Some(requested) = requested else {
        return Ok(context.object(&plain(&context)));
    };
    let revision = dialect::negotiate(&requested);
    // A second initialize on the same connection changes nothing.
    let session = context.peer.session;
    let revision = session.revision.get_or_init(|| revision);
    let read = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    if let Some(capabilities) = read(context.params.capabilities).filter(Value::is_object) {
        let _ = session.capabilities.set(capabilities);
    }
    if let Some(client_info) = read(context.params.client_info).filter(Value::is_object) {
        let _ = session.client_info.set(client_info);
    }
    let mut result = standard(&context, revision);
    let own = context.server.me.info.instructions.as_deref();
    if let Some(instructions) = instructions::of(own, &context.snapshot()) {
        result["instructions"] = instructions.into();
    }
    Ok(context.object(&result))
}

fn standard(context: &Context<'_>, revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": capabilities::legacy(revision),
        "serverInfo": context.server.me.implementation(),
    })
}

/// The WebSocket answers exactly as mcp-lite does; elsewhere the revision is told as well.
fn plain(context: &Context<'_>) -> Value {
    if context.peer.session.plain_shapes {
        let info = &context.server.me.info;
        return json!({
            "serverInfo": {"name": info.name, "version": info.version},
            "capabilities": {"tools": true},
        });
    }
    standard(context, dialect::negotiate(""))
}
