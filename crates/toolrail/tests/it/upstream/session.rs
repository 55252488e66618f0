//! A client with a session of 2025-11-25, over Streamable HTTP.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{HttpClient, RawConnection};

/// A session of 2025-11-25.
pub(crate) struct Session {
    http: HttpClient,
    url: String,
    id: Option<String>,
    /// The answer to `initialize`.
    pub(crate) initialized: Value,
}

impl Session {
    pub(crate) async fn open(url: &str, capabilities: Value) -> Self {
        let mut session =
            Self { http: HttpClient::new(), url: url.to_owned(), id: None, initialized: Value::Null };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "compares", "version": "1"}});
        let answer = session.post(&message(1, "initialize", &params)).await;
        session.initialized = answer;
        session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        session
    }

    /// The result, or the error.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.post(&message(2, method, &params)).await;
        answer.get("result").or(answer.get("error")).cloned().unwrap_or(answer)
    }

    async fn post(&mut self, message: &Value) -> Value {
        let mut request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(id) = &self.id {
            request = request.header("mcp-session-id", id).header("mcp-protocol-version", "2025-11-25");
        }
        let request = request.body(Full::new(Bytes::from(message.to_string()))).unwrap();
        let reply = self.http.send(request).await.unwrap();
        if let Some(id) = reply.header("mcp-session-id") {
            self.id = Some(id.to_owned());
        }
        let text = reply.text();
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = std::iter::once(text.as_str()).chain(events).filter_map(|text| {
            serde_json::from_str::<Value>(text).ok().filter(|read| read.get("id") == message.get("id"))
        });
        messages.next().unwrap_or_default()
    }

    /// The session's own stream.
    pub(crate) async fn stream(&self) -> RawConnection {
        let mut stream = RawConnection::open(&self.url).await.unwrap();
        let id = self.id.as_deref().unwrap();
        let host = stream.host().to_owned();
        let request = format!(
            "GET /mcp HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\nmcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n\r\n"
        );
        stream.send(request.as_bytes()).await.unwrap();
        assert!(stream.head().await.unwrap().contains("200 ok"));
        stream
    }

    /// The entries of a list by what they are asked for by.
    pub(crate) async fn list(&mut self, (method, key): (&str, &str)) -> BTreeMap<String, Value> {
        let result = self.ask(method, json!({})).await;
        let entries = result[key].as_array().cloned().unwrap_or_default();
        let name = |entry: &Value| {
            let keys = ["uri", "uriTemplate", "name"];
            keys.iter().find_map(|key| entry[*key].as_str()).unwrap_or_default().to_owned()
        };
        entries.into_iter().map(|entry| (name(&entry), entry)).collect()
    }
}

fn message(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
