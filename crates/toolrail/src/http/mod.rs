//! The HTTP listener: bounded connections, slow clients cut off, requests guarded, and an orderly end. It knows
//! nothing of what the routes do.

mod guard;

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use ::http::{Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolrail_mcp::{Pieces, Server};
use tower::Service;

pub(crate) use guard::Guard;

/// How long a client may take over its request line and headers, and how long it may keep an idle connection.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long calls under way may take to finish when the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// The most connections at once; more wait to be accepted.
const MOST_CONNECTIONS: usize = 16_384;

/// Raises the number of files this process may have open as far as it may. Every connection is one, every upstream
/// connection another, and the usual limit of 1024 (256 on macOS) is soon reached.
pub(crate) fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // macOS names no maximum but refuses more than this.
    let current = limit.maximum.map_or(10_240, |most| most.min(65_536));
    if limit.current.is_some_and(|now| now < current)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit })
    {
        tracing::debug!(%error, "limit of open files stays as it is");
    }
}

/// Serves until `stop`, then lets requests under way finish unless `hurry` comes first.
pub(crate) async fn serve(
    listener: TcpListener,
    served: Arc<Guarded>,
    stop: impl Future<Output = ()>,
    hurry: impl Future<Output = ()>,
) {
    let tracker = TaskTracker::new();
    let stopping = CancellationToken::new();
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE);
    let mut stop = pin!(stop);
    loop {
        let (stream, slot) = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = &mut stop => break,
        };
        let served = Arc::clone(&served);
        let service = service_fn(move |request| {
            let served = Arc::clone(&served);
            async move { served.answer(request).await }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let stopping = stopping.clone();
        tracker.spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended early");
            }
            drop(slot);
        });
    }
    drop(listener);
    stopping.cancel();
    tracker.close();
    tokio::select! {
        () = tracker.wait() => {}
        () = tokio::time::sleep(STOP_PATIENCE) => {
            tracing::warn!(connections = tracker.len(), "stopped before every request was finished");
        }
        () = hurry => {}
    }
}

/// The next connection. Running out of file descriptors passes, so it is waited out rather than treated as the end.
async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY was refused");
                }
                return (stream, slot);
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// What is served, behind the guard: the MCP endpoint without detour, everything else by its route.
pub(crate) struct Guarded {
    pub(crate) guard: Guard,
    pub(crate) mcp: Arc<Server>,
    pub(crate) routes: Router,
}

impl Guarded {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Either<Pieces, Body>>, Infallible> {
        if let Err(refusal) = self.guard.check(request.headers()) {
            return Ok(refusal.into_response().map(Either::Right));
        }
        if request.uri().path() == toolrail_mcp::ENDPOINT {
            return Ok(self.mcp.answer_http(request).await.map(Either::Left));
        }
        let Ok(response) = self.routes.clone().call(request).await;
        Ok(response.map(Either::Right))
    }
}
