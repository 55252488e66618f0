//! A small HTTP client that shows an answer as it came: no redirects followed, no status taken for an error.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A client with its own connections.
#[derive(Clone, Debug)]
pub struct HttpClient(Client<HttpConnector, Full<Bytes>>);

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl HttpClient {
    /// A client without connections yet.
    pub fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build(HttpConnector::new()))
    }

    /// Sends a request to an absolute `http://` URL and reads the whole answer.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Reply> {
        let line = format!("{} {}", request.method(), request.uri());
        let answer = async {
            let (head, body) = self.0.request(request).await?.into_parts();
            let body = body.collect().await?.to_bytes();
            anyhow::Ok(Reply { status: head.status.as_u16(), headers: head.headers, body })
        };
        let answer = tokio::time::timeout(ANSWER_WITHIN, answer).await;
        answer.with_context(|| format!("{line}: no answer within {ANSWER_WITHIN:?}"))?.context(line)
    }

    /// Sends a request with a JSON body, or none.
    pub async fn send_json(&self, method: Method, url: &str, body: Option<&Value>) -> Result<Reply> {
        let mut request = Request::builder().method(method).uri(url);
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let bytes = body.map(|value| Bytes::from(value.to_string())).unwrap_or_default();
        self.send(request.body(Full::new(bytes))?).await
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl Reply {
    /// The body as JSON; the error shows the answer.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("status {}, a body that is not JSON: {}", self.status, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's value, if there is one and it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
