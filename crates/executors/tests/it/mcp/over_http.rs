//! The scripted server over Streamable HTTP: stateless in the modern era, with sessions, a stream of their own and resuming
//! in the legacy one.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::script::{Eras, Out, Script};

type Body = BoxBody<Bytes, Infallible>;

/// The server; its connections are cut when it is dropped.
pub(crate) struct HttpServer {
    pub(crate) address: SocketAddr,
    pub(crate) script: Arc<Script>,
    pub(crate) shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

pub(crate) struct Shared {
    script: Arc<Script>,
    /// The streams of the sessions there are.
    pub(crate) sessions: Mutex<HashMap<String, Option<mpsc::UnboundedSender<String>>>>,
    pub(crate) ended: Mutex<Vec<String>>,
    pub(crate) headers: Mutex<Vec<(String, HeaderMap)>>,
    /// Results that a client comes back for.
    kept: Mutex<HashMap<String, String>>,
    count: Mutex<u64>,
    /// How many connections there have been.
    pub(crate) connections: AtomicUsize,
}

impl HttpServer {
    pub(crate) async fn start(eras: Eras) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, Script::new(eras))
    }

    pub(crate) fn on(listener: TcpListener, script: Arc<Script>) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: script.clone(),
            sessions: Mutex::default(),
            ended: Mutex::default(),
            headers: Mutex::default(),
            kept: Mutex::default(),
            count: Mutex::default(),
            connections: AtomicUsize::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, shared.clone()));
        Self { address, script, shared, tasks }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Stops listening and cuts every connection.
    pub(crate) async fn stop(mut self) -> (SocketAddr, Arc<Script>) {
        self.tasks.shutdown().await;
        (self.address, self.script)
    }

    /// The headers that came with messages of that method.
    pub(crate) fn headers_of(&self, method: &str) -> Vec<HeaderMap> {
        let seen = self.shared.headers.lock().unwrap();
        seen.iter().filter(|(name, _)| name == method).map(|(_, headers)| headers.clone()).collect()
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut tasks = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let shared = shared.clone();
        shared.connections.fetch_add(1, Ordering::SeqCst);
        tasks.spawn(async move {
            let service = service_fn(move |request| answer(request, shared.clone()));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let session = head.headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    if let Some(id) = &session
        && !shared.sessions.lock().unwrap().contains_key(id)
    {
        return Ok(plain(404, r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"no session"}}"#));
    }
    Ok(match head.method {
        Method::POST => {
            let body = body.collect().await.unwrap().to_bytes();
            let text = String::from_utf8(body.to_vec()).unwrap();
            post(&shared, text, head.headers, session)
        }
        Method::GET if shared.script.eras != Eras::Modern => get(&shared, &head.headers, session),
        Method::DELETE if shared.script.eras != Eras::Modern => {
            let id = session.unwrap();
            shared.sessions.lock().unwrap().remove(&id);
            shared.ended.lock().unwrap().push(id);
            plain(200, "")
        }
        _ => plain(405, ""),
    })
}

fn post(shared: &Arc<Shared>, text: String, headers: HeaderMap, session: Option<String>) -> Response<Body> {
    let message: Value = serde_json::from_str(&text).unwrap();
    let method = message["method"].as_str().unwrap_or("answer").to_owned();
    shared.headers.lock().unwrap().push((method.clone(), headers));
    let is_legacy = shared.script.eras == Eras::Legacy;
    if is_legacy && session.is_none() && method != "initialize" {
        return plain(400, "Bad Request: no session");
    }
    let beside = session.as_ref().and_then(|id| shared.sessions.lock().unwrap()[id].clone());
    let (messages, mut out) = mpsc::unbounded_channel();
    let (script, for_later) = (shared.script.clone(), text.clone());
    if message["params"]["name"] == "polling" {
        return polling(shared, &message);
    }
    let running = tokio::spawn(async move { script.take(&for_later, Out { messages, beside }).await });
    if message["id"].is_null() || message["method"].is_null() {
        return plain(202, "");
    }
    let streams = matches!(
        method.as_str(),
        "tools/call" | "tasks/result" | "subscriptions/listen" | "initialize" | "completion/complete"
    );
    let kind = if streams { "text/event-stream" } else { "application/json" };
    let mut response = Response::builder().header("content-type", kind);
    if method == "initialize" {
        let mut count = shared.count.lock().unwrap();
        *count += 1;
        let id = format!("session-{count}");
        shared.sessions.lock().unwrap().insert(id.clone(), None);
        response = response.header("mcp-session-id", id);
    }
    let stream = async_stream(async move |events: mpsc::UnboundedSender<String>| {
        if streams {
            // Comments and odd line ends are part of the format.
            let _ = events.send(": hello\r\n\r\n".into());
        }
        let mut ended = false;
        while !ended {
            tokio::select! {
                message = out.recv() => match message {
                    Some(message) if streams => drop(events.send(format!("event: message\ndata: {message}\n\n"))),
                    Some(message) => drop(events.send(message)),
                    None => ended = true,
                },
                () = events.closed() => ended = true,
            }
        }
        // Dropping `out` tells the script that nobody listens.
        drop(out);
        drop(running);
    });
    response.body(stream).unwrap()
}

/// Closes the stream at once; the answer waits for whoever comes back.
fn polling(shared: &Arc<Shared>, message: &Value) -> Response<Body> {
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "polled": true}});
    shared.kept.lock().unwrap().insert("e1".into(), answer.to_string());
    let body = Full::new(Bytes::from_static(b"id: e1\nretry: 10\ndata:\n\n")).boxed();
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

fn get(shared: &Arc<Shared>, headers: &HeaderMap, session: Option<String>) -> Response<Body> {
    if let Some(id) = headers.get("last-event-id") {
        let kept = shared.kept.lock().unwrap().remove(id.to_str().unwrap()).unwrap();
        let body = Full::new(Bytes::from(format!("id: e2\ndata: {kept}\n\n"))).boxed();
        return Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
    }
    let (messages, mut out) = mpsc::unbounded_channel();
    if shared.script.asks_for_roots.load(Ordering::SeqCst) {
        let _ = messages.send(json!({"jsonrpc": "2.0", "id": "roots", "method": "roots/list"}).to_string());
    }
    shared.sessions.lock().unwrap().insert(session.unwrap(), Some(messages));
    let mut told = shared.script.told.subscribe();
    let stream = async_stream(async move |events: mpsc::UnboundedSender<String>| {
        loop {
            let message = tokio::select! {
                message = out.recv() => message,
                message = told.recv() => message.ok(),
                () = events.closed() => None,
            };
            let Some(message) = message else { return };
            let _ = events.send(format!("data: {message}\n\n"));
        }
    });
    Response::builder().header("content-type", "text/event-stream").body(stream).unwrap()
}

/// A body that `run` writes.
fn async_stream<F: Future<Output = ()> + Send + 'static>(
    run: impl FnOnce(mpsc::UnboundedSender<String>) -> F,
) -> Body {
    let (events, receiver) = mpsc::unbounded_channel();
    tokio::spawn(run(events));
    let stream = futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|text| (text, receiver))
    });
    BodyExt::boxed(StreamBody::new(stream.map(|text| Ok(Frame::data(Bytes::from(text))))))
}

fn plain(status: u16, body: &'static str) -> Response<Body> {
    Response::builder().status(status).body(Full::new(Bytes::from_static(body.as_bytes())).boxed()).unwrap()
}
