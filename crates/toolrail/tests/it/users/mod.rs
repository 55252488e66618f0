//! Upstream MCP servers that are asked in the name of whoever calls.

mod authority;
mod connect;
mod interleaving;
mod per_caller;
mod real;
mod recorder;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, HttpClient, RawConnection, Reply};

use crate::identity::tokens::Issuer;
use crate::identity::{ask, first_key};
use crate::support::gateway;
use recorder::Recorder;

const WITHIN: Duration = Duration::from_secs(20);

/// A gateway that takes the tokens of an issuer.
struct Stage {
    gateway: Gateway,
    issuer: Issuer,
    admin: String,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn open() -> Self {
        let issuer = Issuer::start().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("toolrail.yaml");
        let written = json!({
            "publicUrl": "https://tools.example.com",
            "issuers": [{"issuer": issuer.url, "grants": [{"scopes": ["tools.call"], "role": "call"}]}],
        });
        std::fs::write(&config, written.to_string()).unwrap();
        let gateway = gateway().arg("--config").arg(&config).env("TOOLRAIL_SECRET_LISTS", "list-s3cr3t");
        let gateway = gateway.start().await.unwrap();
        let admin = first_key(&gateway).await.unwrap();
        Self { gateway, issuer, admin, _folder: folder }
    }

    fn token(&self, who: &str) -> String {
        self.issuer.token(json!({"sub": who, "scope": "tools.call"}))
    }

    async fn ask(&self, key: &str, path: (Method, &str), body: Option<&Value>) -> Reply {
        ask(&self.gateway, Some(key), path, body).await.unwrap()
    }

    async fn register(&self, definition: &Value) -> Reply {
        self.ask(&self.admin, (Method::POST, "/admin/tools"), Some(definition)).await
    }

    /// Brings in a server, and waits until it is listed.
    async fn bring_in(&self, name: &str, server: &Recorder, (auth, more): (Value, Value)) {
        let mut mcp = json!({"url": server.url()});
        mcp.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.register(&json!({"name": name, "type": "mcp", "auth": auth, "mcp": mcp})).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let tool = format!("{name}_whoami");
        toolrail_testkit::wait_until("the server to be listed", WITHIN, async || {
            let listed = self.ask(&self.admin, (Method::GET, "/mcp/tools"), None).await;
            listed.text().contains(&tool).then_some(())
        })
        .await
        .unwrap();
    }

    /// Calls over REST.
    async fn call(&self, credential: &str, tool: &str) -> Reply {
        let body = json!({"tool": tool, "arguments": {}});
        self.ask(credential, (Method::POST, "/mcp/tools/call"), Some(&body)).await
    }
}

/// A session of a client of 2025-11-25 that shows a token.
struct Talk {
    http: HttpClient,
    url: String,
    token: String,
    id: Option<String>,
}

impl Talk {
    async fn open(gateway: &Gateway, token: &str, capabilities: Value) -> Self {
        let url = format!("{}/mcp", gateway.url());
        let mut talk = Self { http: HttpClient::new(), url, token: token.to_owned(), id: None };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "talk", "version": "1"}});
        talk.ask("initialize", params).await;
        talk
    }

    /// The result, or the error.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = http::Request::post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("authorization", format!("Bearer {}", self.token));
        if let Some(id) = &self.id {
            request = request.header("mcp-session-id", id).header("mcp-protocol-version", "2025-11-25");
        }
        let body = http_body_util::Full::new(bytes::Bytes::from(message.to_string()));
        let reply = self.http.send(request.body(body).unwrap()).await.unwrap();
        if let Some(id) = reply.header("mcp-session-id") {
            self.id = Some(id.to_owned());
        }
        let text = reply.text();
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = std::iter::once(text.as_str())
            .chain(events)
            .filter_map(|text| serde_json::from_str::<Value>(text).ok().filter(|read| read["id"] == 1));
        let answer = messages.next().unwrap_or_else(|| json!({"error": {"message": text}}));
        answer.get("result").or(answer.get("error")).cloned().unwrap_or(answer)
    }

    /// The session's own stream.
    async fn stream(&self, gateway: &Gateway) -> RawConnection {
        let mut stream = RawConnection::open(gateway.url()).await.unwrap();
        let (host, id) = (stream.host().to_owned(), self.id.as_deref().unwrap());
        let request = format!(
            "GET /mcp HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\nauthorization: Bearer {}\r\nmcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n\r\n",
            self.token
        );
        stream.send(request.as_bytes()).await.unwrap();
        assert!(stream.head().await.unwrap().contains("200 ok"));
        stream
    }
}
