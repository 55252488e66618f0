//! An upstream that answers every request with what it received.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The upstream; it stops when it is dropped.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<AtomicUsize>,
    pub(crate) connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Echo {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener)
    }

    pub(crate) fn on(listener: TcpListener) -> Self {
        let address = listener.local_addr().unwrap();
        let (requests, connections) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, requests.clone(), connections.clone()));
        Self { address, requests, connections, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn serve(listener: TcpListener, requests: Arc<AtomicUsize>, connections: Arc<AtomicUsize>) {
    let mut tasks = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.fetch_add(1, Ordering::SeqCst);
        let requests = requests.clone();
        let port = listener.local_addr().unwrap().port();
        let service = service_fn(move |request| {
            requests.fetch_add(1, Ordering::SeqCst);
            answer(request, port)
        });
        tasks.spawn(async move {
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>, port: u16) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    if head.uri.path() == "/file.bin" {
        return Ok(Response::builder()
            .header("content-type", "image/png")
            .body(Full::new(Bytes::from_static(b"\x89PNG")))
            .unwrap());
    }
    if let Some(page) = page(head.uri.path()) {
        return Ok(page);
    }
    if head.uri.path() == "/hang" {
        std::future::pending::<()>().await;
    }
    if head.uri.path() == "/away" {
        let target = head.uri.query().unwrap_or_default();
        return Ok(Response::builder().status(307).header("location", target).body(Full::default()).unwrap());
    }
    if head.uri.path() == "/redirect" {
        return Ok(Response::builder()
            .status(302)
            .header("location", "/landed")
            .body(Full::default())
            .unwrap());
    }
    let headers: Vec<Value> = head
        .headers
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    let received = json!({
        "port": port,
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "query": head.uri.query(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
        "bytes": body.to_vec(),
    });
    let response = Response::builder().header("content-type", "application/json");
    Ok(response.body(Full::new(Bytes::from(received.to_string()))).unwrap())
}

/// Pages with a content of their own.
fn page(path: &str) -> Option<Response<Full<Bytes>>> {
    let (status, content_type, body) = match path {
        "/page.md" => (200, "text/markdown; charset=utf-8", "# Page"),
        "/bare" => (200, "", "bare text"),
        "/empty" => (204, "", ""),
        "/denied" => (401, "text/plain", "who are you?"),
        "/gone" => (404, "text/plain", "no such page"),
        "/problem" => (200, "application/problem+json", r#"{"a": 1}"#),
        "/messages" => (
            200,
            "application/json",
            r#"{"messages":[{"role":"assistant","content":{"type":"text","text":"hi"}}],"x":1}"#,
        ),
        "/chat" => (200, "application/json", r#"{"messages":[{"id":1}]}"#),
        _ => return None,
    };
    let mut response = Response::builder().status(status);
    if !content_type.is_empty() {
        response = response.header("content-type", content_type);
    }
    Some(response.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap())
}
