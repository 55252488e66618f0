//! Asks a server, and remembers what it said: every client asks for much the same.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde_json::{Value, json};
use toolrail_executors::outbound::{
    Bound, Client, ClientLimits, Incoming, Outgoing, SendLimits, Sensitive, Trust,
};
use url::Url;

use super::super::super::Hinted;

const LIMITS: SendLimits = SendLimits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(10),
    max_response_bytes: 256 * 1024,
    redirects: 3,
};
/// The first revision whose clients look for a way to sign in as all do now.
const REVISION: &str = "2025-06-18";

/// Asks servers.
pub(super) struct Probe {
    client: Client,
    documents: HashMap<String, Result<Value, String>>,
    refusals: HashMap<String, Result<Refused, String>>,
}

/// How a server answers somebody without a token.
#[derive(Clone)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// Whether it has a header `WWW-Authenticate`.
    pub(super) challenges: bool,
    /// Where it says that its description is.
    pub(super) description: Option<String>,
}

/// The address of a server, as it is typed into a client.
pub(super) fn server_url(text: &str) -> anyhow::Result<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        Hinted::error(
            format!("{text:?} is not the address of an MCP server"),
            "write it as your client has it, such as https://tools.example.com/mcp",
        )
    })
}

impl Probe {
    pub(super) fn new(trust: Trust) -> Self {
        let client = Client::trusting(ClientLimits::default(), trust);
        Self { client, documents: HashMap::new(), refusals: HashMap::new() }
    }

    /// How the server answers the first message of a client that has no token.
    pub(super) async fn introduce(&mut self, server: &Url) -> Result<Refused, String> {
        if let Some(known) = self.refusals.get(server.as_str()) {
            return known.clone();
        }
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": REVISION, "capabilities": {},
                "clientInfo": {"name": "toolrail-doctor", "version": crate::identity::version()},
            },
        });
        let body = Bytes::from(hello.to_string());
        let asked = self.send(Method::POST, server.as_str(), body).await;
        let told = asked.map(|answer| Refused {
            status: answer.status,
            challenges: answer.headers.contains_key(WWW_AUTHENTICATE),
            description: description_in(&answer.headers),
        });
        self.refusals.insert(server.to_string(), told.clone());
        told
    }

    /// A JSON document that anybody may read.
    pub(super) async fn document(&mut self, url: &str) -> Result<Value, String> {
        if let Some(known) = self.documents.get(url) {
            return known.clone();
        }
        let read = match self.send(Method::GET, url, Bytes::new()).await {
            Ok(answer) if answer.status == StatusCode::OK => serde_json::from_slice::<Value>(&answer.body)
                .ok()
                .filter(Value::is_object)
                .ok_or_else(|| "what it answers is no JSON object".to_owned()),
            Ok(answer) => Err(format!("it answered {}", answer.status)),
            Err(reason) => Err(reason),
        };
        self.documents.insert(url.to_owned(), read.clone());
        read
    }

    async fn send(&self, method: Method, url: &str, body: Bytes) -> Result<Incoming, String> {
        let uri: Uri = url.parse().map_err(|_| "it is no address".to_owned())?;
        let mut headers = HeaderMap::new();
        let accepted = if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            "application/json, text/event-stream"
        } else {
            "application/json"
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accepted));
        let (secret_body, sensitive, bound) = (false, Sensitive::default(), Bound::default());
        let request = Outgoing { method, uri, headers, body, secret_body, limits: LIMITS, sensitive, bound };
        self.client.send(request).await.map_err(|failure| failure.error.message)
    }
}

/// Where the headers of a refusal say that the description of the server is (RFC 9728).
fn description_in(headers: &HeaderMap) -> Option<String> {
    const MEMBER: &str = "resource_metadata=";
    let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let mut rests = texts.filter_map(|text| text.split_once(MEMBER).map(|(_, rest)| rest));
    let rest = rests.next()?;
    let value = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ' ']).next(),
    };
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_tells_where_the_description_is_however_it_is_written() {
        let told = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(value));
            description_in(&headers)
        };
        let there = Some("https://a.example/x".to_owned());
        assert_eq!(told("Bearer realm=\"a\", resource_metadata=\"https://a.example/x\", scope=\"b\""), there);
        assert_eq!(told("Bearer resource_metadata=https://a.example/x, scope=\"b\""), there);
        assert_eq!(told("Bearer realm=\"a\""), None);
        assert_eq!(told("Bearer resource_metadata=\"\""), None);
    }
}
