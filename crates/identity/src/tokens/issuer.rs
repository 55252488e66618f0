//! One issuer of tokens: how it is configured, its keys as they were fetched last, and what of a token must be true.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use toolrail_core::async_trait;

use super::grant::{ClaimNames, Grant};
use super::jwks::KeySet;
use super::jwt::{Algorithm, Unverified};

/// How far apart two looks at an issuer's keys are at the least, whoever shows what.
pub(super) const REST: Duration = Duration::from_secs(10);
/// How long one look may take in all.
const WITHIN: Duration = Duration::from_secs(10);
/// How long keys are taken without looking again.
const FRESH: Duration = Duration::from_mins(15);
/// How far clocks may be apart when nothing is said, and at the most.
const SKEW: u64 = 60;
const MOST_SKEW: u64 = 600;

/// Gets a document from an issuer.
#[async_trait]
pub trait FetchDocument: Send + Sync {
    /// What is at that address, or why it cannot be had.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String>;
}

/// How an issuer is configured.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssuerSettings {
    /// What its tokens say in `iss`, exactly; where its own description is found, unless `jwks` says where its keys are.
    pub issuer: String,
    /// What its tokens for this gateway say in `aud`, any of these; what is under `publicUrl` when left out.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// Where its keys are; found by its description when left out.
    pub jwks: Option<String>,
    /// The ways to sign that are taken; RS256, PS256, ES256 and EdDSA when left out.
    #[serde(default)]
    pub algorithms: Vec<Algorithm>,
    /// How many seconds clocks may be apart (0 to 600); 60 when left out.
    pub clock_skew: Option<u64>,
    /// Which claims say who somebody is.
    #[serde(default)]
    pub claims: ClaimNames,
    /// What holders of its tokens may do: the first rule that fits decides, and whom none fits gets nothing.
    pub grants: Vec<Grant>,
}

impl IssuerSettings {
    /// What is wrong, each with the pointer of its field within this one.
    pub fn faults(&self, has_public_url: bool) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        let mut fault = |pointer: &str, told: &str| faults.push((pointer.to_owned(), told.to_owned()));
        if !is_safe(&self.issuer) {
            fault("/issuer", SAFE);
        }
        if self.jwks.as_deref().is_some_and(|url| !is_safe(url)) {
            fault("/jwks", SAFE);
        }
        if self.audiences.is_empty() && !has_public_url {
            fault(
                "/audiences",
                "nothing says which tokens are meant for this gateway; list what they have in aud, or set publicUrl",
            );
        }
        if self.clock_skew.is_some_and(|skew| skew > MOST_SKEW) {
            fault("/clockSkew", "clocks may be at most 600 seconds apart; lower it");
        }
        if self.grants.is_empty() {
            fault("/grants", "without a rule nobody may do anything; add one, such as {role: call}");
        }
        for (index, grant) in self.grants.iter().enumerate() {
            if let Some(told) = grant.fault() {
                fault(&format!("/grants/{index}"), told);
            }
        }
        faults
    }
}

const SAFE: &str = "is not an https:// address; http:// is taken for loopback addresses only";

/// Whether nobody on the way can change what is fetched from there.
pub fn is_safe(url: &str) -> bool {
    if url.contains(['@', ' ', '\\']) {
        return false;
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// Why a token of this issuer is not taken.
pub(super) type Fault = String;

/// How it stands with looking at an issuer's keys.
#[derive(Clone, Copy, Default)]
struct Look {
    is_running: bool,
    ended: Option<Instant>,
    has_failed: bool,
}

/// An issuer whose tokens are taken.
pub(super) struct Issuer {
    pub(super) settings: IssuerSettings,
    /// Addresses of this gateway, for which tokens are meant where no audience is listed.
    public_url: Option<String>,
    keys: ArcSwap<KeySet>,
    /// Whether somebody looks at its keys, and how that ended the last time.
    look: watch::Sender<Look>,
}

impl Issuer {
    pub(super) fn new(settings: IssuerSettings, public_url: Option<&str>) -> Self {
        let public_url = public_url.map(|url| url.trim_end_matches('/').to_owned());
        Self { settings, public_url, keys: ArcSwap::default(), look: watch::Sender::default() }
    }

    pub(super) fn keys(&self) -> Arc<KeySet> {
        self.keys.load_full()
    }

    /// Whether the claims are true at that time, in seconds since 1970; then until when.
    pub(super) fn check_claims(&self, token: &Unverified, now: u64) -> Result<u64, Fault> {
        let skew = self.settings.clock_skew.unwrap_or(SKEW);
        let moment = |claim: &str| match token.claims.get(claim) {
            None => Ok(None),
            Some(value) => seconds(value).map(Some).ok_or_else(|| format!("its {claim} is no time")),
        };
        let expires = moment("exp")?.ok_or("it has no exp, so it would be good for ever")?;
        if expires.saturating_add(skew) <= now {
            return Err("it has expired".to_owned());
        }
        for claim in ["nbf", "iat"] {
            if moment(claim)?.is_some_and(|from| from > now.saturating_add(skew)) {
                return Err(format!("it is not good yet ({claim})"));
            }
        }
        let for_us = match token.claims.get("aud") {
            Some(Value::String(audience)) => self.is_audience(audience),
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).any(|one| self.is_audience(one))
            }
            _ => false,
        };
        if !for_us {
            return Err("it is meant for another audience (aud) than this gateway".to_owned());
        }
        Ok(expires.saturating_add(skew))
    }

    fn is_audience(&self, audience: &str) -> bool {
        if !self.settings.audiences.is_empty() {
            return self.settings.audiences.iter().any(|ours| ours == audience);
        }
        self.public_url.as_deref().filter(|_| !audience.contains("..")).is_some_and(|ours| {
            audience.strip_prefix(ours).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    pub(super) fn takes(&self, algorithm: Algorithm) -> bool {
        let listed = &self.settings.algorithms;
        if listed.is_empty() { Algorithm::USUAL.contains(&algorithm) } else { listed.contains(&algorithm) }
    }

    /// Whether the keys are so old that they should be looked at again.
    pub(super) fn is_stale(&self) -> bool {
        let look = *self.look.borrow();
        !look.is_running && look.ended.is_none_or(|at| at.elapsed() >= FRESH)
    }

    /// Whether the last look has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.look.borrow().has_failed
    }

    /// Begins to look at the issuer's keys, unless somebody does or has done so within that rest; says whether. Nobody who waits
    /// for it can end it; `gone` is called if any of the keys before is not there any more.
    pub(super) fn begin_look(
        self: &Arc<Self>,
        (documents, rest): (&Arc<dyn FetchDocument>, Duration),
        gone: impl FnOnce() + Send + 'static,
    ) -> bool {
        let begins = self.look.send_if_modified(|look| {
            let may = !look.is_running && look.ended.is_none_or(|at| at.elapsed() >= rest);
            look.is_running |= may;
            may
        });
        if !begins {
            return false;
        }
        let (issuer, documents) = (Arc::clone(self), Arc::clone(documents));
        tokio::spawn(async move {
            let mut running = Running { issuer: &issuer, has_failed: true };
            let reading = tokio::time::timeout(WITHIN, issuer.read_keys(&*documents));
            match reading.await.unwrap_or_else(|_| Err(format!("it took more than {} s", WITHIN.as_secs()))) {
                Ok(any_gone) => {
                    running.has_failed = false;
                    if any_gone {
                        gone();
                    }
                }
                Err(why) => {
                    tracing::warn!(issuer = %issuer.settings.issuer, %why, "the keys of an issuer cannot be read; those that are known stay good");
                }
            }
        });
        true
    }

    /// Waits until nobody looks.
    pub(super) async fn looked(&self) {
        // The sender lives as long as this does.
        let _ = self.look.subscribe().wait_for(|look| !look.is_running).await;
    }

    /// Reads the keys; gives whether any of those before is gone.
    async fn read_keys(&self, documents: &dyn FetchDocument) -> Result<bool, String> {
        let url = match &self.settings.jwks {
            Some(url) => url.clone(),
            None => self.find_keys(documents).await?,
        };
        let document = documents.fetch(&url).await?;
        let keys = KeySet::read(&document).map_err(|why| format!("{url}: {why}"))?;
        let before = self.keys.swap(Arc::new(keys));
        Ok(!self.keys.load().has_all_of(&before))
    }

    /// Where the keys are, by what the issuer says of itself (OpenID Connect Discovery, RFC 8414).
    async fn find_keys(&self, documents: &dyn FetchDocument) -> Result<String, String> {
        let mut failures = Vec::new();
        for url in descriptions(&self.settings.issuer) {
            match documents.fetch(&url).await.and_then(|document| self.keys_named_in(&document)) {
                Ok(keys) => return Ok(keys),
                Err(why) => failures.push(format!("{url}: {why}")),
            }
        }
        Err(failures.join("; "))
    }

    fn keys_named_in(&self, document: &[u8]) -> Result<String, String> {
        let document: Value = serde_json::from_slice(document).map_err(|_| "it is no JSON".to_owned())?;
        if document["issuer"].as_str() != Some(&self.settings.issuer) {
            return Err("it describes another issuer; write issuer exactly as it says it".to_owned());
        }
        match document["jwks_uri"].as_str() {
            Some(url) if is_safe(url) => Ok(url.to_owned()),
            Some(_) => Err(format!("its jwks_uri {SAFE}")),
            None => Err("it has no jwks_uri".to_owned()),
        }
    }
}

/// A look that is under way; it is over when this is gone, however that comes about.
struct Running<'i> {
    issuer: &'i Issuer,
    has_failed: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let has_failed = self.has_failed;
        self.issuer.look.send_replace(Look { is_running: false, ended: Some(Instant::now()), has_failed });
    }
}

/// Where an issuer may describe itself.
pub(crate) fn descriptions(issuer: &str) -> Vec<String> {
    let base = issuer.trim_end_matches('/');
    let mut places = vec![format!("{base}/.well-known/openid-configuration")];
    if let Some((scheme, rest)) = base.split_once("://") {
        let (host, path) =
            rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
        places.push(format!("{scheme}://{host}/.well-known/oauth-authorization-server{path}"));
    }
    places
}

/// A moment in seconds since 1970; some issuers write fractions.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the range that was checked"
)]
fn seconds(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|number| (0.0..1e15).contains(number)).map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_reached_where_nobody_can_change_what_it_says() {
        for good in [
            "https://login.example.com/realms/x",
            "http://localhost:8080",
            "http://127.0.0.1:1/a",
            "http://[::1]:80",
        ] {
            assert!(is_safe(good), "{good}");
        }
        for bad in [
            "http://login.example.com",
            "http://localhost.evil.com",
            "ftp://x",
            "https://",
            "",
            "http://127.0.0.1.evil.com",
            "http://localhost:80@evil.example",
        ] {
            assert!(!is_safe(bad), "{bad}");
        }
    }

    #[test]
    fn an_issuer_describes_itself_in_either_place() {
        assert_eq!(
            descriptions("https://a.example/realms/x/"),
            [
                "https://a.example/realms/x/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server/realms/x"
            ]
        );
    }
}
