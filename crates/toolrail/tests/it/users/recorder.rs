//! An MCP server that remembers who came with what: each request with its token and its session. It says whose token it was shown,
//! and notes whatever two of them have together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Which revisions it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    Modern,
    Legacy,
}

/// The server.
#[derive(Clone)]
pub(super) struct Recorder(Arc<Records>);

struct Records {
    url: String,
    speaks: Speaks,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    seen: Vec<Seen>,
    sessions: HashMap<String, Opened>,
    /// Who began each task.
    tasks: BTreeMap<String, String>,
    /// What should not have happened.
    faults: Vec<String>,
    refused: BTreeSet<String>,
    /// What must be shown to list anything; nothing if anybody may.
    list_token: Option<String>,
    /// Whether something must be shown for everything.
    wants_token: bool,
    /// What a 401 says of where tokens are to be had.
    challenge: Option<String>,
}

struct Opened {
    authorization: String,
    stream: Option<mpsc::UnboundedSender<Result<Bytes, Infallible>>>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The method of the message, or `GET` or `DELETE`.
    pub(super) method: String,
    /// `Authorization`, as it came.
    pub(super) authorization: String,
    pub(super) session: Option<String>,
}

impl Recorder {
    pub(super) async fn start(speaks: Speaks) -> Self {
        Self::with(speaks, Router::new()).await
    }

    /// One that has those addresses too.
    pub(super) async fn with(speaks: Speaks, beside: Router) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let recorder = Self(Arc::new(Records { url, speaks, inner: Mutex::default() }));
        let routes = Router::new().route("/mcp", post(posted).get(streamed).delete(ended));
        let routes = routes.with_state(recorder.clone()).merge(beside);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        recorder
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.0.url)
    }

    pub(super) fn origin(&self) -> &str {
        &self.0.url
    }

    /// From now on lists are for those only who show that.
    pub(super) fn list_for(&self, token: &str) {
        self.inner(|inner| inner.list_token = Some(format!("Bearer {token}")));
    }

    /// From now on whoever shows no token is told that, and nothing else.
    pub(super) fn challenge(&self, challenge: &str) {
        self.inner(|inner| (inner.challenge, inner.wants_token) = (Some(challenge.to_owned()), true));
    }

    /// From now on that token is good no more.
    pub(super) fn refuse(&self, token: &str) {
        self.inner(|inner| inner.refused.insert(format!("Bearer {token}")));
    }

    pub(super) fn seen(&self, method: &str) -> Vec<Seen> {
        self.inner(|inner| inner.seen.iter().filter(|seen| seen.method == method).cloned().collect())
    }

    /// What two callers had together.
    pub(super) fn faults(&self) -> Vec<String> {
        self.inner(|inner| inner.faults.clone())
    }

    /// Tells those who hold sessions with that token that a resource has changed.
    pub(super) fn tell(&self, authorization: &str, uri: &str) {
        let notice =
            json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
        self.inner(|inner| {
            for opened in inner.sessions.values().filter(|opened| opened.authorization == authorization) {
                if let Some(stream) = &opened.stream {
                    let _ = stream.send(Ok(Bytes::from(format!("data: {notice}\n\n"))));
                }
            }
        });
    }

    fn inner<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.0.inner.lock().unwrap())
    }

    /// Notes a request; the answer, if it is refused.
    fn note(&self, method: &str, headers: &HeaderMap) -> Result<Seen, Box<Response>> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let authorization = text(AUTHORIZATION.as_str()).unwrap_or_default();
        let seen = Seen { method: method.to_owned(), authorization, session: text("mcp-session-id") };
        self.inner(|inner| {
            inner.seen.push(seen.clone());
            let is_list = method.ends_with("/list");
            let wanted = inner.list_token.as_ref().filter(|_| is_list || seen.authorization.is_empty());
            let is_stranger = wanted.is_some_and(|wanted| *wanted != seen.authorization);
            let is_nobody = inner.wants_token && seen.authorization.is_empty();
            if is_nobody || is_stranger || inner.refused.contains(&seen.authorization) {
                let mut refused = plain(StatusCode::UNAUTHORIZED);
                if let Some(challenge) = &inner.challenge {
                    refused.headers_mut().insert("www-authenticate", challenge.parse().unwrap());
                }
                return Err(Box::new(refused));
            }
            let Some(session) = &seen.session else { return Ok(seen) };
            let Some(opened) = inner.sessions.get(session) else {
                return Err(Box::new(plain(StatusCode::NOT_FOUND)));
            };
            if subject(&opened.authorization) != subject(&seen.authorization) {
                let fault = format!("{seen:?} in the session of {:?}", subject(&opened.authorization));
                inner.faults.push(fault);
            }
            Ok(seen)
        })
    }
}

/// Whose token it is.
pub(super) fn subject(authorization: &str) -> String {
    let token = authorization.trim_start_matches("Bearer ");
    let claims = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<Value> = claims.and_then(|claims| serde_json::from_slice(&claims).ok());
    if let Some(given) = token.strip_prefix("access-") {
        return given.split('-').next().unwrap_or_default().to_owned();
    }
    match claims {
        Some(claims) => claims["sub"].as_str().unwrap_or_default().to_owned(),
        None => token.to_owned(),
    }
}

fn plain(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

async fn posted(State(recorder): State<Recorder>, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let method = message["method"].as_str().unwrap_or("answer").to_owned();
    let seen = match recorder.note(&method, &headers) {
        Ok(seen) => seen,
        Err(refused) => return *refused,
    };
    if message.get("id").is_none() || method == "answer" {
        return plain(StatusCode::ACCEPTED);
    }
    let mut begun = None;
    let answered = result(&recorder, &seen, &message, &mut begun);
    let body = match answered {
        Ok(result) => json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
    };
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    if let Some(session) = begun {
        response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    }
    response
}

fn result(
    recorder: &Recorder,
    seen: &Seen,
    message: &Value,
    begun: &mut Option<String>,
) -> Result<Value, Value> {
    let capabilities = json!({
        "tools": {}, "prompts": {}, "resources": {"subscribe": true}, "tasks": {"requests": {"tools": {"call": {}}}},
    });
    let params = &message["params"];
    let who = subject(&seen.authorization);
    let told = json!({"who": who, "session": seen.session}).to_string();
    let is_modern = recorder.0.speaks == Speaks::Modern;
    // Who calls says so, and must be the one whose token is shown.
    if let Some(said) = params["arguments"]["as"].as_str().filter(|said| *said != who) {
        recorder.inner(|inner| inner.faults.push(format!("{said} called with the token of {who}")));
    }
    Ok(match seen.method.as_str() {
        "server/discover" if is_modern => {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities})
        }
        "initialize" if !is_modern => {
            let opened = Opened { authorization: seen.authorization.clone(), stream: None };
            let session = recorder.inner(|inner| {
                let session = format!("session-{}", inner.sessions.len() + 1);
                inner.sessions.insert(session.clone(), opened);
                session
            });
            *begun = Some(session);
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "recorder", "version": "1"}})
        }
        "ping" | "resources/subscribe" | "resources/unsubscribe" => json!({}),
        "tools/list" => json!({"tools": [
            {"name": "whoami", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}},
        ]}),
        "prompts/list" => json!({"prompts": [{"name": "mine"}]}),
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": told}}]})
        }
        "resources/list" => json!({"resources": [{"uri": "mine://all", "name": "mine"}]}),
        "resources/templates/list" => json!({"resourceTemplates": []}),
        "resources/read" => json!({"contents": [{"uri": params["uri"], "text": told}]}),
        "tools/call" if params.get("task").is_some() => {
            let id = recorder.inner(|inner| {
                let id = format!("task-{}", inner.tasks.len() + 1);
                inner.tasks.insert(id.clone(), who.clone());
                id
            });
            json!({"task": task(&id)})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": told}]}),
        "tasks/get" => {
            let id = params["taskId"].as_str().unwrap_or_default();
            recorder.inner(|inner| {
                if inner.tasks.get(id).is_some_and(|of| *of != who) {
                    inner.faults.push(format!("{who} asked for {id}, which is of somebody else"));
                }
            });
            task(id)
        }
        _ => return Err(json!({"code": -32601, "message": "no such method"})),
    })
}

fn task(id: &str) -> Value {
    let at = "2026-01-01T00:00:00Z";
    json!({"taskId": id, "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttl": 60000})
}

async fn streamed(State(recorder): State<Recorder>, headers: HeaderMap) -> Response {
    let seen = match recorder.note("GET", &headers) {
        Ok(Seen { session: Some(session), .. }) => session,
        Ok(_) => return plain(StatusCode::METHOD_NOT_ALLOWED),
        Err(refused) => return *refused,
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    recorder.inner(|inner| inner.sessions.get_mut(&seen).unwrap().stream = Some(sender));
    let events = futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|event| (event, receiver))
    });
    let mut response = Response::new(Body::from_stream(events));
    response.headers_mut().insert(CONTENT_TYPE, "text/event-stream".parse().unwrap());
    response
}

async fn ended(State(recorder): State<Recorder>, headers: HeaderMap) -> Response {
    match recorder.note("DELETE", &headers) {
        Ok(_) => plain(StatusCode::NO_CONTENT),
        Err(refused) => *refused,
    }
}
