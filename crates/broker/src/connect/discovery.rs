//! The authorisation server of an upstream server: which it is (RFC 9728), and what it says of itself (RFC 8414). Whatever others
//! name is looked at only where it may be.

use serde_json::Value;
use toolrail_core::{GrantServer, async_trait};
use toolrail_identity::is_safe_url;
use url::Url;

/// The most bytes of a document or an answer.
pub const MOST_ANSWER_BYTES: usize = 64 << 10;
/// The longest address that is taken.
const LONGEST_ADDRESS: usize = 2_000;
/// The most scopes that a server is asked for because it names them.
const MOST_SCOPES: usize = 50;
/// Asks a server for nothing, so that it says where tokens are to be had.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// How upstream servers and their authorisation servers are reached.
#[async_trait]
pub trait UpstreamOutbound: Send + Sync {
    /// Sends a request and gives the answer; follows no redirect.
    async fn send(&self, request: UpstreamRequest<'_>) -> Result<UpstreamAnswer, String>;
}

/// A request to them.
pub struct UpstreamRequest<'r> {
    /// Where it goes.
    pub url: &'r str,
    /// What it brings.
    pub body: UpstreamBody<'r>,
    /// How it proves who we are, if it does.
    pub client: Option<(&'r str, &'r ClientSecret)>,
    /// Whether it may go to addresses that are not public.
    pub may_be_private: bool,
}

/// What a request brings.
pub enum UpstreamBody<'b> {
    /// Nothing: something is read.
    Nothing,
    /// A form.
    Form(&'b [(&'b str, &'b str)]),
    /// JSON.
    Json(String),
}

/// What an answer says.
pub struct UpstreamAnswer {
    /// Its status.
    pub status: u16,
    /// What it says of tokens (`WWW-Authenticate`).
    pub challenge: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
}

/// What proves who we are to an authorisation server.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub enum ClientSecret {
    /// A secret of this gateway, by its name.
    Named(String),
    /// What it gave us itself when we registered.
    Given(String),
}

/// An authorisation server.
pub(super) struct AuthorisationServer {
    pub(super) issuer: String,
    pub(super) authorization: String,
    pub(super) token: String,
    pub(super) registration: Option<String>,
    /// Whether a client may be known by the address of a document about it.
    pub(super) takes_documents: bool,
    /// Whether it says who it is when it sends somebody back (RFC 9207).
    pub(super) says_issuer: bool,
    /// What tokens are to be for.
    pub(super) resource: String,
    /// What the upstream server asks for.
    pub(super) scopes: Vec<String>,
}

/// What an upstream server says of itself.
struct ServerAccess {
    issuer: String,
    resource: String,
    scopes: Vec<String>,
}

/// Whether what that server has us ask may be at an address that is not public: only where its definition says so, or where it is
/// the server's own.
pub(super) fn may_be_private(server: &GrantServer, url: &str) -> bool {
    let host = |text: &str| Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
    server.issuer.is_some() || host(url) == host(&server.url)
}

/// Finds out where people connect their accounts at that server.
pub(super) async fn discover(
    outbound: &dyn UpstreamOutbound,
    server: &GrantServer,
) -> Result<AuthorisationServer, String> {
    let resource = match &server.issuer {
        Some(issuer) => {
            ServerAccess { issuer: issuer.clone(), resource: server.url.clone(), scopes: Vec::new() }
        }
        None => resource_of(outbound, server).await?,
    };
    let issuer = Url::parse(&resource.issuer).map_err(|_| "its issuer is no address".to_owned())?;
    let path = issuer.path().trim_end_matches('/');
    let origin = issuer.origin().ascii_serialization();
    let places = [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    for place in places {
        if let Some(said) = document(outbound, server, &place).await? {
            return read(&said, resource);
        }
    }
    Err(format!("{} does not describe itself (RFC 8414)", resource.issuer))
}

/// What the server says of itself, at the address that it names or at the usual ones.
async fn resource_of(outbound: &dyn UpstreamOutbound, server: &GrantServer) -> Result<ServerAccess, String> {
    let url = Url::parse(&server.url).map_err(|_| "its address cannot be read".to_owned())?;
    let origin = url.origin().ascii_serialization();
    let ping = UpstreamRequest {
        url: &server.url,
        body: UpstreamBody::Json(PING.to_owned()),
        client: None,
        may_be_private: true,
    };
    let asked = outbound.send(ping).await?;
    let named = asked.challenge.as_deref().and_then(|challenge| parameter(challenge, "resource_metadata"));
    // Another server's word does not count for this one.
    let named = named.filter(|named| Url::parse(named).is_ok_and(|named| named.origin() == url.origin()));
    let path = url.path().trim_end_matches('/');
    let usual = [
        format!("{origin}/.well-known/oauth-protected-resource{path}"),
        format!("{origin}/.well-known/oauth-protected-resource"),
    ];
    for place in named.into_iter().chain(usual) {
        let Some(said) = document(outbound, server, &place).await? else { continue };
        let resource = said["resource"].as_str().unwrap_or_default();
        if !covers(resource, &url) {
            return Err(format!("its description is of another server ({})", short(resource)));
        }
        let issuer = said["authorization_servers"][0].as_str().filter(|issuer| is_good(issuer));
        let issuer = issuer.ok_or("its description names no authorisation server")?;
        let challenge = asked.challenge.as_deref().and_then(|challenge| parameter(challenge, "scope"));
        let listed = said["scopes_supported"].as_array().map(Vec::as_slice).unwrap_or_default();
        let scopes = match challenge {
            Some(scope) => scope.split_whitespace().map(str::to_owned).take(MOST_SCOPES).collect(),
            None => listed.iter().filter_map(Value::as_str).map(str::to_owned).take(MOST_SCOPES).collect(),
        };
        return Ok(ServerAccess { issuer: issuer.to_owned(), resource: resource.to_owned(), scopes });
    }
    Err("it does not say where its users sign in (RFC 9728); name the issuer in its definition (auth.issuer)"
        .to_owned())
}

/// Whether a description is of that server: its address, or one above it.
fn covers(resource: &str, url: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let rest = url.path().trim_end_matches('/').strip_prefix(path);
    resource.origin() == url.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn document(
    outbound: &dyn UpstreamOutbound,
    server: &GrantServer,
    url: &str,
) -> Result<Option<Value>, String> {
    let may_be_private = may_be_private(server, url);
    let request = UpstreamRequest { url, body: UpstreamBody::Nothing, client: None, may_be_private };
    let answer = outbound.send(request).await.map_err(|why| format!("{}: {why}", short(url)))?;
    Ok(if answer.status == 200 { serde_json::from_slice(&answer.body).ok() } else { None })
}

fn read(said: &Value, resource: ServerAccess) -> Result<AuthorisationServer, String> {
    let text = |name: &str| said[name].as_str().filter(|text| is_good(text)).map(str::to_owned);
    let lists = |name: &str, value: &str| {
        said[name].as_array().is_some_and(|list| list.iter().any(|listed| listed == value))
    };
    if said["issuer"].as_str() != Some(&resource.issuer) {
        return Err(format!("what {} says of itself is of somebody else (issuer)", short(&resource.issuer)));
    }
    if !lists("code_challenge_methods_supported", "S256") {
        return Err(format!("{} takes no PKCE with S256", short(&resource.issuer)));
    }
    let (authorization, token) = (text("authorization_endpoint"), text("token_endpoint"));
    let (Some(authorization), Some(token)) = (authorization, token) else {
        return Err(format!("{} does not say where accounts are connected", short(&resource.issuer)));
    };
    Ok(AuthorisationServer {
        authorization,
        token,
        registration: text("registration_endpoint"),
        takes_documents: said["client_id_metadata_document_supported"] == true,
        says_issuer: said["authorization_response_iss_parameter_supported"] == true,
        issuer: resource.issuer,
        resource: resource.resource,
        scopes: resource.scopes,
    })
}

fn is_good(address: &str) -> bool {
    address.len() <= LONGEST_ADDRESS && is_safe_url(address)
}

fn short(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

/// A parameter of a challenge, such as `Bearer resource_metadata="…"`.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let after = &rest[at + name.len()..];
        let is_whole = before.is_none_or(|before| matches!(before, ' ' | ',' | '\t'));
        if let Some(value) = after.trim_start().strip_prefix('=').filter(|_| is_whole) {
            let value = value.trim_start();
            let value = match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next(),
                None => value.split([',', ' ']).next(),
            };
            return value.filter(|value| value.len() <= LONGEST_ADDRESS).map(str::to_owned);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_challenge_are_found_in_any_order() {
        let challenge = r#"Bearer error="x", resource_metadata="https://a/b?c=d", scope="one two""#;
        assert_eq!(parameter(challenge, "resource_metadata").as_deref(), Some("https://a/b?c=d"));
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("one two"));
        assert_eq!(parameter(challenge, "realm"), None);
        assert_eq!(parameter("Bearer xscope=\"a\"", "scope"), None);
        assert_eq!(parameter("Bearer scope=a, b=c", "scope").as_deref(), Some("a"));
    }

    #[test]
    fn a_description_is_of_a_server_at_or_below_its_address() {
        let url = Url::parse("https://a.example/x/mcp").unwrap();
        for good in
            ["https://a.example", "https://a.example/", "https://a.example/x", "https://a.example/x/mcp"]
        {
            assert!(covers(good, &url), "{good}");
        }
        for bad in
            ["https://b.example", "http://a.example", "https://a.example/x/m", "https://a.example/y", ""]
        {
            assert!(!covers(bad, &url), "{bad}");
        }
    }
}
