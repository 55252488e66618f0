//! Connections that are kept open, by origin. Each is driven by the request that uses it, within that request's own
//! task: nothing has to be woken in between, and dropping the request drops the connection. It is by hand because the client of
//! hyper-util drives each connection in a task of its own, which has to be woken for every request and every answer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use foldhash::quality::RandomState;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use http::Uri;
use http::uri::{Authority, Scheme};
use http_body_util::Full;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use toolrail_core::SelfWakes;

use super::ClientLimits;
use super::connect::{BoxError, OutboundConnector, peer};

type PooledStream = MaybeHttpsStream<TokioIo<TcpStream>>;
type Moving = Connection<PooledStream, Full<Bytes>>;

/// Connections to every origin.
pub(super) struct Pool {
    connector: OutboundConnector,
    idle: Arc<IdleConnections>,
    /// Closes what has been idle for too long; starts with the first connection that is kept.
    sweeper: OnceLock<AbortHandle>,
}

/// Connections that nobody uses.
struct IdleConnections {
    limits: ClientLimits,
    /// By a quick hash: that of an authority goes byte by byte, twice for every call.
    by_origin: Mutex<HashMap<ConnectionOrigin, Vec<Kept>, RandomState>>,
}

/// Scheme, host and port.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ConnectionOrigin {
    is_https: bool,
    authority: Authority,
}

struct Kept {
    link: Link,
    since: Instant,
}

/// One connection.
pub(super) struct Link {
    origin: ConnectionOrigin,
    pub(super) sender: SendRequest<Full<Bytes>>,
    driver: Driver,
    /// Its two sides wake one another.
    wakes: SelfWakes,
    /// Whose end it is, if that is known.
    pub(super) peer: Option<IpAddr>,
    /// Whether it has carried a request before.
    pub(super) is_used: bool,
}

/// The side of a connection that moves bytes; it must be polled for anything to happen.
struct Driver(Option<Pin<Box<Moving>>>);

impl Pool {
    pub(super) fn new(limits: ClientLimits, connector: OutboundConnector) -> Self {
        let idle = Arc::new(IdleConnections { limits, by_origin: Mutex::default() });
        Self { connector, idle, sweeper: OnceLock::new() }
    }

    /// A connection to the origin of `uri`: one that was kept, or a new one made `within` that time.
    pub(super) async fn link(&self, uri: &Uri, within: Duration) -> Result<Link, BoxError> {
        let origin = ConnectionOrigin::of(uri);
        while let Some(mut link) = self.idle.take(&origin) {
            if link.is_ready().await {
                return Ok(link);
            }
        }
        self.fresh(uri, within).await
    }

    /// A new connection to the origin of `uri`. Boxed, because making one takes much more room than using one, and every
    /// call would carry that room along.
    pub(super) fn fresh<'a>(
        &'a self,
        uri: &'a Uri,
        within: Duration,
    ) -> BoxFuture<'a, Result<Link, BoxError>> {
        Box::pin(self.connect(uri, within))
    }

    async fn connect(&self, uri: &Uri, within: Duration) -> Result<Link, BoxError> {
        let stream = self.connector.connect_within(uri.clone(), within).await?;
        let peer = peer(&stream);
        let (sender, connection) = http1::handshake(stream).await?;
        let mut link = Link {
            origin: ConnectionOrigin::of(uri),
            sender,
            driver: Driver(Some(Box::pin(connection))),
            wakes: SelfWakes::default(),
            peer,
            is_used: false,
        };
        link.is_ready().await;
        Ok(link)
    }

    /// Keeps a connection for the next request, if it can take one.
    pub(super) async fn keep(&self, mut link: Link) {
        if link.is_ready().await {
            link.is_used = true;
            self.idle.put(link);
            self.sweeper.get_or_init(|| IdleConnections::sweep_regularly(Arc::downgrade(&self.idle)));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.get() {
            sweeper.abort();
        }
    }
}

impl Link {
    /// Polls `wanted` while moving the connection's bytes.
    pub(super) async fn drive<T>(&mut self, mut wanted: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        let Self { driver, wakes, .. } = self;
        std::future::poll_fn(|context| {
            wakes.poll(context, |context| {
                driver.poll(context);
                wanted(context)
            })
        })
        .await
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> hyper::Result<http::Response<hyper::body::Incoming>> {
        let mut answer = std::pin::pin!(self.sender.send_request(request));
        let (driver, wakes) = (&mut self.driver, &self.wakes);
        std::future::poll_fn(|context| {
            wakes.poll(context, |context| {
                driver.poll(context);
                answer.as_mut().poll(context)
            })
        })
        .await
    }

    /// Whether it can take a request now; notices that the other side has closed it.
    async fn is_ready(&mut self) -> bool {
        self.drive(|_| Poll::Ready(())).await;
        self.driver.0.is_some() && self.sender.is_ready()
    }
}

impl Driver {
    /// Moves what can be moved. How a connection ends is told to the request it carries, so it is not told here.
    fn poll(&mut self, context: &mut Context<'_>) {
        let ended = self.0.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready());
        if ended {
            self.0 = None;
        }
    }
}

impl ConnectionOrigin {
    fn of(uri: &Uri) -> Self {
        let authority = uri.authority().cloned().unwrap_or_else(|| Authority::from_static("localhost"));
        Self { is_https: uri.scheme() == Some(&Scheme::HTTPS), authority }
    }
}

impl IdleConnections {
    /// The connection that was used last: it is the least likely to have been closed.
    fn take(&self, origin: &ConnectionOrigin) -> Option<Link> {
        let mut by_origin = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = by_origin.get_mut(origin)?.pop()?;
        (kept.since.elapsed() < self.limits.idle).then_some(kept.link)
    }

    fn put(&self, link: Link) {
        let mut by_origin = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = by_origin.entry(link.origin.clone()).or_default();
        if kept.len() < self.limits.idle_per_host {
            kept.push(Kept { link, since: Instant::now() });
        }
    }

    fn sweep(&self) {
        let mut by_origin = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        by_origin.retain(|_, kept| {
            kept.retain(|kept| kept.since.elapsed() < self.limits.idle);
            !kept.is_empty()
        });
    }

    fn sweep_regularly(idle: Weak<Self>) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        tokio::spawn(Abortable::new(
            async move {
                while let Some(strong) = idle.upgrade() {
                    strong.sweep();
                    let pause = strong.limits.idle / 2;
                    drop(strong);
                    tokio::time::sleep(pause).await;
                }
            },
            registration,
        ));
        handle
    }
}
