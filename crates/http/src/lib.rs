//! The HTTP listener: bounded connections, slow clients cut off, requests guarded, and an orderly end. It knows
//! nothing of what the routes do. A crate of its own so that what every request passes is built for speed, which the command
//! line around it is not.

mod answered;
mod connection;
mod cors;
mod doorkeeper;
mod forwarded;
mod guard;
mod listen;
mod plane;
mod resource;
mod revision;
mod sign_in;
mod starting;
mod tenant;
mod tls;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use http::header::{CONTENT_TYPE, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Either;
use hyper::body::Incoming;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolrail_core::{ForeignPage, HOP_HEADER, OverTls, PeerAddress, Principal, Role, Share};
use toolrail_mcp::Server;
use tower::Service;

use answered::Expulsion;
use connection::Newcomer;
use cors::Page;
pub use doorkeeper::{API_KEY, Credentials, Doorkeeper};
pub use forwarded::{Network, Proxies, WrongNetwork};
pub use guard::Guard;
use guard::{Refusal, Shape};
pub use listen::Socket;
use listen::{Listen, TlsListener};
pub use plane::Plane;
pub use resource::ProtectedResource;
use resource::StepUp;
use revision::RevisionHeader;
pub use sign_in::SignIn;
pub use starting::answer_while;
pub use tenant::{TENANT, Tenants};
use tls::{Certificate, CertifiedGuest};
pub use tls::{ClientAuthority, ClientRule, Demand, PreparedTls, Tls, TlsError, TlsSettings, WrongPattern};

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
    /// A TCP address at which TLS is spoken.
    Tls(TcpListener, Arc<Tls>),
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
        Listener::Tls(listener, tls) => {
            Box::pin(serve_on((TlsListener { listener, tls }, plane), served, stop, hurry))
        }
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
    loop {
        let (accepted, peer, slot) = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = &mut stop => break,
        };
        let newcomer = Newcomer::<L> { accepted, peer, plane, served: Arc::clone(&served) };
        let (stopping, streams) = (stopping.clone(), tracker.clone());
        tracker.spawn(async move {
            newcomer.serve(stopping, streams).await;
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

/// The other end of one connection.
struct Guest {
    address: Option<PeerAddress>,
    /// What it finds at the address it came to.
    plane: Plane,
    /// What it may have in flight, on behalf of whoever sent the last request.
    share: Mutex<Share>,
    /// What is known of it by TLS, if it speaks that.
    tls: Option<Box<TlsGuest>>,
}

/// What is known of the other end of a connection by TLS.
struct TlsGuest {
    tls: Arc<Tls>,
    certificate: Option<Certificate>,
    known: CertifiedGuest,
}

impl Guest {
    fn at(address: Option<PeerAddress>, plane: Plane, tls: Option<Box<TlsGuest>>) -> Self {
        Self { address, plane, share: Mutex::new(Share::of(&Principal::Anonymous)), tls }
    }

    /// Whom its certificate stands for.
    fn certified(&self) -> Option<Principal> {
        let TlsGuest { tls, certificate, known } = self.tls.as_deref()?;
        tls.principal(certificate.as_ref()?, known)
    }

    /// Whether answers tell browsers to use nothing but TLS from now on.
    fn hears_hsts(&self) -> bool {
        self.tls.as_ref().is_some_and(|guest| guest.tls.tells_hsts())
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
) -> (L::Accepted, Option<PeerAddress>, Option<OwnedSemaphorePermit>) {
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((accepted, peer)) => return (accepted, peer.map(PeerAddress), slot),
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
    /// Where people sign in, if they do so here.
    pub sign_in: Option<SignIn>,
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
        let resource = self.doorkeeper.resource().filter(|_| request.method() == Method::GET);
        if let Some(resource) = resource
            && let Some(mut description) =
                resource.describe(request.uri().path(), request.headers(), guest.tls.is_some())
        {
            description.extensions_mut().insert(Bare);
            return description.map(Either::Right);
        }
        if let Some(sign_in) = self.sign_in.as_ref().filter(|sign_in| (sign_in.is_here)(request.uri().path()))
        {
            let peer = self.guard.client(guest.address, request.headers());
            return Box::pin(sign_in.answer(request, (guest, peer))).await;
        }
        let known =
            match self.doorkeeper.principal(request.headers(), request.uri().path(), guest.certified()) {
                Err(Refusal::IssuerUnread(Some(issuer))) => {
                    let (headers, path) = (request.headers(), request.uri().path());
                    Box::pin(self.doorkeeper.principal_of_issuer(issuer, headers, path)).await
                }
                known => known,
            };
        let share = match known {
            // Who is not told is anonymous.
            Ok(Principal::Anonymous) => guest.share_of(&Principal::Anonymous),
            Ok(somebody) if is_health(request.uri().path()) && is_limited(&somebody) => {
                return Box::pin(self.answer_probe(request)).await;
            }
            Ok(somebody) => {
                let share = guest.share_of(&somebody);
                if let Some(token) = self.doorkeeper.token(request.headers(), &somebody) {
                    request.extensions_mut().insert(token);
                }
                request.extensions_mut().insert(somebody);
                share
            }
            Err(_) if is_probe(&request) => return Box::pin(self.answer_probe(request)).await,
            Err(refusal) => return self.turn_away(refusal, &request, guest),
        };
        let reader = Reader::of(&request);
        // Boxed, so that a connection that only waits does not keep the room for handling a request.
        let mut response = share.scope(Box::pin(self.route(request, guest))).await;
        if let Some(reader) = reader.filter(|_| answered::is_stream(&response)) {
            response.extensions_mut().insert(reader);
        }
        response
    }

    /// Refuses somebody who has not proved who he is, and tells where a token can be had.
    fn turn_away(&self, refusal: Refusal, request: &Request<Incoming>, guest: &Guest) -> Response<AnyBody> {
        let (path, error) = (request.uri().path(), refusal.oauth_error());
        let is_asked = error.is_some() || refusal == Refusal::NothingShown;
        let mut response = refused(refusal, path);
        if let Some(resource) = self.doorkeeper.resource().filter(|_| is_asked) {
            let error = error.as_ref().map(|(code, about)| (*code, about.as_str()));
            let asked = (path, request.headers(), guest.tls.is_some());
            if let Some(challenge) = resource.challenge(asked, error) {
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            }
        }
        response
    }

    async fn route(&self, mut request: Request<Incoming>, guest: &Guest) -> Response<AnyBody> {
        let peer = self.guard.client(guest.address, request.headers());
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
        if guest.tls.is_some() {
            request.extensions_mut().insert(OverTls);
        }
        let resource = self.doorkeeper.resource_of_token(request.headers());
        let step_up = resource.map(|resource| StepUp::of(resource, &request, guest.tls.is_some()));
        let Ok(mut response) = self.routes.clone().call(request).await;
        if let Some(step_up) = step_up {
            step_up.tell(&mut response);
        }
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
