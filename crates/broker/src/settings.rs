//! How the broker is configured, and what is wrong with that.

use serde::Deserialize;
use toolrail_identity::{ClaimNames, Grant, IssuerSettings, is_safe_url};

use crate::presets::{Preset, ProviderKind};

/// The longest an access token may be good, in minutes.
const MOST_TOKEN_MINUTES: u64 = 1_440;
/// The same in seconds.
pub(crate) const LONGEST_TOKEN_SECONDS: u64 = MOST_TOKEN_MINUTES * 60;
/// The longest somebody may stay signed in, in hours.
const MOST_SESSION_HOURS: u64 = 8_760;

/// The broker as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrokerSettings {
    /// Whose accounts people sign in with.
    pub provider: ProviderKind,
    /// The issuer, exactly as its tokens say it; made from the fields below where the provider is a known one.
    pub issuer: Option<String>,
    /// The address of a Keycloak.
    pub url: Option<String>,
    /// The realm of a Keycloak.
    pub realm: Option<String>,
    /// The directory (tenant) id of an Entra.
    pub tenant: Option<String>,
    /// The domain of an Okta or Auth0, such as `acme.okta.com`.
    pub domain: Option<String>,
    /// What this gateway is called at the provider.
    pub client_id: String,
    /// How it proves that: the name of a secret, `{{secrets.NAME}}`. A public client has none.
    pub client_secret: Option<String>,
    /// What the provider is asked for, in place of what is usual there.
    pub scopes: Option<Vec<String>>,
    /// For how many minutes a token is good (1 to 1440); 60 when left out.
    pub token_minutes: Option<u64>,
    /// For how many hours somebody stays signed in at the most (1 to 8760); 720 when left out.
    pub session_hours: Option<u64>,
    /// Patterns of the addresses that clients may have people sent back to; when left out, https ones, those of this machine and
    /// those of well-known programs.
    #[serde(default)]
    pub redirects: Vec<String>,
    /// Whether descriptions of clients (client id metadata documents) may lie at private addresses; not when left out.
    #[serde(default)]
    pub private_clients: bool,
    /// Which claims say who somebody is.
    #[serde(default)]
    pub claims: ClaimNames,
    /// What they may do: the first rule that fits decides, and whom none fits is not signed in.
    pub grants: Vec<Grant>,
}

impl BrokerSettings {
    /// The provider's issuer, or which settings it lacks.
    pub fn provider_issuer(&self) -> Result<String, Vec<&'static str>> {
        if let Some(issuer) = &self.issuer {
            return Ok(issuer.clone());
        }
        let preset = Preset::of(self.provider);
        let (mut issuer, mut missing) = (preset.issuer.to_owned(), Vec::new());
        for part in preset.parts() {
            match self.part(part) {
                Some(value) => {
                    issuer = issuer.replace(&format!("{{{part}}}"), value.trim_end_matches('/'));
                }
                None => missing.push(part),
            }
        }
        if missing.is_empty() { Ok(issuer) } else { Err(missing) }
    }

    fn part(&self, name: &str) -> Option<&str> {
        match name {
            "url" => self.url.as_deref(),
            "realm" => self.realm.as_deref(),
            "tenant" => self.tenant.as_deref(),
            "domain" => self.domain.as_deref(),
            _ => self.issuer.as_deref(),
        }
    }

    /// The name of the secret that proves who we are.
    pub fn secret_name(&self) -> Option<&str> {
        secret_named(self.client_secret.as_deref()?)
    }

    /// What the provider is asked for.
    pub(crate) fn provider_scopes(&self) -> String {
        match &self.scopes {
            Some(scopes) => scopes.join(" "),
            None => Preset::of(self.provider).scopes.join(" "),
        }
    }

    /// What else stands in the request that sends somebody to the provider.
    pub(crate) fn asks(&self) -> &'static [(&'static str, &'static str)] {
        Preset::of(self.provider).asks
    }

    pub(crate) fn token_seconds(&self) -> u64 {
        self.token_minutes.unwrap_or(60) * 60
    }

    pub(crate) fn session_seconds(&self) -> u64 {
        self.session_hours.unwrap_or(720) * 3_600
    }

    /// The broker as an issuer of tokens for a gateway that is reached under that address: its own, whose keys are at hand.
    pub fn as_issuer(&self, public_url: &str) -> IssuerSettings {
        let issuer = public_url.trim_end_matches('/').to_owned();
        IssuerSettings {
            jwks: Some(format!("{issuer}{}", crate::JWKS)),
            issuer,
            audiences: Vec::new(),
            algorithms: vec![toolrail_identity::Algorithm::EdDSA],
            clock_skew: None,
            claims: self.claims.clone(),
            grants: self.grants.clone(),
        }
    }

    /// What is wrong, each with the pointer of its field within this one.
    pub fn faults(&self, public_url: Option<&str>) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        let mut fault = |pointer: &str, told: &str| faults.push((pointer.to_owned(), told.to_owned()));
        match public_url {
            None => fault(
                "",
                "clients must be told where to sign in; set publicUrl to the address under which they reach this gateway",
            ),
            Some(url) if !is_safe_url(url) => fault(
                "",
                "publicUrl is not an https:// address, so that anybody on the way could read what people sign in with; http:// is taken for loopback addresses only",
            ),
            Some(_) => {}
        }
        match self.provider_issuer() {
            Err(missing) => {
                for part in missing {
                    fault(&format!("/{part}"), &format!("is missing: {}", about(part)));
                }
            }
            Ok(issuer) if !is_safe_url(&issuer) || issuer.contains(['?', '#']) => fault(
                if self.issuer.is_some() { "/issuer" } else { "/provider" },
                &format!(
                    "{issuer:?} is not an https:// address; http:// is taken for loopback addresses only"
                ),
            ),
            Ok(_) => {}
        }
        let is_entra = self.provider == ProviderKind::Entra;
        if is_entra && self.tenant.as_deref().is_some_and(|tenant| !is_guid(tenant)) {
            fault(
                "/tenant",
                "is not a directory (tenant) id such as 72f988bf-86f1-41af-91ab-2d7cd011db47; neither a domain nor \"common\" will do, since tokens are checked against it",
            );
        }
        if self.client_id.is_empty() {
            fault("/clientId", "is empty; write the client id that the provider gave");
        }
        if self.client_secret.as_deref().is_some_and(|text| secret_named(text).is_none()) {
            fault(
                "/clientSecret",
                "must name a secret, such as \"{{secrets.SIGN_IN}}\", whose value is in the environment variable TOOLRAIL_SECRET_SIGN_IN",
            );
        }
        if self.scopes.as_ref().is_some_and(|scopes| !scopes.iter().any(|scope| scope == "openid")) {
            fault(
                "/scopes",
                "lack \"openid\", without which the provider does not say who signed in; add it",
            );
        }
        if !(1..=MOST_TOKEN_MINUTES).contains(&self.token_minutes.unwrap_or(1)) {
            fault("/tokenMinutes", "must be 1 to 1440");
        }
        if !(1..=MOST_SESSION_HOURS).contains(&self.session_hours.unwrap_or(1)) {
            fault("/sessionHours", "must be 1 to 8760");
        }
        // What is wrong with the rules is wrong with those of any issuer.
        let rules = self.as_issuer(public_url.unwrap_or("https://localhost")).faults(true);
        faults.extend(rules.into_iter().filter(|(pointer, _)| pointer.starts_with("/grants")));
        faults
    }
}

/// What a part of the issuer is, for whoever left it out.
fn about(part: &str) -> &'static str {
    match part {
        "url" => "the address of the Keycloak, such as https://sso.example.com",
        "realm" => "the realm of the Keycloak",
        "tenant" => "the directory (tenant) id of the Entra",
        "domain" => "the domain at the provider, such as acme.okta.com or acme.eu.auth0.com",
        _ => "the issuer, exactly as its tokens say it in iss",
    }
}

fn secret_named(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim().strip_prefix("secrets.")?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_word)).then_some(name)
}

fn is_guid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(more: &Value) -> BrokerSettings {
        let mut all = json!({"clientId": "c", "clientSecret": "{{secrets.S}}", "grants": [{"role": "call"}]});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn each_provider_is_found_by_its_own_words() {
        let guid = "72f988bf-86f1-41af-91ab-2d7cd011db47";
        for (more, issuer) in [
            (
                json!({"provider": "keycloak", "url": "https://sso.example.com/", "realm": "acme"}),
                "https://sso.example.com/realms/acme",
            ),
            (
                json!({"provider": "entra", "tenant": guid}),
                "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
            ),
            (json!({"provider": "okta", "domain": "acme.okta.com"}), "https://acme.okta.com"),
            (json!({"provider": "google"}), "https://accounts.google.com"),
            (json!({"provider": "auth0", "domain": "acme.eu.auth0.com"}), "https://acme.eu.auth0.com/"),
            (json!({"provider": "oidc", "issuer": "https://id.example.com/x"}), "https://id.example.com/x"),
            (
                json!({"provider": "okta", "issuer": "https://acme.okta.com/oauth2/default"}),
                "https://acme.okta.com/oauth2/default",
            ),
        ] {
            let settings = settings(&more);
            assert_eq!(settings.provider_issuer().as_deref(), Ok(issuer));
            assert_eq!(settings.faults(Some("https://tools.example.com")), [], "{more}");
        }
    }

    #[test]
    fn every_fault_has_its_place() {
        for (more, public_url, place) in [
            (json!({"provider": "google"}), None, ""),
            (json!({"provider": "google"}), Some("http://tools.example.com"), ""),
            (json!({"provider": "oidc"}), Some("https://t"), "/issuer"),
            (json!({"provider": "oidc", "issuer": "http://id.example.com"}), Some("https://t"), "/issuer"),
            (json!({"provider": "keycloak", "realm": "x"}), Some("https://t"), "/url"),
            (json!({"provider": "entra", "tenant": "common"}), Some("https://t"), "/tenant"),
            (json!({"provider": "google", "clientSecret": "hunter2"}), Some("https://t"), "/clientSecret"),
            (json!({"provider": "google", "scopes": ["email"]}), Some("https://t"), "/scopes"),
            (json!({"provider": "google", "tokenMinutes": 0}), Some("https://t"), "/tokenMinutes"),
            (json!({"provider": "google", "sessionHours": 9000}), Some("https://t"), "/sessionHours"),
            (json!({"provider": "google", "grants": []}), Some("https://t"), "/grants"),
            (
                json!({"provider": "google", "grants": [{"role": "call", "value": "x"}]}),
                Some("https://t"),
                "/grants/0",
            ),
        ] {
            let faults = settings(&more).faults(public_url);
            assert_eq!(faults.len(), 1, "{more} {faults:?}");
            assert_eq!(faults[0].0, place, "{more}");
            assert!(!faults[0].1.contains("hunter2"), "{faults:?}");
        }
    }
}
