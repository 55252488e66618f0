//! An upstream MCP server with one tool, whose answer is whatever the test says, sent as server-sent events.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A running server; ended when dropped.
pub(crate) struct JunkServer {
    url: String,
    next: Arc<Mutex<Vec<u8>>>,
    accepting: AbortHandle,
}

impl JunkServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let next = Arc::new(Mutex::new(Vec::new()));
        let stream = next.clone();
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.spawn(answer(connection, stream.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Self { url, next, accepting: accepting.abort_handle() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What the next calls are answered with; `ID` stands for the id of the call.
    pub(crate) fn will_send(&self, stream: Vec<u8>) {
        *self.next.lock().unwrap() = stream;
    }
}

impl Drop for JunkServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One request for each connection. One that breaks off is of no interest.
async fn answer(mut connection: TcpStream, next: Arc<Mutex<Vec<u8>>>) -> Option<()> {
    let request = read(&mut connection).await?;
    let id = request["id"].to_string();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: ";
    let answer = if let Some(mut result) = good_result(&request) {
        result["resultType"] = "complete".into();
        let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        format!("{head}application/json\r\n\r\n{body}").into_bytes()
    } else {
        let stream = next.lock().unwrap().clone();
        [format!("{head}text/event-stream\r\n\r\n").as_bytes(), &with_id(&stream, &id)].concat()
    };
    connection.write_all(&answer).await.ok()
}

/// What is asked before and besides calls is answered properly.
fn good_result(request: &Value) -> Option<Value> {
    let tool = json!({"name": "junk", "description": "Sends junk", "inputSchema": {"type": "object"}});
    match request["method"].as_str()? {
        "server/discover" => Some(json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public",
        })),
        "tools/list" => Some(json!({"tools": [tool], "ttlMs": 0, "cacheScope": "public"})),
        "tools/call" => None,
        _ => Some(json!({})),
    }
}

fn with_id(stream: &[u8], id: &str) -> Vec<u8> {
    let mut filled = Vec::with_capacity(stream.len());
    let mut rest = stream;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"ID") {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(id.as_bytes());
        rest = &rest[at + 2..];
    }
    filled.extend_from_slice(rest);
    filled
}

/// The body of one request.
async fn read(connection: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))?
                .trim()
                .parse::<usize>()
                .ok()?;
            while bytes.len() < end + 4 + length {
                (connection.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
            }
            return serde_json::from_slice(&bytes[end + 4..]).ok();
        }
        (connection.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    }
}
