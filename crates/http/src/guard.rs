//! Keeps foreign web pages out: a page can point its own host name at this machine (DNS rebinding) or send requests
//! here from another origin. So Host must be a name of ours, and Origin, which browsers send, one we know.

use std::net::IpAddr;

use axum::response::{IntoResponse, Response};
use http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use toolrail_core::{ErrorCode, PeerAddress, WrongTenant};

use super::Addresses;
use super::forwarded::Proxies;

/// Which hosts and origins are known.
#[derive(Debug)]
pub struct Guard {
    /// What nearly every request says, compared before anything is looked into.
    usual: [String; 2],
    bound: Vec<IpAddr>,
    hosts: Vec<String>,
    origins: Vec<String>,
    proxies: Proxies,
}

/// Why a request was not let through.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name it was sent to is none of ours.
    Host(String),
    /// The web page it came from is not known.
    Origin(String),
    /// The tenant it names is none.
    Tenant(WrongTenant),
    /// It names more than one tenant.
    TenantTwice,
    /// A tool of a gateway made it, and it is about the administration.
    Hop,
    /// It shows no key.
    NoKey,
    /// It shows neither a key nor a token, where both are taken.
    NothingShown,
    /// It shows something else than a key.
    NotBearer,
    /// It shows more than one key.
    TwoKeys,
    /// The key is none of ours, or was revoked.
    WrongKey,
    /// The key was good once.
    ExpiredKey,
    /// Nobody can be let in before the keys were read.
    KeysUnread,
    /// Nobody whom permission rules could limit can be let in before they are known; why they are not.
    RulesUnknown(String),
    /// The token is not good.
    BadToken(String),
    /// The token is good, and gives no rights here.
    NothingGranted(String),
    /// The keys of an issuer, the one of that number, have to be looked at before anybody can say whether a token is good; or
    /// cannot be had.
    IssuerUnread(Option<usize>),
    /// The key is of another tenant than the request names.
    OtherTenant,
}

/// How an answer says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `{ok: false, error: {code, message}}`
    Rest,
    /// A JSON-RPC error without an id.
    JsonRpc,
}

impl Guard {
    /// Knows the addresses the server listens on, loopback, and what the configuration lists.
    pub fn new(bound: &Addresses, hosts: &[String], origins: &[String]) -> Self {
        let usual = bound.calls;
        Self {
            usual: [usual.to_string(), format!("localhost:{}", usual.port())],
            bound: bound.all().map(|address| address.ip()).collect(),
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
            proxies: Proxies::default(),
        }
    }

    /// The same behind those proxies.
    #[must_use]
    pub fn behind(self, proxies: Proxies) -> Self {
        Self { proxies, ..self }
    }

    /// The address of whoever sends a request with those headers by a connection from there.
    pub(super) fn client(&self, peer: Option<PeerAddress>, headers: &HeaderMap) -> Option<PeerAddress> {
        self.proxies.client(peer, headers)
    }

    /// Whether a request with those headers may pass.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, &HOST).map_err(Refusal::Host)?.unwrap_or_default();
        if !self.usual.iter().any(|usual| usual == host) && !self.knows_host(host) {
            return Err(Refusal::Host(host.to_owned()));
        }
        match only(headers, &ORIGIN).map_err(Refusal::Origin)? {
            Some(origin) if !self.knows_origin(origin, host) => Err(Refusal::Origin(origin.to_owned())),
            _ => Ok(()),
        }
    }

    /// Whether a request that changes definitions may pass: a page of another port of this machine may not send it, since
    /// what it changes is run for everybody.
    pub fn check_change(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, &HOST).map_err(Refusal::Host)?.unwrap_or_default();
        match only(headers, &ORIGIN).map_err(Refusal::Origin)? {
            Some(origin) if !self.is_listed(origin) && !is_of_host(origin, host) => {
                Err(Refusal::Origin(origin.to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn is_listed(&self, origin: &str) -> bool {
        self.origins.contains(&origin.to_ascii_lowercase())
    }

    fn knows_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = without_port(&host);
        if self.hosts.iter().any(|known| *known == host || known == name) {
            return true;
        }
        match address_in(name) {
            // A page cannot rebind an address, only a name. On loopback no other address can be meant.
            Some(address) => {
                let may_be = |bound: &IpAddr| address == *bound || !is_loopback(*bound);
                is_loopback(address) || self.bound.iter().any(may_be)
            }
            None => name == "localhost",
        }
    }

    fn knows_origin(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Some((_, authority)) = origin.split_once("://") else {
            return false;
        };
        let name = without_port(authority);
        name == "localhost"
            || address_in(name).is_some_and(is_loopback)
            || authority.eq_ignore_ascii_case(host)
    }
}

/// Whether a page comes from the very server it talks to.
fn is_of_host(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

/// The value of a header that must not be repeated.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    match (values.next(), first.to_str()) {
        (None, Ok(text)) => Ok(Some(text)),
        _ => Err(String::from_utf8_lossy(first.as_bytes()).into_owned()),
    }
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => authority,
    }
}

fn address_in(name: &str) -> Option<IpAddr> {
    match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|inner| inner.is_loopback())
        }
    }
}

impl Refusal {
    /// The answer, in the shape that whoever is refused can read.
    pub fn told(self, shape: Shape) -> Response {
        /// The request is not one that may be made.
        const INVALID_REQUEST: i32 = -32600;
        let (code, challenge) = (self.code(), self.challenge());
        let message = self.message();
        let body = match shape {
            Shape::Rest => json!({"ok": false, "error": {"code": code, "message": message}}),
            Shape::JsonRpc => {
                json!({"jsonrpc": "2.0", "error": {"code": INVALID_REQUEST, "message": message}})
            }
        };
        let kind = HeaderValue::from_static("application/json");
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::FORBIDDEN);
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body.to_string()).into_response();
        if let Some(challenge) = challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }

    /// What is wrong with what was shown, in the words of OAuth.
    pub(super) fn oauth_error(&self) -> Option<(&'static str, String)> {
        match self {
            Self::WrongKey | Self::ExpiredKey => {
                Some(("invalid_token", "it is unknown or has expired".to_owned()))
            }
            Self::BadToken(why) => Some(("invalid_token", why.clone())),
            Self::NotBearer | Self::TwoKeys => {
                Some(("invalid_request", "one bearer token is needed".to_owned()))
            }
            Self::NothingGranted(why) => Some(("insufficient_scope", why.clone())),
            _ => None,
        }
    }

    /// What tells a client how to prove who it is (RFC 6750, 3).
    fn challenge(&self) -> Option<&'static str> {
        match self {
            Self::NoKey | Self::NothingShown => Some("Bearer realm=\"toolrail\""),
            Self::NotBearer | Self::TwoKeys => Some("Bearer realm=\"toolrail\", error=\"invalid_request\""),
            Self::WrongKey | Self::ExpiredKey | Self::BadToken(_) => {
                Some("Bearer realm=\"toolrail\", error=\"invalid_token\"")
            }
            _ => None,
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Host(_) | Self::Origin(_) | Self::Hop | Self::OtherTenant | Self::NothingGranted(_) => {
                ErrorCode::Forbidden
            }
            Self::NoKey
            | Self::NothingShown
            | Self::NotBearer
            | Self::TwoKeys
            | Self::WrongKey
            | Self::ExpiredKey
            | Self::BadToken(_) => ErrorCode::Unauthorized,
            Self::IssuerUnread(_) => ErrorCode::UpstreamUnreachable,
            Self::KeysUnread | Self::RulesUnknown(_) => ErrorCode::StoreUnavailable,
            Self::Tenant(_) | Self::TenantTwice => ErrorCode::InvalidRequest,
        }
    }

    fn message(self) -> String {
        match self {
            Self::Host(host) if host.is_empty() => "the request has no Host header".to_owned(),
            Self::Host(host) => {
                let name: String = without_port(&host).chars().take(200).collect();
                format!(
                    "{name:?} is not a known name of this server; if it is one, start it with --allow-host {name}"
                )
            }
            Self::Origin(origin) => {
                let origin: String = origin.chars().take(200).collect();
                format!(
                    "web pages of {origin:?} may not use this server; if they should, start it with --allow-origin {origin}"
                )
            }
            Self::Tenant(wrong) => format!("the header Toolrail-Tenant is wrong: {wrong}"),
            Self::Hop => {
                "a tool may not administer a gateway; do it with the command line or a request of your own"
                    .to_owned()
            }
            Self::NoKey => {
                "this gateway asks for a key: send Authorization: Bearer tr_…, or X-API-Key; an operator makes one with `toolrail keys create NAME --role call`"
                    .to_owned()
            }
            Self::NothingShown => {
                "this gateway asks who you are: sign in with a client that speaks OAuth, which WWW-Authenticate tells where, and send Authorization: Bearer TOKEN; or show a key in the same way, which an operator makes with `toolrail keys create NAME --role call`"
                    .to_owned()
            }
            Self::NotBearer => {
                "Authorization has neither a key nor a token; send Authorization: Bearer, and then either".to_owned()
            }
            Self::TwoKeys => "the request shows more than one key; send one".to_owned(),
            Self::WrongKey => {
                "the key is not known here: it was revoked, or is of another gateway; ask for a new one".to_owned()
            }
            Self::ExpiredKey => "the key has expired; ask for a new one".to_owned(),
            Self::BadToken(why) => format!("the token is refused: {why}"),
            Self::NothingGranted(why) | Self::RulesUnknown(why) => why,
            Self::IssuerUnread(_) => {
                "the keys of the token's issuer cannot be read at the moment; try again, or tell whoever runs the gateway"
                    .to_owned()
            }
            Self::KeysUnread => "the keys could not be read from the store yet; try again in a moment".to_owned(),
            Self::OtherTenant => {
                "the header Toolrail-Tenant names a tenant that the key is not of; leave it out".to_owned()
            }
            Self::TenantTwice => {
                "the header Toolrail-Tenant is there more than once; send it once".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: ([u8; 4], u16)) -> Addresses {
        Addresses { calls: address.into(), administration: None }
    }

    fn pass(guard: &Guard, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        guard.check(&headers).is_ok()
    }

    #[test]
    fn on_loopback_only_loopback_and_listed_names_pass() {
        let guard = Guard::new(&at(([127, 0, 0, 1], 8080)), &["Gateway.local".into()], &[]);
        for host in
            ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "127.0.0.2", "[::1]:8080", "gateway.local:8080"]
        {
            assert!(pass(&guard, host, None), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "192.168.1.5:8080",
            "127.0.0.1.nip.io",
            "",
            "[::1",
            "a:b:c",
        ] {
            assert!(!pass(&guard, host, None), "{host}");
        }
    }

    #[test]
    fn on_a_public_address_any_address_passes_but_no_foreign_name() {
        let guard = Guard::new(&at(([0, 0, 0, 0], 80)), &[], &[]);
        assert!(pass(&guard, "10.1.2.3", None) && pass(&guard, "[2001:db8::1]:80", None));
        assert!(!pass(&guard, "evil.example", None));
    }

    #[test]
    fn the_address_of_the_administration_passes_too() {
        let addresses =
            Addresses { administration: Some(([10, 1, 2, 3], 9000).into()), ..at(([127, 0, 0, 1], 8080)) };
        let guard = Guard::new(&addresses, &[], &[]);
        assert!(pass(&guard, "10.1.2.3:9000", None) && pass(&guard, "127.0.0.1:8080", None));
        assert!(!pass(&guard, "evil.example", None));
    }

    #[test]
    fn an_origin_must_be_loopback_the_same_or_listed() {
        let guard = Guard::new(
            &at(([127, 0, 0, 1], 8080)),
            &["gw.local".into()],
            &["https://Console.example/".into()],
        );
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:5173",
            "https://console.example",
            "http://gw.local:8080",
        ] {
            assert!(pass(&guard, "gw.local:8080", Some(origin)), "{origin}");
        }
        for origin in
            ["null", "https://evil.example", "http://localhost.evil.example", "http://gw.local", "localhost"]
        {
            assert!(!pass(&guard, "gw.local:8080", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn definitions_are_changed_by_pages_of_this_server_and_listed_ones_only() {
        let guard = Guard::new(&at(([127, 0, 0, 1], 8080)), &[], &["https://console.example".into()]);
        let change = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("127.0.0.1:8080"));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            guard.check_change(&headers).is_ok()
        };
        assert!(
            change(None) && change(Some("http://127.0.0.1:8080")) && change(Some("https://console.example"))
        );
        assert!(!change(Some("http://localhost:3000")) && !change(Some("http://127.0.0.1:9000")));
    }

    #[test]
    fn a_repeated_or_missing_host_is_refused() {
        let guard = Guard::new(&at(([127, 0, 0, 1], 8080)), &[], &[]);
        let mut headers = HeaderMap::new();
        assert_eq!(guard.check(&headers), Err(Refusal::Host(String::new())));
        headers.append(HOST, HeaderValue::from_static("localhost"));
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(guard.check(&headers).is_err());
    }
}
