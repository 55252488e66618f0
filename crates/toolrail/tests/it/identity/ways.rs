//! The ways into a gateway on which MCP is spoken, each open for one client at the same time.

use std::path::Path;

use anyhow::{Context, Result};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, Stdio, WebSocket};

use super::ask;
use crate::support::BINARY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Http,
    /// A list with one request.
    Batch,
    /// The endpoint of the group `staff`.
    Group,
    WebSocket,
    /// The transport of 2024.
    Sse,
    /// `toolrail stdio --url`.
    Bridge,
}

impl Way {
    pub(super) const ALL: [Self; 6] =
        [Self::Http, Self::Batch, Self::Group, Self::WebSocket, Self::Sse, Self::Bridge];
}

/// A client on all ways at once.
pub(super) struct Client<'a> {
    gateway: &'a Gateway,
    key: &'a str,
    socket: WebSocket,
    sse: (RawConnection, String),
    bridge: Stdio,
}

impl<'a> Client<'a> {
    pub(super) async fn connect(gateway: &'a Gateway, key: &'a str, folder: &Path) -> Result<Self> {
        let bearer = format!("Bearer {key}");
        let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
        let socket = WebSocket::connect(&url, &[("authorization", &bearer)]).await?;
        let mut sse = RawConnection::open(gateway.url()).await?;
        let head = format!("GET /sse HTTP/1.1\r\nhost: {}\r\nauthorization: {bearer}\r\n\r\n", sse.host());
        sse.send(head.as_bytes()).await?;
        sse.until(b"data: ").await?;
        let path = String::from_utf8(sse.until(b"\n").await?)?.trim().to_owned();
        let file = folder.join("key");
        std::fs::write(&file, key)?;
        let file = file.to_str().context("a path")?;
        let bridge = Stdio::spawn(BINARY, ["stdio", "--url", gateway.url(), "--key-file", file])?;
        Ok(Self { gateway, key, socket, sse: (sse, path), bridge })
    }

    /// The answer to a request that comes that way.
    pub(super) async fn rpc(&mut self, way: Way, method: &str, params: &Value) -> Result<Value> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let post = async |path: &str, body: &Value| {
            ask(self.gateway, Some(self.key), (Method::POST, path), Some(body)).await
        };
        match way {
            Way::Http => post("/mcp", &message).await?.json(),
            Way::Group => post("/mcp/staff", &message).await?.json(),
            Way::Batch => {
                let answers = post("/mcp", &json!([message])).await?.json()?;
                Ok(answers.get(0).cloned().unwrap_or(answers))
            }
            Way::WebSocket => self.socket.call(method, params.clone()).await,
            Way::Bridge => self.bridge.call(method, params.clone()).await,
            Way::Sse => {
                let (stream, path) = &mut self.sse;
                let request = Request::post(&*path)
                    .header("content-type", "application/json")
                    .header("authorization", format!("Bearer {}", self.key));
                let sent = self.gateway.request(request.body(Full::from(message.to_string()))?).await?;
                anyhow::ensure!(sent.status == 202, "{}", sent.text());
                stream.until(b"data: ").await?;
                Ok(serde_json::from_slice(&stream.until(b"\n").await?)?)
            }
        }
    }
}
