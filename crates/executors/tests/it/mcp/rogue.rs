//! An MCP server that says exactly what a test wants said; what the test does not care about is answered as it should be.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::script::Eras;

/// A piece of an answer.
pub(crate) enum Said {
    Text(String),
    /// This text again and again, with a pause before each.
    Again(String, Duration),
    /// Nothing more, with the connection open.
    Hang,
}

/// What the server says to a message; `GET` stands for the opening of a stream.
type Answer = dyn Fn(&Value) -> Option<Vec<Said>> + Send + Sync;

pub(crate) struct Rogue {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<(Value, Instant)>>>,
    _tasks: JoinSet<()>,
}

impl Rogue {
    pub(crate) async fn start(
        eras: Eras,
        answer: impl Fn(&Value) -> Option<Vec<Said>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::<Mutex<Vec<(Value, Instant)>>>::default();
        let (seen, answer): (_, Arc<Answer>) = (heard.clone(), Arc::new(answer));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (seen, answer) = (seen.clone(), answer.clone());
                connections.spawn(async move {
                    let mut stream = stream;
                    let Some(message) = read(&mut stream).await else { return };
                    seen.lock().unwrap().push((message.clone(), Instant::now()));
                    let said = answer(&message).unwrap_or_else(|| proper(eras, &message));
                    say(&mut stream, said).await;
                });
            }
        });
        Self { address, heard, _tasks: tasks }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// When messages of that method came; answers have none.
    pub(crate) fn times(&self, method: &str) -> Vec<Instant> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(message, _)| message["method"] == method).map(|(_, at)| *at).collect()
    }
}

/// The head of a stream of events.
pub(crate) fn stream() -> Said {
    Said::Text("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".into())
}

/// A message as an event.
pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// A whole answer.
pub(crate) fn whole(body: &Value) -> Vec<Said> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let body = body.to_string();
    vec![Said::Text(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()))]
}

/// The answer of a server as it should be, which has one tool.
pub(crate) fn proper(eras: Eras, message: &Value) -> Vec<Said> {
    let capabilities = json!({"tools": {"listChanged": true}});
    let result = match (message["method"].as_str(), eras) {
        (Some("server/discover"), Eras::Modern) => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
        }),
        (Some("initialize"), Eras::Legacy) => json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": "rogue", "version": "1"},
        }),
        (Some("tools/list"), _) => {
            json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
        }
        (Some("tools/call"), _) => json!({"content": []}),
        (Some("subscriptions/listen" | "GET"), _) => return vec![stream(), Said::Hang],
        _ if message["id"].is_null() || message["method"].is_null() => {
            let accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            return vec![Said::Text(accepted.into())];
        }
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return whole(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    whole(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

async fn say(stream: &mut TcpStream, said: Vec<Said>) {
    for piece in said {
        match piece {
            Said::Text(text) => {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Said::Again(text, pause) => loop {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            },
            Said::Hang => std::future::pending().await,
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let body_at = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..body_at].to_vec()).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < body_at + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    if length == 0 {
        return Some(json!({"method": head.split(' ').next().unwrap_or_default().to_ascii_uppercase()}));
    }
    serde_json::from_slice(&bytes[body_at..]).ok()
}
