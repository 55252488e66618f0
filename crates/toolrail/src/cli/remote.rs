//! A server somewhere else, over the one guarded client.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde_json::Value;
use toolrail_core::ErrorCode;
use toolrail_executors::outbound::{
    Bound, Client, ClientLimits, OutboundError, Outgoing, SendLimits, Sensitive, StreamedAnswer, Trust,
};
use toolrail_http::TENANT;

use super::Hinted;
use super::target::client_key::ClientKey;
use crate::identity;
use crate::server_file::ServerFile;

/// How long a request may take: longer than any call.
pub(super) const LONGEST: Duration = Duration::from_mins(11);
/// How much of an answer is read.
const MOST_MEGABYTES: usize = 64;

const LIMITS: SendLimits = SendLimits {
    connect: Duration::from_secs(5),
    total: LONGEST,
    max_response_bytes: MOST_MEGABYTES * 1024 * 1024,
    redirects: 0,
};

/// A server, by the address under which its paths stand.
pub(super) struct Remote {
    base: String,
    /// Whose tools are seen, if anybody's.
    tenant: Option<HeaderValue>,
    /// What proves who asks.
    key: Option<HeaderValue>,
    client: Arc<Client>,
}

impl Remote {
    /// The server at `url`. Many will paste the address that their MCP client uses, so `/mcp` at its end is left off.
    pub(super) fn new(url: &str) -> anyhow::Result<Self> {
        let url = with_scheme(url);
        let base = url.trim_end_matches('/').trim_end_matches("/mcp").trim_end_matches('/').to_owned();
        let uri: Option<Uri> = base.parse().ok();
        if !uri.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https"))) {
            return Err(Hinted::error(
                format!("{:?} is not the URL of a server", without_user(&url)),
                "write it like http://127.0.0.1:8080",
            ));
        }
        Ok(Self { base, tenant: None, key: None, client: Arc::new(Client::new(ClientLimits::default())) })
    }

    /// The same, believing others than the authorities of this machine.
    pub(super) fn trusting(self, trust: Trust) -> Self {
        Self { client: Arc::new(Client::trusting(ClientLimits::default(), trust)), ..self }
    }

    /// The server that has announced itself in a data folder: known by the certificate that it names there, if it speaks TLS.
    pub(super) fn announced(file: &ServerFile, trust: Trust) -> anyhow::Result<Self> {
        let trust = match &file.fingerprint {
            Some(fingerprint) => trust.with_fingerprint(fingerprint)?,
            None => trust,
        };
        Ok(Self::new(&file.url)?.trusting(trust))
    }

    /// The same, on behalf of a tenant.
    pub(super) fn for_tenant(self, tenant: Option<&str>) -> anyhow::Result<Self> {
        Ok(Self { tenant: tenant.map(HeaderValue::from_str).transpose()?, ..self })
    }

    /// The same, showing that key, if there is one.
    pub(super) fn with_key(self, key: Option<&ClientKey>) -> Self {
        match key {
            Some(key) => Self { key: Some(key.header()), ..self },
            None => self,
        }
    }

    /// Its address, for people.
    pub(super) fn shown(&self) -> String {
        without_user(&self.base)
    }

    /// Whether a gateway answers there.
    pub(super) async fn lives(&self) -> bool {
        let asked = self.send(Method::GET, "/healthz", HeaderMap::new(), Bytes::new());
        let Ok(Ok((status, body))) = tokio::time::timeout(Duration::from_secs(2), asked).await else {
            return false;
        };
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        // One that asks for keys says no more than that to whoever shows none.
        status.is_success() && (said["version"].is_string() || said["status"] == "ok")
    }

    /// Sends a request and hands over its answer, whatever its status, still to be read.
    pub(super) async fn open(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<StreamedAnswer> {
        let request = self.request(method, path, headers, body)?;
        self.client.open(request).await.map_err(|failure| self.told(failure))
    }

    /// Sends a request and reads the answer, whatever its status.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = self.request(method, path, headers, body)?;
        let answer = self.client.send(request).await.map_err(|failure| self.told(failure))?;
        if answer.cut.is_some() {
            return Err(self.too_large());
        }
        Ok((answer.status, answer.body))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<Outgoing> {
        if let Some(tenant) = &self.tenant {
            headers.insert(TENANT, tenant.clone());
        }
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        let uri =
            format!("{}{path}", self.base).parse().with_context(|| format!("{path:?} is not a path"))?;
        let (secret_body, sensitive, bound) = (false, Sensitive::default(), Bound::default());
        Ok(Outgoing { method, uri, headers, body, secret_body, limits: LIMITS, sensitive, bound })
    }

    fn too_large(&self) -> anyhow::Error {
        Hinted::error(
            format!(
                "the answer of {} is larger than {MOST_MEGABYTES} MB; is it a Toolrail gateway?",
                self.shown()
            ),
            "name one with --url, such as http://127.0.0.1:8080, or ask for less at once",
        )
    }

    fn told(&self, failure: OutboundError) -> anyhow::Error {
        // No answer of a gateway uses up the room that a command has.
        if failure.error.code == ErrorCode::Overloaded {
            return self.too_large();
        }
        if failure.connected {
            return anyhow::Error::new(failure);
        }
        if failure.error.message.contains("CaUsedAsEndEntity") {
            return Hinted::error(
                format!(
                    "the certificate of {} is that of an authority, and no server may show one",
                    self.shown()
                ),
                "make it again for a server: `openssl req -x509 … -addext basicConstraints=critical,CA:FALSE`",
            );
        }
        if failure.error.message.contains("TLS certificate") {
            return Hinted::error(
                format!("the server at {} is not trusted: {failure}", self.shown()),
                "name the file of the authority that issued its certificate with --ca-file",
            );
        }
        Hinted::error(
            format!("no server answers at {}: {failure}", self.shown()),
            format!("start one with `{} serve`, or name another with --url", identity::name()),
        )
    }
}

/// `127.0.0.1:8080` and `gateway:8080` as they are meant; an address of this machine needs no TLS, and nor do those who would
/// have written so.
fn with_scheme(url: &str) -> String {
    let starts_like_host = url.starts_with(|first: char| first.is_alphanumeric() || first == '[');
    let has_place = url.contains(['.', ':']) || url.starts_with("localhost");
    if url.contains("://") || !starts_like_host || !has_place {
        url.to_owned()
    } else {
        format!("http://{url}")
    }
}

/// The URL without whatever may be a user and a password, even where it is written wrongly.
pub(super) fn without_user(url: &str) -> String {
    let Some((before, rest)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    match before.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://{rest}"),
        None => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Remote, without_user};

    #[test]
    fn an_address_without_a_scheme_is_a_server() {
        for (url, shown) in [
            ("127.0.0.1:8103", "http://127.0.0.1:8103"),
            ("localhost:8080/mcp", "http://localhost:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("https://gateway.example/", "https://gateway.example"),
        ] {
            assert_eq!(Remote::new(url).map(|remote| remote.shown()).ok().as_deref(), Some(shown));
        }
        assert!(Remote::new("ftp://gateway").is_err() && Remote::new("/tmp/x").is_err());
    }

    #[test]
    fn a_url_is_shown_without_its_user() {
        for (url, shown) in [
            ("http://h:1/x", "http://h:1/x"),
            ("http://u:secret@h:1/x", "http://h:1/x"),
            ("http://u:sec/r@t@h", "http://h"),
            ("u:secret@h", "h"),
        ] {
            assert_eq!(without_user(url), shown);
        }
    }
}
