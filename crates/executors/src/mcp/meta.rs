//! The `_meta` of requests to a server: what the client sent, as far as it concerns the server, and what the server's era
//! wants to know about us.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use toolrail_core::{Caller, LogLevel};
use toolrail_protocol::meta::{
    CLIENT_CAPABILITIES as CAPABILITIES, CLIENT_INFO as CLIENT, LOG_LEVEL as LEVEL, PROGRESS_TOKEN,
    PROTOCOL_VERSION as VERSION, SUBSCRIPTION_ID, TASKS, UI,
};
use toolrail_protocol::{Era, revision};

use super::message::{Members, Writer};

/// What holds between two neighbours only.
const OF_ONE_HOP: &[&str] = &[VERSION, CLIENT, CAPABILITIES, LEVEL, PROGRESS_TOKEN, SUBSCRIPTION_ID];
/// What a client can be asked, which is what makes its capabilities matter.
pub(super) const ASKABLE: &[&str] = &["elicitation", "sampling", "roots"];

/// How we introduce ourselves.
pub(super) fn client_info() -> Value {
    json!({"name": "toolrail", "title": "Toolrail", "version": env!("CARGO_PKG_VERSION")})
}

/// What a server is told that our client can be asked, when there is none in particular.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claims {
    /// Everything that some client may be asked: a server may offer things only to those who can be.
    Everything,
    Nothing,
}

impl Claims {
    /// As capabilities.
    pub(super) fn capabilities(self) -> Value {
        match self {
            Self::Everything => json!({
                "elicitation": {"form": {}, "url": {}},
                "sampling": {"context": {}, "tools": {}},
                "roots": {},
            }),
            Self::Nothing => json!({}),
        }
    }
}

/// The `_meta` of a request of our own; nothing for legacy servers.
pub(super) fn our_own(era: Era, claims: Claims) -> Option<Bytes> {
    (era == Era::Modern).then(|| {
        let mut writer = Writer::new();
        write_modern(&mut writer, &claims.capabilities(), None);
        writer.finish()
    })
}

/// The `_meta` of a request of a client's; `token` is what the server names in its reports of progress.
pub(super) fn of_client(era: Era, caller: &dyn Caller, token: u64) -> Option<Bytes> {
    let mut writer = Writer::new();
    let given = caller.meta().map_or(Members(Vec::new()), |meta| Members::of(meta.get()));
    let mut any = false;
    for (key, value) in given.0 {
        if !OF_ONE_HOP.contains(&&*key) {
            writer.raw(&key, value.get().as_bytes());
            any = true;
        }
    }
    if caller.wants_progress() {
        writer.raw("progressToken", token.to_string().as_bytes());
        any = true;
    }
    if era == Era::Modern {
        write_modern(&mut writer, &bridged(caller), caller.log_level());
        any = true;
    }
    any.then(|| writer.finish())
}

fn write_modern(writer: &mut Writer, capabilities: &Value, level: Option<LogLevel>) {
    writer
        .text(VERSION, revision::V2026_07_28)
        .value(CLIENT, &client_info())
        .value(CAPABILITIES, capabilities);
    if let Some(level) = level {
        writer.text(LEVEL, level.word());
    }
}

/// The client's capabilities as far as we can pass on what they promise.
fn bridged(caller: &dyn Caller) -> Value {
    let mut capabilities = askable(caller);
    let declared = caller.capabilities().get("extensions").and_then(Value::as_object);
    let extensions: Map<String, Value> = declared
        .into_iter()
        .flatten()
        .filter(|(name, _)| matches!(name.as_str(), TASKS | UI))
        .map(|(name, settings)| (name.clone(), settings.clone()))
        .collect();
    if !extensions.is_empty() {
        capabilities.insert("extensions".into(), Value::Object(extensions));
    }
    Value::Object(capabilities)
}

/// What the client can be asked.
pub(super) fn askable(caller: &dyn Caller) -> Map<String, Value> {
    let declared = caller.capabilities().as_object();
    declared
        .into_iter()
        .flatten()
        .filter(|(name, _)| ASKABLE.contains(&name.as_str()))
        .map(|(name, settings)| (name.clone(), settings.clone()))
        .collect()
}
