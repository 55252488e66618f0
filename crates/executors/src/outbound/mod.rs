//! The one guarded HTTP client that every kind uses: deadlines, redirects, sizes and the masking of secrets that an
//! upstream echoes. It knows nothing of tools.

mod body;
mod connect;
mod failure;
mod redirect;
mod sensitive;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use toolrail_core::{CallError, ErrorCode};

use connect::{Connector, DIAL, Dial};

pub use sensitive::Sensitive;

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
    http: legacy::Client<Connector, Full<Bytes>>,
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
    /// What the exchange may take.
    pub limits: SendLimits,
    /// The secrets that went into the request.
    pub sensitive: Sensitive,
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
}

impl Hop {
    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

impl Client {
    /// A client without connections.
    pub fn new(limits: ClientLimits) -> Self {
        Self::with_connector(limits, Connector::new())
    }

    /// Sends a request and reads the answer. Dropping the future aborts the exchange.
    pub async fn send(&self, request: Outgoing) -> Result<Incoming, OutboundError> {
        let Outgoing { method, uri, headers, body, limits, sensitive } = request;
        let first = uri.clone();
        let hop = Hop { method, uri, headers, body };
        // Where both limits are the same, an upstream that cannot be reached shall be reported as that.
        let connect = limits.connect.min(limits.total / 10 * 9);
        let exchange = DIAL.scope(Dial::within(connect), self.follow(hop, limits, &sensitive));
        let outcome = match tokio::time::timeout(limits.total, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(failure::total_timeout(&first, limits.total)),
        };
        outcome.map_err(|mut failure| {
            failure.error.message = sensitive.mask_text(failure.error.message);
            failure
        })
    }

    fn with_connector(limits: ClientLimits, connector: Connector) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.idle)
            .pool_max_idle_per_host(limits.idle_per_host)
            .build(connector);
        Self { http }
    }

    async fn follow(
        &self,
        mut hop: Hop,
        limits: SendLimits,
        sensitive: &Sensitive,
    ) -> Result<Incoming, OutboundError> {
        let mut followed = 0;
        loop {
            check_target(&hop.uri)?;
            let response = self.exchange(&hop).await?;
            let location = redirect::location(response.status(), response.headers());
            let Some(location) = location.filter(|_| limits.redirects > 0) else {
                return receive(hop, response, limits.max_response_bytes, sensitive).await;
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

    /// One request and the head of its answer. A request that may be repeated gets a second chance if it hit a pooled
    /// connection in the moment when the upstream closed it (RFC 9110, 9.2.2); hyper itself only repeats what it never
    /// began to send.
    async fn exchange(&self, hop: &Hop) -> Result<Response<hyper::body::Incoming>, OutboundError> {
        DIAL.with(Dial::reset);
        let mut outcome = self.http.request(hop.request()).await;
        if let Err(error) = &outcome
            && hop.method.is_idempotent()
            && !DIAL.with(Dial::dialed)
            && failure::is_stale_connection(error)
        {
            outcome = self.http.request(hop.request()).await;
        }
        outcome.map_err(|error| failure::unanswered(&hop.uri, &error))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
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

/// Reads the body and masks whatever the upstream echoed.
async fn receive(
    hop: Hop,
    response: Response<hyper::body::Incoming>,
    cap: usize,
    sensitive: &Sensitive,
) -> Result<Incoming, OutboundError> {
    let (head, body) = response.into_parts();
    let (mut body, cut) =
        body::read(body, cap).await.map_err(|broken| failure::broken_off(&hop.uri, &broken))?;
    let mut headers = head.headers;
    if !sensitive.is_empty() {
        body = sensitive.mask(body);
        if cut.is_some() {
            body = sensitive.without_torn_end(body);
        }
        sensitive.mask_headers(&mut headers);
    }
    let Hop { method, uri, .. } = hop;
    Ok(Incoming { method, status: head.status, headers, body, cut, uri, sensitive: sensitive.clone() })
}

#[cfg(test)]
mod tests;
