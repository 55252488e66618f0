//! The one guarded HTTP client that every kind uses: deadlines, redirects, sizes and the masking of secrets that an
//! upstream echoes. It knows nothing of tools.

mod body;
mod bound;
mod connect;
mod failure;
mod link_local;
mod pool;
mod public;
mod redirect;
mod sensitive;
mod streamed;
mod trust;
mod utf16;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming as Streaming;
use toolrail_core::{CallError, ErrorCode, HOP_HEADER};

use crate::offload::{MOST_INLINE, offload};
use body::Unread;
use connect::OutboundConnector;
use pool::{Link, Pool};

pub use bound::Bound;
pub(crate) use link_local::is_link_local_host;
pub use sensitive::Sensitive;
pub use streamed::StreamedAnswer;
pub use trust::{Trust, TrustError};

/// Says that a tool made a request.
const HOP: HeaderName = HeaderName::from_static(HOP_HEADER);

/// What holds for all requests of a client.
#[derive(Clone, Debug)]
pub struct ClientLimits {
    /// How long an unused connection is kept.
    pub idle: Duration,
    /// How many unused connections are kept for each scheme, host and port.
    pub idle_per_host: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { idle: Duration::from_secs(90), idle_per_host: 256 }
    }
}

/// Sends requests over pooled connections; share it in an `Arc`.
pub struct Client {
    pool: Pool,
    /// Whether requests say that they come from a gateway.
    marks: bool,
    /// Whether it goes to public addresses only.
    only_public: bool,
}

/// A request on its way out.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// Absolute, `http` or `https`.
    pub uri: Uri,
    /// The headers; `host` and `content-length` are added when left out.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// Whether a secret went into the body, in whatever form; then no other origin gets it.
    pub secret_body: bool,
    /// What the exchange may take.
    pub limits: SendLimits,
    /// The secrets that went into the request.
    pub sensitive: Sensitive,
    /// Where those may go.
    pub bound: Bound,
}

/// What one exchange may take.
#[derive(Clone, Copy, Debug)]
pub struct SendLimits {
    /// The most time until a connection stands (name look-up, TCP, TLS).
    pub connect: Duration,
    /// The most time for everything, redirects and body included.
    pub total: Duration,
    /// The most bytes of the body that are kept.
    pub max_response_bytes: usize,
    /// How many redirects are followed; with 0 the redirect itself is the answer.
    pub redirects: u8,
}

/// An upstream's answer, already free of the secrets that went out.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The method of the last request; redirects may have changed it.
    pub method: Method,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or the part of it that was kept.
    pub body: Bytes,
    /// Present if the body was longer than allowed.
    pub cut: Option<Cut>,
    /// Where the answer came from in the end; may hold secrets, see [`Incoming::place`].
    pub(crate) uri: Uri,
    pub(crate) sensitive: Sensitive,
}

/// How much of a body was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The cap that was reached, in bytes.
    pub cap: usize,
    /// The length of the whole body, if the upstream declared it.
    pub total: Option<u64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct OutboundError {
    /// In words for the caller; free of secrets.
    pub error: CallError,
    /// False only if no connection was ever established, so that nothing can have reached the upstream and the request
    /// may safely go to another instance.
    pub connected: bool,
}

impl SendLimits {
    /// Where both limits are the same, an upstream that cannot be reached shall be reported as that.
    fn reaching(self) -> Self {
        Self { connect: self.connect.min(self.total / 10 * 9), ..self }
    }
}

impl OutboundError {
    fn masked(mut self, sensitive: &Sensitive) -> Self {
        self.error.message = sensitive.mask_text(self.error.message);
        self
    }
}

impl From<OutboundError> for CallError {
    fn from(failure: OutboundError) -> Self {
        failure.error
    }
}

impl Incoming {
    /// Where the answer came from, without query and secrets: `http://host/path`.
    pub fn place(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or("http");
        let host = self.uri.host().unwrap_or_default();
        let port = self.uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        self.sensitive.mask_text(format!("{scheme}://{host}{port}{}", self.uri.path()))
    }
}

/// One request of an exchange; a redirect makes the next.
struct Hop {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    secret_body: bool,
    reach: Reach,
    /// Whether a redirect led here, rather than the definition.
    is_redirected: bool,
    /// Where its secrets may go; a hop that has none left may go anywhere.
    bound: Bound,
}

/// Where redirects may lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Anywhere,
    SameOrigin,
}

impl Hop {
    /// The request as it goes over a connection to its origin: only path and query, the host in its header.
    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        let path = self.uri.path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
        *request.headers_mut() = self.headers.clone();
        if !self.headers.contains_key(HOST)
            && let Ok(host) =
                HeaderValue::from_str(self.uri.authority().map_or("", http::uri::Authority::as_str))
        {
            request.headers_mut().insert(HOST, host);
        }
        request
    }
}

impl Client {
    /// A client without connections.
    pub fn new(limits: ClientLimits) -> Self {
        Self::trusting(limits, Trust::default())
    }

    /// The same that believes others over TLS than the authorities of this machine.
    pub fn trusting(limits: ClientLimits, trust: Trust) -> Self {
        Self::with_connector(limits, OutboundConnector::new(trust))
    }

    /// The same for a gateway, whose requests say that they come from one: see [`HOP_HEADER`].
    pub fn of_gateway(limits: ClientLimits) -> Self {
        Self { marks: true, ..Self::new(limits) }
    }

    /// The same for addresses that anybody may have named: it goes to none that only this machine, or its network, can reach.
    pub fn to_public_addresses(limits: ClientLimits) -> Self {
        Self { only_public: true, ..Self::new(limits) }
    }

    /// Sends a request and reads the answer. Dropping the future aborts the exchange.
    pub async fn send(&self, request: Outgoing) -> Result<Incoming, OutboundError> {
        let Outgoing { method, uri, headers, body, secret_body, limits, sensitive, bound } = request;
        let first = uri.clone();
        let (reach, is_redirected) = (Reach::Anywhere, false);
        let hop = Hop { method, uri, headers, body, secret_body, reach, is_redirected, bound };
        let exchange = async {
            let (hop, link, response) = self.follow(hop, limits.reaching(), &sensitive).await?;
            self.receive(hop, link, response, limits.max_response_bytes, &sensitive).await
        };
        let outcome = match tokio::time::timeout(limits.total, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(failure::total_timeout(&first, limits.total)),
        };
        outcome.map_err(|failure| failure.masked(&sensitive))
    }

    /// Sends a request and hands over its answer as soon as the head is there; `limits.total` holds up to then. Redirects
    /// are followed within the same origin only. Dropping the answer aborts the exchange.
    pub async fn open(self: &Arc<Self>, request: Outgoing) -> Result<StreamedAnswer, OutboundError> {
        let Outgoing { method, uri, headers, body, secret_body, limits, sensitive, bound } = request;
        let first = uri.clone();
        let (reach, is_redirected) = (Reach::SameOrigin, false);
        let hop = Hop { method, uri, headers, body, secret_body, reach, is_redirected, bound };
        let answer =
            tokio::time::timeout(limits.total, self.follow(hop, limits.reaching(), &sensitive)).await;
        match answer.unwrap_or_else(|_| Err(failure::total_timeout(&first, limits.total))) {
            Ok((hop, link, response)) => {
                Ok(StreamedAnswer::new(Arc::clone(self), hop, (link, response), sensitive))
            }
            Err(failure) => Err(failure.masked(&sensitive)),
        }
    }

    fn with_connector(limits: ClientLimits, connector: OutboundConnector) -> Self {
        Self { pool: Pool::new(limits, connector), marks: false, only_public: false }
    }

    fn request(&self, hop: &Hop) -> Request<Full<Bytes>> {
        let mut request = hop.request();
        self.mark(request.headers_mut());
        request
    }

    /// Adds what every request of a gateway says: see [`HOP_HEADER`].
    pub(crate) fn mark(&self, headers: &mut HeaderMap) {
        if self.marks {
            headers.insert(HOP, HeaderValue::from_static("1"));
        }
    }

    async fn follow(
        &self,
        mut hop: Hop,
        limits: SendLimits,
        sensitive: &Sensitive,
    ) -> Result<(Hop, Link, Response<Streaming>), OutboundError> {
        let mut followed = 0;
        loop {
            check_target(&hop.uri)?;
            hop.bound.check(&hop.uri)?;
            let (link, response) = self.exchange(&hop, limits.connect).await?;
            let location = redirect::location(response.status(), response.headers());
            let Some(location) = location.filter(|_| limits.redirects > 0) else {
                return Ok((hop, link, response));
            };
            if followed == limits.redirects {
                return Err(failure::invalid(format!(
                    "{} redirects once more after {followed} redirects, which is the limit; raise redirects or name the final address",
                    failure::origin(&hop.uri)
                )));
            }
            followed += 1;
            hop = redirect::next(hop, response.status(), location, sensitive)?;
        }
    }

    /// One request and the head of its answer. A request that hit a kept connection in the moment when the upstream
    /// closed it is sent once more if nothing of it was sent, or if it may be repeated (RFC 9110, 9.2.2).
    async fn exchange(
        &self,
        hop: &Hop,
        within: Duration,
    ) -> Result<(Link, Response<Streaming>), OutboundError> {
        if self.only_public {
            public::check_name(&hop.uri, within).await?;
        }
        let connected = self.pool.link(&hop.uri, within).await;
        let mut link = connected.map_err(|error| failure::unconnected(&hop.uri, &error))?;
        self.check_peer(hop, &link)?;
        let mut answer = link.send(self.request(hop)).await;
        if let Err(error) = &answer
            && link.is_used
            && (error.is_canceled() || (hop.method.is_idempotent() && failure::is_stale_connection(error)))
        {
            let connected = self.pool.fresh(&hop.uri, within).await;
            link = connected.map_err(|error| failure::unconnected(&hop.uri, &error))?;
            self.check_peer(hop, &link)?;
            answer = link.send(self.request(hop)).await;
        }
        match answer {
            Ok(response) => Ok((link, response)),
            Err(error) => Err(failure::unanswered(&hop.uri, &error)),
        }
    }

    /// Refuses a connection to where the request must not go, before anything is sent.
    fn check_peer(&self, hop: &Hop, link: &Link) -> Result<(), OutboundError> {
        if self.only_public {
            // The name may have meant something else a moment ago.
            public::check_peer(&hop.uri, link.peer)?;
        }
        redirect::check_peer(hop, link)
    }

    /// Reads the body, keeps the connection if it can be used again, and masks whatever the upstream echoed.
    async fn receive(
        &self,
        hop: Hop,
        mut link: Link,
        response: Response<Streaming>,
        cap: usize,
        sensitive: &Sensitive,
    ) -> Result<Incoming, OutboundError> {
        let (head, mut streaming) = response.into_parts();
        let read = body::read(&mut link, &mut streaming, cap).await;
        let (mut body, cut) = read.map_err(|unread| match unread {
            Unread::Broken(broken) => failure::broken_off(&hop.uri, &broken),
            Unread::Full(full) => OutboundError { error: full.into(), connected: true },
        })?;
        if cut.is_none() {
            drop(streaming);
            self.pool.keep(link).await;
        }
        let mut headers = head.headers;
        if !sensitive.is_empty() {
            let order = utf16::Order::of(&headers, &body);
            body = masked(body, (cut.is_some(), order), sensitive).await;
            if order.is_some() {
                utf16::declare_utf8(&mut headers);
            }
            sensitive.mask_headers(&mut headers);
        }
        let Hop { method, uri, .. } = hop;
        Ok(Incoming { method, status: head.status, headers, body, cut, uri, sensitive: sensitive.clone() })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

/// The body without secrets, nor the beginning of one at its end if it was cut; in UTF-8 if it was in UTF-16.
async fn masked(body: Bytes, (is_cut, order): (bool, Option<utf16::Order>), sensitive: &Sensitive) -> Bytes {
    let mask = move |sensitive: &Sensitive, body| {
        let mut body = sensitive.mask(body);
        // What is declared may not be true, hence both are masked.
        if let Some(order) = order {
            body = sensitive.mask(order.decode(&body));
        }
        if is_cut { sensitive.without_torn_end(body) } else { body }
    };
    if body.len() <= MOST_INLINE {
        return mask(sensitive, body);
    }
    let sensitive = sensitive.clone();
    // What cannot be masked is not shown.
    offload(move |_| mask(&sensitive, body)).await.unwrap_or_default()
}

/// Every address, the first and each one a redirect leads to, passes here before anything is sent to it.
fn check_target(uri: &Uri) -> Result<(), OutboundError> {
    let known = uri.scheme().is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
    if known && uri.host().is_some_and(|host| !host.is_empty()) {
        return Ok(());
    }
    let message = format!("{uri} is not an absolute http or https URL; begin it with http:// or https://");
    Err(OutboundError { error: CallError::new(ErrorCode::InvalidArguments, message), connected: false })
}

#[cfg(test)]
mod tests;
