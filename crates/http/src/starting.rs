//! While definitions are loaded for the first time: whoever asks is told so at once, rather than kept waiting.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::tls::{Offered, Tls, shake_hands};

/// The most connections that are answered at once; more wait.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may take over its request, and how long answers under way are waited for at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does the work, and meanwhile answers that the server lives but is not ready.
pub async fn answer_while<T>(
    (listener, tls): (&TcpListener, Option<&Arc<Tls>>),
    version: &'static str,
    work: impl Future<Output = T>,
) -> T {
    let mut connections = JoinSet::new();
    let done = tokio::select! {
        done = work => done,
        never = answer_all((listener, tls), version, &mut connections) => match never {},
    };
    let _ = tokio::time::timeout(PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
    done
}

async fn answer_all(
    (listener, tls): (&TcpListener, Option<&Arc<Tls>>),
    version: &'static str,
    connections: &mut JoinSet<()>,
) -> Infallible {
    loop {
        while connections.len() >= MOST_CONNECTIONS {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                let tls = tls.cloned();
                connections.spawn(async move {
                    let _ = tokio::time::timeout(PATIENCE * 2, answer_one(stream, tls, version)).await;
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn answer_one(stream: TcpStream, tls: Option<Arc<Tls>>, version: &'static str) {
    let Some(tls) = tls else {
        return answer_on(stream, version).await;
    };
    if let Some(settled) = shake_hands(stream, &tls, Offered::Http1).await {
        answer_on(settled.stream, version).await;
    }
}

async fn answer_on(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, version: &'static str) {
    let answer = service_fn(async move |request| Ok::<_, Infallible>(answer(&request, version)));
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), answer);
    let _ = connection.await;
}

fn answer(request: &Request<Incoming>, version: &str) -> Response<Full<Bytes>> {
    let (status, body) = if request.uri().path() == "/healthz" {
        (StatusCode::OK, json!({"status": "ok", "version": version}))
    } else {
        let message = "the definitions are being loaded; ask again in a moment";
        let error = json!({"code": "STARTING", "message": message});
        (StatusCode::SERVICE_UNAVAILABLE, json!({"ok": false, "status": "starting", "error": error}))
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}
