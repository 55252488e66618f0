//! Following a redirect: where it leads, what the next request is, and what must not travel along.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::Scheme;
use http::{Method, StatusCode, Uri};
use url::Url;

use super::failure::{invalid, origin, port};
use super::link_local::{is_link_local, is_link_local_host};
use super::pool::Link;
use super::{Bound, Hop, OutboundError, Reach, Sensitive};

const OF_THE_BODY: &[HeaderName] = &[
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::TRANSFER_ENCODING,
];
const OF_ONE_ORIGIN: &[HeaderName] =
    &[header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE, header::HOST, header::ORIGIN];

/// Where the answer wants the client to go, if it is a redirect.
pub(super) fn location(status: StatusCode, headers: &HeaderMap) -> Option<&[u8]> {
    match status.as_u16() {
        301 | 302 | 303 | 307 | 308 => headers.get(header::LOCATION).map(HeaderValue::as_bytes),
        _ => None,
    }
}

/// The request that follows `hop`.
pub(super) fn next(
    mut hop: Hop,
    status: StatusCode,
    location: &[u8],
    sensitive: &Sensitive,
) -> Result<Hop, OutboundError> {
    let target = resolve(&hop.uri, location)?;
    if is_link_local_host(target.host().unwrap_or_default()) {
        return Err(link_local(&format!("{} redirects to {}", origin(&hop.uri), origin(&target))));
    }
    if hop.uri.scheme() == Some(&Scheme::HTTPS) && target.scheme() != Some(&Scheme::HTTPS) {
        return Err(invalid(format!(
            "{} redirects from https to {}, which is not followed; name the final address in the definition",
            origin(&hop.uri),
            origin(&target)
        )));
    }
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        if hop.method != Method::HEAD {
            hop.method = Method::GET;
        }
        hop.body.clear();
        remove(&mut hop.headers, OF_THE_BODY);
    }
    if !same_origin(&hop.uri, &target) {
        leave_origin(&mut hop, &target, sensitive)?;
    }
    hop.uri = target;
    hop.is_redirected = true;
    Ok(hop)
}

/// Refuses a connection to a name that a redirect led to and that turned out to be link-local, before anything is sent.
pub(super) fn check_peer(hop: &Hop, link: &Link) -> Result<(), OutboundError> {
    match link.peer {
        Some(peer) if (hop.is_redirected || hop.bound.shuns_link_local()) && is_link_local(peer) => {
            Err(link_local(&format!("a redirect leads to {}, at {peer}", origin(&hop.uri))))
        }
        Some(_) | None => Ok(()),
    }
}

/// An upstream must not have the gateway ask for the credentials of its machine.
fn link_local(what: &str) -> OutboundError {
    invalid(format!(
        "{what}, which is link-local and not followed; name that address in the definition if it is meant"
    ))
}

/// What it takes to go on at another origin: nothing secret may come along.
fn leave_origin(hop: &mut Hop, target: &Uri, sensitive: &Sensitive) -> Result<(), OutboundError> {
    let why_not = if hop.reach == Reach::SameOrigin || hop.bound.stays() {
        "which is another origin and not followed"
    } else if !hop.body.is_empty() && (hop.secret_body || sensitive.is_in(&hop.body)) {
        "which is not followed because the body holds a secret"
    } else if sensitive.is_in(target.to_string().as_bytes()) {
        "which is not followed because that address holds a secret"
    } else {
        drop_credentials(&mut hop.headers, sensitive);
        hop.bound = Bound::default();
        return Ok(());
    };
    Err(invalid(format!(
        "{} redirects to {}, {why_not}; name the final address in the definition",
        origin(&hop.uri),
        origin(target)
    )))
}

fn resolve(base: &Uri, location: &[u8]) -> Result<Uri, OutboundError> {
    let unusable = |reason: &str| {
        let shown: String = String::from_utf8_lossy(location).chars().take(200).collect();
        invalid(format!("{} redirects to {shown:?}, {reason}", origin(base)))
    };
    let text = std::str::from_utf8(location).map_err(|_| unusable("which is not text"))?;
    let base_url = Url::parse(&base.to_string()).map_err(|_| unusable("which cannot be resolved"))?;
    let mut url = base_url.join(text).map_err(|_| unusable("which is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("which is neither http nor https"));
    }
    url.set_fragment(None);
    // Credentials in the address would only go into the pool's key, never out; drop them here.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Uri::try_from(url.as_str()).map_err(|_| unusable("which is not a URL"))
}

fn same_origin(one: &Uri, other: &Uri) -> bool {
    one.scheme() == other.scheme()
        && port(one) == port(other)
        && one.host().unwrap_or_default().eq_ignore_ascii_case(other.host().unwrap_or_default())
}

/// Leaves only what may be told to another origin.
fn drop_credentials(headers: &mut HeaderMap, sensitive: &Sensitive) {
    remove(headers, OF_ONE_ORIGIN);
    let secret: Vec<HeaderName> = headers
        .iter()
        .filter(|(_, value)| value.is_sensitive() || sensitive.is_in(value.as_bytes()))
        .map(|(name, _)| name.clone())
        .collect();
    remove(headers, &secret);
}

fn remove(headers: &mut HeaderMap, names: &[HeaderName]) {
    for name in names {
        headers.remove(name);
    }
}
