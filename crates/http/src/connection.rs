//! One connection of a client from its beginning to its end, over HTTP/1.1 or, with TLS, over HTTP/2.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HOST, HeaderValue, STRICT_TRANSPORT_SECURITY};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolrail_core::{PeerAddress, SelfWakes};

use super::answered::WatchedBody;
use super::listen::Listen;
use super::watched::{Activity, Watched};
use super::{AnyBody, Guest, PATIENCE, Plane, Reader, Served};

/// Browsers use nothing but TLS for this host for a year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The most requests at once by one connection of HTTP/2.
const MOST_STREAMS: u32 = 128;
/// The most bytes of headers of one request of HTTP/2.
const MOST_HEADER_BYTES: u32 = 64 * 1024;
/// How much of a body a client may send ahead of what is read, for one request and for all of a connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// How much of an answer waits for one client.
const MOST_SENT_AHEAD: usize = 256 * 1024;
/// The most requests that a client may take back before they are looked at, and that we may refuse, before the connection ends.
const MOST_TAKEN_BACK: usize = 20;
const MOST_FAULTS: usize = 128;
/// How often a client of HTTP/2 is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);
/// How long a client of HTTP/2 that is sent away may take to go.
const FAREWELL: Duration = Duration::from_secs(2);

/// A connection that was accepted.
pub(super) struct Newcomer<L: Listen> {
    pub(super) accepted: L::Accepted,
    pub(super) peer: Option<PeerAddress>,
    pub(super) plane: Plane,
    pub(super) served: Arc<Served>,
}

impl<L: Listen> Newcomer<L> {
    /// Serves it to its end. Requests of HTTP/2 run beside one another, counted by `streams`.
    pub(super) async fn serve(self, stopping: CancellationToken, streams: TaskTracker) {
        let Self { accepted, peer, plane, served } = self;
        let settled = tokio::select! {
            biased;
            settled = L::settle(accepted) => settled,
            () = stopping.cancelled() => return,
        };
        let Some((stream, manners)) = settled else {
            return;
        };
        let is_http2 = manners.is_http2;
        let guest = Arc::new(Guest::at(peer, plane, manners.tls));
        let connection = Connection { stream, guest, served };
        if is_http2 {
            // Boxed, so that connections of HTTP/1.1 do not keep the room.
            Box::pin(connection.serve_http2(stopping, streams)).await;
        } else {
            connection.serve_http1(stopping).await;
        }
    }
}

/// One connection of a client.
struct Connection<S> {
    stream: S,
    guest: Arc<Guest>,
    served: Arc<Served>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Connection<S> {
    async fn serve_http1(self, stopping: CancellationToken) {
        let Self { stream, guest, served } = self;
        let activity = Arc::new(Activity::default());
        let service = service(served, guest, Arc::clone(&activity));
        let stream = TokioIo::new(Watched::new(stream, Arc::clone(&activity)));
        let connection = http1::Builder::new().serve_connection(stream, service).with_upgrades();
        let mut connection = pin!(connection);
        // Reading a request, answering it and writing the answer are parts of one task, which tell one another how far they are.
        let wakes = SelfWakes::default();
        let ended = tokio::select! {
            biased;
            ended = wakes.run(connection.as_mut()) => ended,
            () = activity.stays_away(PATIENCE) => {
                tracing::debug!("idle or slow connection closed");
                return;
            }
            () = stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                wakes.run(connection).await
            }
        };
        tell_end(ended);
    }

    async fn serve_http2(self, stopping: CancellationToken, streams: TaskTracker) {
        let Self { stream, guest, served } = self;
        let activity = Arc::new(Activity::default());
        let service = service(served, guest, Arc::clone(&activity));
        let stream = TokioIo::new(Watched::without_pings(stream, Arc::clone(&activity)));
        let mut connection = pin!(http2_builder(streams).serve_connection(stream, service));
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = activity.stays_away(PATIENCE) => {
                tracing::debug!("idle or slow connection closed");
                connection.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(FAREWELL, connection).await;
                return;
            }
            () = stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        tell_end(ended);
    }
}

fn tell_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}

fn http2_builder(streams: TaskTracker) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams(streams));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(MOST_HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MOST_SENT_AHEAD)
        .max_pending_accept_reset_streams(MOST_TAKEN_BACK)
        .max_local_error_reset_streams(MOST_FAULTS)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    builder
}

/// Where the requests of a connection of HTTP/2 run.
#[derive(Clone)]
struct Streams(TaskTracker);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        self.0.spawn(stream);
    }
}

type Answered = Response<WatchedBody<AnyBody>>;

/// What answers the requests of a connection.
fn service(
    served: Arc<Served>,
    guest: Arc<Guest>,
    activity: Arc<Activity>,
) -> impl Service<
    Request<Incoming>,
    Response = Answered,
    Error = Infallible,
    Future = impl Future<Output = Result<Answered, Infallible>> + Send + 'static,
> {
    service_fn(move |request| {
        let (served, activity) = (served.load_full(), Arc::clone(&activity));
        let guest = Arc::clone(&guest);
        async move {
            activity.begin();
            let mut answer = served.answer(with_host(request), &guest).await;
            if guest.hears_hsts() {
                answer.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HSTS);
            }
            let expulsion = answer.extensions_mut().remove::<Reader>().map(Reader::expulsion);
            Ok::<_, Infallible>(WatchedBody::new(answer, activity, expulsion))
        }
    })
}

/// HTTP/2 has the host in another place. Where both are there and differ, both stay, which nobody accepts (RFC 9113, 8.3.1).
fn with_host(mut request: Request<Incoming>) -> Request<Incoming> {
    if let Some(authority) = request.uri().authority()
        && request.version() == http::Version::HTTP_2
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
        && request.headers().get(HOST) != Some(&host)
    {
        request.headers_mut().append(HOST, host);
    }
    request
}
