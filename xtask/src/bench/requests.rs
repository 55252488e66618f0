//! The bytes of the requests that the load generator sends, made once.

use std::net::SocketAddr;

use bytes::Bytes;
use serde_json::{Value, json};

/// Which of the two ways to speak MCP over HTTP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// 2026-07-28: every request describes itself.
    Modern,
    /// 2025-11-25, without a session.
    Legacy,
}

impl Dialect {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

pub(super) fn get(address: SocketAddr, path: &str) -> Bytes {
    Bytes::from(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\n\r\n"))
}

pub(super) fn post_json(address: SocketAddr, path: &str, body: &Value) -> Bytes {
    post(address, path, "", body)
}

pub(super) fn call_tool(address: SocketAddr, dialect: Dialect, tool: &str) -> Bytes {
    call_tool_with(address, dialect, tool, None)
}

/// The same by somebody who shows a key or a token.
pub(super) fn call_tool_with(
    address: SocketAddr,
    dialect: Dialect,
    tool: &str,
    shown: Option<&str>,
) -> Bytes {
    let params = json!({"name": tool, "arguments": {"city": "Berlin"}});
    mcp(address, dialect, ("tools/call", params), shown)
}

pub(super) fn list_tools(address: SocketAddr, dialect: Dialect, cursor: Option<&str>) -> Bytes {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    mcp(address, dialect, ("tools/list", params), None)
}

fn mcp(
    address: SocketAddr,
    dialect: Dialect,
    (method, mut params): (&str, Value),
    shown: Option<&str>,
) -> Bytes {
    let version = dialect.version();
    let mut headers = format!(
        "Accept: application/json, text/event-stream\r\nUser-Agent: toolrail-bench\r\nMCP-Protocol-Version: {version}\r\n"
    );
    if let Some(shown) = shown {
        headers.extend(["Authorization: Bearer ", shown, "\r\n"]);
    }
    if dialect == Dialect::Modern {
        headers.extend(["Mcp-Method: ", method, "\r\n"]);
        if let Some(name) = params["name"].as_str() {
            headers.extend(["Mcp-Name: ", name, "\r\n"]);
        }
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "toolrail-bench", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    post(address, "/mcp", &headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

fn post(address: SocketAddr, path: &str, headers: &str, body: &Value) -> Bytes {
    let body = body.to_string();
    let length = body.len();
    Bytes::from(format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    ))
}
