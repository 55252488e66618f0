//! The headers that the remote expects beside a message: what it is, which session it belongs to, and arguments that are
//! repeated for whoever is on the way (`x-mcp-header`).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Value, json};
use toolrail_protocol::HeaderParam;
use toolrail_protocol::header::encode;
use toolrail_protocol::meta::PROTOCOL_VERSION;
use toolrail_registry::header_params_of;

use crate::envelope::{Message, Params};

/// The most tools whose annotations are remembered.
const MOST_TOOLS: usize = 10_000;

/// Which arguments of which tools are repeated in headers, as lists told.
#[derive(Default)]
pub(super) struct Repeated {
    by_tool: Mutex<HashMap<String, Vec<HeaderParam>>>,
}

impl Repeated {
    /// Takes note of a list of tools, if that is what an answer is.
    pub(super) fn note(&self, answer: &[u8]) -> Option<String> {
        // Most answers are of something else; they need not be read.
        memchr::memmem::find(answer, b"\"inputSchema\"")?;
        let answer: Value = serde_json::from_slice(answer).ok()?;
        let tools = answer.pointer("/result/tools")?.as_array()?;
        let mut by_tool = self.by_tool.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let params = tool.get("inputSchema").map(header_params_of).unwrap_or_default();
            by_tool.remove(name);
            if !params.is_empty() && by_tool.len() < MOST_TOOLS {
                by_tool.insert(name.to_owned(), params);
            }
        }
        answer.pointer("/result/nextCursor")?.as_str().map(str::to_owned)
    }

    fn add(&self, headers: &mut HeaderMap, params: &Params<'_>) {
        let Ok(Some(name)) = Params::text("name", params.name) else { return };
        let by_tool = self.by_tool.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(repeated) = by_tool.get(&*name) else { return };
        let arguments =
            params.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        for param in repeated {
            let name = format!("mcp-param-{}", param.header.to_ascii_lowercase()).parse::<HeaderName>();
            if let (Ok(name), Some(text)) = (name, param.text_in(&arguments))
                && let Ok(value) = HeaderValue::from_str(&encode(&text))
            {
                headers.insert(name, value);
            }
        }
    }
}

/// The headers of a message of a modern client; nothing for any other.
pub(super) fn modern(message: Option<&Message<'_>>, repeated: &Repeated) -> Option<HeaderMap> {
    let (method, params) = match message? {
        Message::Request(request) => (request.method.as_ref(), &request.params),
        Message::Notification(notification) => (notification.method.as_ref(), &notification.params),
        Message::Response(_) => return None,
    };
    let version = Params::text("protocolVersion", params.meta.as_ref()?.protocol_version).ok()??;
    let mut headers = plain();
    insert(&mut headers, "mcp-protocol-version", Some(&version));
    insert(&mut headers, "mcp-method", Some(method));
    let name = [params.name, params.uri, params.task_id].into_iter().flatten().next();
    insert(&mut headers, "mcp-name", Params::text("name", name).ok().flatten().as_deref());
    if method == "tools/call" {
        repeated.add(&mut headers, params);
    }
    Some(headers)
}

/// A request for a page of the tools on behalf of a modern client, with its headers.
pub(super) fn list_request(call: &[u8], cursor: Option<&str>) -> Option<(HeaderMap, Bytes)> {
    let call: Value = serde_json::from_slice(call).ok()?;
    let meta = call.pointer("/params/_meta")?;
    let version = meta.get(PROTOCOL_VERSION)?.as_str()?;
    let mut headers = plain();
    insert(&mut headers, "mcp-protocol-version", Some(version));
    insert(&mut headers, "mcp-method", Some("tools/list"));
    let mut params = json!({"_meta": meta});
    if let Some(cursor) = cursor {
        params["cursor"] = cursor.into();
    }
    let list =
        json!({"jsonrpc": "2.0", "id": "toolrail-bridge-tools", "method": "tools/list", "params": params});
    Some((headers, list.to_string().into()))
}

/// The headers of every message.
pub(super) fn plain() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers
}

/// Adds a header, if there is a value for it.
pub(super) fn insert(headers: &mut HeaderMap, name: &'static str, value: Option<&str>) {
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(&encode(value)).ok()) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
