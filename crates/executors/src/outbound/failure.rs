//! Why an exchange failed, in words that name the upstream and what to do, and whether anything can have reached it.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use toolrail_core::{CallError, ErrorCode};

use super::OutboundError;
use super::body::Broken;
use super::connect::{BoxError, ConnectTimeout};

/// `scheme://host:port`: enough to find the upstream, nothing that could carry a secret by itself.
pub(super) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    format!("{scheme}://{}:{}", uri.host().unwrap_or_default(), port(uri))
}

/// The port, given or implied.
pub(super) fn port(uri: &Uri) -> u16 {
    let implied = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    uri.port_u16().unwrap_or(implied)
}

/// The upstream was reached but what it said cannot be used.
pub(super) fn invalid(message: String) -> OutboundError {
    OutboundError { error: CallError::new(ErrorCode::UpstreamInvalid, message), connected: true }
}

/// The whole exchange took too long.
pub(super) fn total_timeout(uri: &Uri, limit: Duration) -> OutboundError {
    let message = format!(
        "{} did not answer completely within {} ms; raise timeoutMs if it needs longer",
        origin(uri),
        limit.as_millis()
    );
    OutboundError { error: CallError::new(ErrorCode::Timeout, message), connected: true }
}

/// There was no connection.
pub(super) fn unconnected(uri: &Uri, error: &BoxError) -> OutboundError {
    let error: &(dyn Error + 'static) = &**error;
    if let Some(ConnectTimeout(limit)) = find(error) {
        let message = format!(
            "no connection to {} within {} ms; check that it is reachable from here, or raise connectTimeoutMs and timeoutMs",
            origin(uri),
            limit.as_millis()
        );
        return OutboundError { error: CallError::new(ErrorCode::Timeout, message), connected: false };
    }
    unreachable(format!("could not connect to {}: {}", origin(uri), connect_reason(uri, error)), false)
}

/// There was a connection but no answer.
pub(super) fn unanswered(uri: &Uri, error: &hyper::Error) -> OutboundError {
    if error.is_canceled() {
        return unreachable(
            format!("{} closed the connection before the request was sent; try again", origin(uri)),
            false,
        );
    }
    if error.is_parse_too_large() {
        return invalid(format!("{} answered with more headers than are accepted", origin(uri)));
    }
    if error.is_parse() {
        return invalid(format!(
            "{} answered something that is not HTTP/1.1 ({error}); check the port and whether it must be {}",
            origin(uri),
            if uri.scheme() == Some(&Scheme::HTTPS) { "http" } else { "https" },
        ));
    }
    unreachable(
        format!(
            "{} broke the connection before it answered ({}); look into its log",
            origin(uri),
            root_cause(error)
        ),
        true,
    )
}

/// The answer broke off.
pub(super) fn broken_off(uri: &Uri, broken: &Broken) -> OutboundError {
    let received = match broken.declared {
        Some(declared) => format!("{} of {declared} bytes", broken.received),
        None => format!("{} bytes", broken.received),
    };
    unreachable(
        format!(
            "{} broke the connection in the middle of its answer, after {received} ({})",
            origin(uri),
            root_cause(&broken.error)
        ),
        true,
    )
}

/// Whether a request on a kept connection failed because the upstream had just closed it.
pub(super) fn is_stale_connection(error: &hyper::Error) -> bool {
    let reset = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
    };
    error.is_incomplete_message() || find::<io::Error>(error).is_some_and(reset)
}

fn unreachable(message: String, connected: bool) -> OutboundError {
    OutboundError { error: CallError::new(ErrorCode::UpstreamUnreachable, message), connected }
}

fn connect_reason(uri: &Uri, error: &(dyn Error + 'static)) -> String {
    if let Some(tls) = find::<rustls::Error>(error) {
        return match tls {
            rustls::Error::InvalidCertificate(reason) => format!(
                "its TLS certificate is not accepted ({reason}); have it issued by an authority this machine trusts, \
                 or name the authority's file in the environment variable SSL_CERT_FILE"
            ),
            _ => format!("the TLS handshake failed ({tls}); check that the port speaks TLS"),
        };
    }
    // hyper-util keeps its error type to itself; its words are the only mark of a failed look-up.
    if chain(error).any(|link| link.to_string() == "dns error") {
        let host = uri.host().unwrap_or_default();
        return format!("the name {host} was not found; check its spelling and this machine's DNS");
    }
    match chain(error).filter_map(|link| link.downcast_ref()).last().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            "the connection was refused; check that the service runs and listens on this port".to_owned()
        }
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "there is no route to it; check the address and the network".to_owned()
        }
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            "it closed the connection at once; check the port and the scheme".to_owned()
        }
        _ => root_cause(error),
    }
}

fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn find<'e, T: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e T> {
    chain(error).find_map(|link| link.downcast_ref())
}

/// The error and its sources. An `io::Error` hides what it wraps from `source`, so that is asked for by hand.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&link| match link.downcast_ref::<io::Error>() {
        Some(wrapper) => wrapper.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => link.source(),
    })
}
