//! A real HTTP service on loopback that tools can be pointed at: it echoes, delays, fails and redirects on demand,
//! and remembers what it was asked.

mod routes;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// How many requests are remembered in full.
const REMEMBERED: usize = 1000;

const MAX_BODY: usize = 64 * 1024 * 1024;

/// The service; its connections are cut when it is dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The path, as it was on the wire.
    pub path: String,
    /// The query, as it was on the wire.
    pub query: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// An answer laid down for a path.
#[derive(Clone, Debug)]
pub struct Canned {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

#[derive(Debug, Default)]
struct Shared {
    memory: Mutex<Memory>,
    abandoned: AtomicUsize,
}

#[derive(Debug, Default)]
struct Memory {
    counts: HashMap<String, usize>,
    received: VecDeque<Received>,
    canned: HashMap<String, Canned>,
}

impl Upstream {
    /// Starts the service on a free port. What it answers stands in the table in `routes.rs`.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepting = Some(tokio::spawn(accept(listener, shared.clone())));
        Ok(Self { address, shared, accepting })
    }

    /// The URL of `path`, which begins with a slash or is empty.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Where it listens, also while it is stopped.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests for `path`, whatever the method and query, with `answer` from now on.
    pub fn answer(&self, path: &str, answer: Canned) {
        self.shared.memory().canned.insert(path.to_owned(), answer);
    }

    /// How many requests for `path` have arrived in full.
    pub fn count(&self, path: &str) -> usize {
        self.shared.memory().counts.get(path).copied().unwrap_or_default()
    }

    /// How many requests have arrived in full.
    pub fn total(&self) -> usize {
        self.shared.memory().counts.values().sum()
    }

    /// How many requests the client gave up before they were answered.
    pub fn abandoned(&self) -> usize {
        self.shared.abandoned.load(Ordering::Relaxed)
    }

    /// The last requests for `path`, oldest first.
    pub fn received(&self, path: &str) -> Vec<Received> {
        self.shared.memory().received.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// Stops listening and cuts every connection, as a crash would.
    pub async fn stop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // Ends with the error "cancelled"; only then is the port free.
            drop(accepting.await);
        }
    }

    /// Listens again on the same port.
    pub async fn restart(&mut self) -> Result<()> {
        self.stop().await;
        let listener = TcpListener::bind(self.address).await?;
        self.accepting = Some(tokio::spawn(accept(listener, self.shared.clone())));
        Ok(())
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

impl Canned {
    /// A JSON answer.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// An answer of any media type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// The same answer with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the request and gives the answer laid down for it, if any.
    fn remember(&self, request: &Received) -> Option<Canned> {
        let mut memory = self.memory();
        *memory.counts.entry(request.path.clone()).or_default() += 1;
        memory.received.push_back(request.clone());
        if memory.received.len() > REMEMBERED {
            memory.received.pop_front();
        }
        memory.canned.get(&request.path).cloned()
    }
}

/// Counts a request as abandoned unless it is answered.
struct Pending<'a>(Option<&'a AtomicUsize>);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.0 {
            abandoned.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Connections end with this future, so that stopping cuts them.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Best effort: without it the answers only come later.
                drop(stream.set_nodelay(true));
                let shared = shared.clone();
                connections.spawn(async move {
                    let service = service_fn(|request| serve(request, &shared));
                    let served = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                    // A client that goes away is part of many tests.
                    drop(served);
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(request: Request<Incoming>, shared: &Shared) -> Result<Response<Full<Bytes>>> {
    let mut pending = Pending(Some(&shared.abandoned));
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(anyhow::Error::from_boxed)?.to_bytes();
    let request = Received {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().map(str::to_owned),
        headers: head.headers,
        body,
    };
    let canned = match shared.remember(&request) {
        Some(canned) => Ok(canned),
        None => routes::answer(&request).await,
    };
    pending.0 = None;
    let canned = canned?;
    let mut response = Response::builder().status(canned.status);
    for (name, value) in &canned.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(canned.body))?)
}
