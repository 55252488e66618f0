//! The HTTP listener: bounded connections, slow clients cut off, requests guarded, and an orderly end. It knows
//! nothing of what the routes do. A crate of its own so that what every request passes is built for speed, which the command
//! line around it is not.

mod answered;
mod cors;
mod doorkeeper;
mod guard;
mod listen;
mod plane;
mod revision;
mod starting;
mod tenant;
mod watched;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use http::header::{CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolrail_core::{ForeignPage, HOP_HEADER, PeerAddress, Principal, Role, Share};
use toolrail_mcp::Server;
use tower::Service;

use answered::{Expulsion, WatchedBody};
use cors::Page;
pub use doorkeeper::{API_KEY, Doorkeeper};
pub use guard::Guard;
use guard::{Refusal, Shape};
use listen::Listen;
pub use listen::Socket;
pub use plane::Plane;
use revision::RevisionHeader;
pub use starting::answer_while;
pub use tenant::{TENANT, Tenants};
use watched::{Activity, Watched};

/// Says that a tool made a request.
const HOP: HeaderName = HeaderName::from_static(HOP_HEADER);

/// How long a client may at least take over its request line and headers, and how long it may keep an idle connection
/// or take nothing of an answer; at most twice that. One clock per connection, as a timer per request would cost more than all else the listener does.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long calls under way may take to finish when the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// The most connections at once; more wait to be accepted.
const MOST_CONNECTIONS: usize = 16_384;

/// Takes memory in small pages only. With large ones every connection would cost the whole of its buffers, of which most
/// connections use a small part.
pub fn keep_memory_small() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "large memory pages stay in use");
    }
}

/// Raises the number of files this process may have open as far as it may. Every connection is one, every upstream
/// connection another, and the usual limit of 1024 (256 on macOS) is soon reached.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // macOS names no maximum but refuses more than this.
    let current = limit.maximum.map_or(10_240, |most| most.min(65_536));
    if limit.current.is_some_and(|now| now < current)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit })
    {
        tracing::debug!(%error, "limit of open files stays as it is");
    }
}

/// What is listened on.
pub enum Listener {
    /// A TCP address.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(Socket),
}

/// Something that is waited for.
pub type Until<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Serves until `stop`, then lets requests under way finish unless `hurry` comes first.
pub fn serve<'a>(
    listener: Listener,
    plane: Plane,
    served: Arc<Served>,
    (stop, hurry): (Until<'a>, Until<'a>),
) -> Until<'a> {
    match listener {
        Listener::Tcp(listener) => Box::pin(serve_on((listener, plane), served, stop, hurry)),
        Listener::Unix(listener) => Box::pin(serve_on((listener, plane), served, stop, hurry)),
    }
}

async fn serve_on<L: Listen>(
    (listener, plane): (L, Plane),
    served: Arc<Served>,
    mut stop: Until<'_>,
    hurry: Until<'_>,
) {
    let tracker = TaskTracker::new();
    let stopping = CancellationToken::new();
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let builder = http1::Builder::new();
    loop {
        let (stream, peer, slot) = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = &mut stop => break,
        };
        let guest = Guest::at(peer, plane);
        let connection = Connection { stream, guest, served: Arc::clone(&served), builder: builder.clone() };
        let stopping = stopping.clone();
        tracker.spawn(async move {
            connection.serve(stopping).await;
            drop(slot);
        });
    }
    drop(listener);
    let last = served.load_full();
    last.mcp.close();
    stopping.cancel();
    tracker.close();
    tokio::select! {
        () = async { tokio::join!(tracker.wait(), last.mcp.closed()); } => {}
        () = tokio::time::sleep(STOP_PATIENCE) => {
            tracing::warn!(connections = tracker.len(), "stopped before every request was finished");
        }
        () = hurry => {}
    }
}

/// One connection of a client.
struct Connection<S> {
    stream: S,
    guest: Guest,
    served: Arc<Served>,
    builder: http1::Builder,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Connection<S> {
    async fn serve(self, stopping: CancellationToken) {
        let Self { stream, guest, served, builder } = self;
        let activity = Arc::new(Activity::default());
        let counted = Arc::clone(&activity);
        let guest = Arc::new(guest);
        let service = service_fn(move |request| {
            let (served, activity) = (served.load_full(), Arc::clone(&counted));
            let guest = Arc::clone(&guest);
            async move {
                activity.begin();
                let mut answer = served.answer(request, &guest).await;
                let expulsion = answer.extensions_mut().remove::<Reader>().map(Reader::expulsion);
                Ok::<_, Infallible>(WatchedBody::new(answer, activity, expulsion))
            }
        });
        let stream = TokioIo::new(Watched::new(stream, Arc::clone(&activity)));
        let mut connection = pin!(builder.serve_connection(stream, service).with_upgrades());
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = activity.stays_away(PATIENCE) => {
                tracing::debug!("idle or slow connection closed");
                return;
            }
            () = stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection ended early");
        }
    }
}

/// The other end of one connection.
struct Guest {
    address: Option<PeerAddress>,
    /// What it finds at the address it came to.
    plane: Plane,
    /// What it may have in flight, on behalf of whoever sent the last request.
    share: Mutex<Share>,
}

impl Guest {
    fn at(address: Option<PeerAddress>, plane: Plane) -> Self {
        Self { address, plane, share: Mutex::new(Share::of(&Principal::Anonymous)) }
    }

    /// The share of the connection; requests of several tenants may come by one connection of a proxy.
    fn share_of(&self, principal: &Principal) -> Share {
        let mut share = self.share.lock().unwrap_or_else(PoisonError::into_inner);
        if !share.is_of(principal) {
            *share = Share::of(principal);
        }
        share.clone()
    }
}

/// Says of an answer that it tells nothing but whether all is well.
#[derive(Clone)]
struct Bare;

/// Whoever reads a stream, who may lose the right to.
#[derive(Clone)]
struct Reader(Principal);

impl Reader {
    /// Whoever sent that request, if he has proved who he is.
    fn of<B>(request: &Request<B>) -> Option<Self> {
        let principal = request.extensions().get::<Principal>()?;
        matches!(principal, Principal::Known(_)).then(|| Self(principal.clone()))
    }

    fn expulsion(self) -> Expulsion {
        Box::pin(async move { self.0.ended().await })
    }
}

/// The next connection. Running out of file descriptors passes, so it is waited out rather than treated as the end.
async fn accept<L: Listen>(
    listener: &L,
    slots: &Arc<Semaphore>,
) -> (L::Stream, Option<PeerAddress>, Option<OwnedSemaphorePermit>) {
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.map(PeerAddress), slot),
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

/// The addresses that a server listens on.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Where tools are called.
    pub calls: SocketAddr,
    /// Where alone it is administered, if that is another.
    pub administration: Option<SocketAddr>,
}

impl Addresses {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = SocketAddr> {
        [self.calls].into_iter().chain(self.administration)
    }
}

/// What is served at the moment: each request finds out anew, since the configuration may have been read again.
pub type Served = ArcSwap<Guarded>;

/// What is served, behind the guard: the MCP endpoint without detour, everything else by its route.
pub struct Guarded {
    /// Which requests are let through.
    pub guard: Guard,
    /// Who sends them.
    pub doorkeeper: Doorkeeper,
    /// The MCP endpoint.
    pub mcp: Arc<Server>,
    /// Everything else.
    pub routes: Router,
}

type AnyBody = Either<toolrail_mcp::Body, Body>;

impl Guarded {
    async fn answer(&self, request: Request<Incoming>, guest: &Guest) -> Response<AnyBody> {
        let revision = RevisionHeader::before(&request);
        let mut response = self.admit(request, guest).await;
        // Whoever has not said who he is learns nothing.
        let is_bare = response.extensions_mut().remove::<Bare>().is_some();
        if response.status() != StatusCode::UNAUTHORIZED && !is_bare {
            revision.name(response.headers_mut());
        }
        response
    }

    async fn admit(&self, request: Request<Incoming>, guest: &Guest) -> Response<AnyBody> {
        if let Err(refusal) = self.guard.check(request.headers()) {
            if matches!(refusal, Refusal::Host(_)) && is_probe(&request) {
                return Box::pin(self.answer_probe(request)).await;
            }
            return refused(refusal, request.uri().path());
        }
        let Some(page) = Page::of(request.headers()) else {
            return self.pass(request, guest).await;
        };
        if request.method() == Method::OPTIONS {
            return page.welcome::<Body>(request.headers()).map(Either::Right);
        }
        let mut response = self.pass(request, guest).await;
        page.admit(response.headers_mut());
        response
    }

    /// Says how the server is and nothing else: a foreign page may have asked. To be boxed, since every connection keeps the room
    /// for what answers it.
    async fn answer_probe(&self, request: Request<Incoming>) -> Response<AnyBody> {
        let Ok(response) = self.routes.clone().call(request).await;
        let word = if response.status().is_success() { "ok" } else { "unavailable" };
        let mut bare = Response::new(Either::Right(Body::from(format!("{{\"status\":\"{word}\"}}"))));
        *bare.status_mut() = response.status();
        bare.extensions_mut().insert(Bare);
        bare.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        bare
    }

    async fn pass(&self, mut request: Request<Incoming>, guest: &Guest) -> Response<AnyBody> {
        if !guest.plane.has(request.uri().path()) {
            return plane::elsewhere().map(Either::Right);
        }
        if plane::is_administration(request.uri().path()) && request.headers().contains_key(HOP) {
            return refused(Refusal::Hop, request.uri().path());
        }
        let share = match self.doorkeeper.principal(request.headers(), request.uri().path()) {
            // Who is not told is anonymous.
            Ok(Principal::Anonymous) => guest.share_of(&Principal::Anonymous),
            Ok(somebody) if is_limited(&somebody) && is_health(request.uri().path()) => {
                return Box::pin(self.answer_probe(request)).await;
            }
            Ok(somebody) => {
                let share = guest.share_of(&somebody);
                request.extensions_mut().insert(somebody);
                share
            }
            Err(_) if is_probe(&request) => return Box::pin(self.answer_probe(request)).await,
            Err(refusal) => return refused(refusal, request.uri().path()),
        };
        let reader = Reader::of(&request);
        // Boxed, so that a connection that only waits does not keep the room for handling a request.
        let mut response = share.scope(Box::pin(self.route(request, guest.address))).await;
        if let Some(reader) = reader.filter(|_| answered::is_stream(&response)) {
            response.extensions_mut().insert(reader);
        }
        response
    }

    async fn route(&self, mut request: Request<Incoming>, peer: Option<PeerAddress>) -> Response<AnyBody> {
        let is_foreign = |headers: &HeaderMap| {
            headers.contains_key(HOP)
                || (headers.contains_key(ORIGIN) && self.guard.check_change(headers).is_err())
        };
        if is_foreign(request.headers()) {
            request.extensions_mut().insert(ForeignPage);
        }
        if toolrail_mcp::is_endpoint(request.uri().path()) {
            return self.mcp.answer_http(request, peer).await.map(Either::Left);
        }
        if request.uri().path().starts_with("/admin")
            && !request.method().is_safe()
            && let Err(refusal) = self.guard.check_change(request.headers())
        {
            return refusal.told(Shape::Rest).map(Either::Right);
        }
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        let Ok(response) = self.routes.clone().call(request).await;
        response.map(Either::Right)
    }
}

/// Whether somebody has proved who he is and may not see how everything is: what is healthy tells of all tools and tenants.
fn is_limited(principal: &Principal) -> bool {
    matches!(principal, Principal::Known(_))
        && (principal.tenant().is_some() || principal.reach().is_some() || !principal.may(Role::Write))
}

fn is_health(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

/// Whether somebody asks how the server is, which anybody may under whatever name: probes and balancers use names that nobody
/// has listed.
fn is_probe(request: &Request<Incoming>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && is_health(request.uri().path())
        && !request.headers().contains_key(ORIGIN)
}

/// The answer to a request that is not let through, in the shape that clients of that path can read.
fn refused(refusal: Refusal, path: &str) -> Response<AnyBody> {
    let shape = if toolrail_mcp::speaks_mcp(path) { Shape::JsonRpc } else { Shape::Rest };
    refusal.told(shape).map(Either::Right)
}
