//! The identity provider that people sign in with, of which this gateway is one client: where it is, how somebody is sent there, and
//! what it says of whoever comes back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use toolrail_core::async_trait;
use toolrail_identity::{FetchDocument, IdTokens, is_safe_url};

use crate::answer::Failure;
use crate::parameters::written;
use crate::settings::BrokerSettings;

/// How long a description is taken without looking again.
const FRESH: Duration = Duration::from_mins(15);
/// How long it is left alone after a look that failed.
const REST: Duration = Duration::from_secs(2);
/// The most characters of what a provider says that are repeated.
const LONGEST_TOLD: usize = 300;
/// The longest refresh token that is kept.
const LONGEST_REFRESH: usize = 16 << 10;

/// The most questions to the provider at once about people who sign in, which anybody can have us ask, and about those who have.
const ARRIVALS_AT_ONCE: usize = 64;
const RENEWALS_AT_ONCE: usize = 256;

/// How the broker reaches others.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// Posts a form to the provider with the proof of who we are; gives the status and the answer.
    async fn post_form(
        &self,
        url: &str,
        form: &[(&str, &str)],
        proof: Proof,
    ) -> Result<(u16, Vec<u8>), String>;

    /// What a client says of itself, at an address that anybody may have named.
    async fn fetch_client(&self, url: &str) -> Result<Vec<u8>, String>;
}

/// Where the provider wants to see who we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// In the form.
    Form,
    /// In the header `Authorization`.
    Header,
}

/// The provider.
pub(crate) struct IdentityProvider {
    pub(crate) issuer: String,
    client: String,
    scopes: String,
    asks: &'static [(&'static str, &'static str)],
    described: Mutex<Known>,
    id_tokens: IdTokens,
    arrivals: Semaphore,
    renewals: Semaphore,
    /// Whoever has this looks for all who want to know.
    looking: tokio::sync::Mutex<()>,
    documents: Arc<dyn FetchDocument>,
    outbound: Arc<dyn Outbound>,
}

/// What is known of what the provider says of itself, and how the last look failed.
#[derive(Clone, Default)]
struct Known {
    said: Option<(Instant, Arc<Description>)>,
    failed: Option<(Instant, Failure)>,
}

/// What the provider says of itself.
struct Description {
    authorization: String,
    token: String,
    /// Whether it says who it is when it sends somebody back (RFC 9207).
    says_issuer: bool,
    proof: Proof,
}

/// What sends somebody to the provider, and what must come back.
pub(crate) struct Departure<'d> {
    pub(crate) callback: &'d str,
    pub(crate) state: &'d str,
    pub(crate) nonce: &'d str,
    pub(crate) challenge: &'d str,
}

/// What the provider says of somebody.
pub(crate) struct SignedIn {
    pub(crate) claims: Map<String, Value>,
    pub(crate) refresh: Option<String>,
}

/// Why the provider does not say it.
pub(crate) enum NotSignedIn {
    /// It does not want to: who was signed in is not any more.
    Refused(String),
    /// It cannot, or not in words that can be understood.
    Failed(String),
}

impl IdentityProvider {
    pub(crate) fn new(
        settings: &BrokerSettings,
        documents: Arc<dyn FetchDocument>,
        outbound: Arc<dyn Outbound>,
    ) -> Self {
        // Settings without an issuer were refused before.
        let issuer = settings.provider_issuer().unwrap_or_default();
        let id_tokens = IdTokens::new(&issuer, &settings.client_id, Arc::clone(&documents));
        Self {
            issuer,
            client: settings.client_id.clone(),
            scopes: settings.provider_scopes(),
            asks: settings.asks(),
            described: Mutex::default(),
            id_tokens,
            arrivals: Semaphore::new(ARRIVALS_AT_ONCE),
            renewals: Semaphore::new(RENEWALS_AT_ONCE),
            looking: tokio::sync::Mutex::default(),
            documents,
            outbound,
        }
    }

    /// Where to send somebody.
    pub(crate) async fn departure(&self, departure: &Departure<'_>) -> Result<String, Failure> {
        let description = self.description().await?;
        let pairs = [
            ("response_type", "code"),
            ("client_id", self.client.as_str()),
            ("redirect_uri", departure.callback),
            ("scope", &self.scopes),
            ("state", departure.state),
            ("nonce", departure.nonce),
            ("code_challenge", departure.challenge),
            ("code_challenge_method", "S256"),
        ];
        let query = written(pairs.into_iter().chain(self.asks.iter().copied()));
        let joint = if description.authorization.contains('?') { '&' } else { '?' };
        Ok(format!("{}{joint}{query}", description.authorization))
    }

    /// Refuses an answer that does not come from this provider (RFC 9207, 2.4).
    pub(crate) async fn check_issuer(&self, said: Option<&str>) -> Result<(), Failure> {
        let is_ours = match said {
            Some(said) => said == self.issuer,
            None => !self.description().await?.says_issuer,
        };
        let told = "the answer does not come from the identity provider of this gateway (iss)";
        if is_ours { Ok(()) } else { Err(Failure::invalid(told)) }
    }

    /// Who came back with that code.
    pub(crate) async fn arrival(
        &self,
        (code, callback): (&str, &str),
        verifier: &str,
        nonce: &str,
    ) -> Result<SignedIn, NotSignedIn> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
            ("code_verifier", verifier),
        ];
        let answer = self.ask_for_tokens(&self.arrivals, &form).await?;
        let signed_in = self.read(&answer).await?;
        let signed_in = signed_in.ok_or_else(|| NotSignedIn::failed("it gave no id token"))?;
        if signed_in.claims.get("nonce").and_then(Value::as_str) != Some(nonce) {
            return Err(NotSignedIn::failed("its id token was made for another sign-in (nonce)"));
        }
        Ok(signed_in)
    }

    /// What is true now of somebody who signed in before: the claims where the provider says them again, and the next refresh
    /// token where there is another.
    pub(crate) async fn again(
        &self,
        refresh: &str,
    ) -> Result<(Option<SignedIn>, Option<String>), NotSignedIn> {
        let answer = self
            .ask_for_tokens(&self.renewals, &[("grant_type", "refresh_token"), ("refresh_token", refresh)])
            .await?;
        let next = refresh_token(&answer);
        Ok((self.read(&answer).await?, next))
    }

    async fn read(&self, answer: &Value) -> Result<Option<SignedIn>, NotSignedIn> {
        let Some(text) = answer["id_token"].as_str() else { return Ok(None) };
        let claims = self.id_tokens.claims(text).await;
        let claims =
            claims.map_err(|why| NotSignedIn::Failed(format!("its id token cannot be used: {why}")))?;
        Ok(Some(SignedIn { claims, refresh: refresh_token(answer) }))
    }

    async fn ask_for_tokens(&self, slots: &Semaphore, form: &[(&str, &str)]) -> Result<Value, NotSignedIn> {
        let busy = |_| NotSignedIn::failed("too many people sign in at this moment; try again");
        let _slot = slots.try_acquire().map_err(busy)?;
        let description = self.description().await.map_err(|failure| NotSignedIn::Failed(failure.about))?;
        let form: Vec<(&str, &str)> =
            [("client_id", self.client.as_str())].into_iter().chain(form.iter().copied()).collect();
        let posted = self.outbound.post_form(&description.token, &form, description.proof).await;
        let (status, body) = posted.map_err(NotSignedIn::Failed)?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status == 200 && answer.is_object() {
            return Ok(answer);
        }
        let Some(error) = answer["error"].as_str() else {
            return Err(NotSignedIn::Failed(format!("it answered {status} without saying why")));
        };
        let about = answer["error_description"].as_str().unwrap_or_default();
        let told: String = format!("{error}: {about}").chars().take(LONGEST_TOLD).collect();
        match error {
            "invalid_grant" | "interaction_required" | "login_required" | "consent_required" => {
                Err(NotSignedIn::Refused(told))
            }
            _ => Err(NotSignedIn::Failed(told)),
        }
    }

    /// What the provider says of itself, looked up when it is first needed: a gateway starts without it.
    async fn description(&self) -> Result<Arc<Description>, Failure> {
        if let Some(answer) = self.known().answer() {
            return answer;
        }
        let _turn = self.looking.lock().await;
        // Whoever was first may have found it.
        let known = self.known();
        if let Some(answer) = known.answer() {
            return answer;
        }
        let now = Instant::now();
        let known = match self.look().await {
            Ok(description) => Known { said: Some((now, Arc::new(description))), failed: None },
            Err(why) => {
                tracing::warn!(issuer = %self.issuer, %why, "the identity provider cannot be asked");
                let told =
                    format!("the identity provider {} cannot be used at the moment: {why}", self.issuer);
                Known { failed: Some((now, Failure::unavailable(told))), ..known }
            }
        };
        *self.described.lock().unwrap_or_else(PoisonError::into_inner) = known.clone();
        known.answer().unwrap_or_else(|| Err(Failure::internal("the identity provider says nothing")))
    }

    fn known(&self) -> Known {
        self.described.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn look(&self) -> Result<Description, String> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let document = self.documents.fetch(&url).await?;
        let document: Value =
            serde_json::from_slice(&document).map_err(|_| format!("what {url} answers is no JSON"))?;
        if document["issuer"].as_str() != Some(&self.issuer) {
            return Err(format!("{url} describes another issuer; write issuer exactly as it says it"));
        }
        let endpoint = |name: &str| match document[name].as_str() {
            Some(url) if is_safe_url(url) => Ok(url.to_owned()),
            _ => Err(format!("its description has no {name} with an https:// address")),
        };
        let methods = document["token_endpoint_auth_methods_supported"].as_array();
        let takes_form = methods.is_some_and(|list| list.iter().any(|one| one == "client_secret_post"));
        Ok(Description {
            authorization: endpoint("authorization_endpoint")?,
            token: endpoint("token_endpoint")?,
            says_issuer: document["authorization_response_iss_parameter_supported"] == true,
            proof: if takes_form { Proof::Form } else { Proof::Header },
        })
    }
}

impl Known {
    /// What can be said without a look. Where one has just failed, what was said before is most likely still true.
    fn answer(&self) -> Option<Result<Arc<Description>, Failure>> {
        let said = self.said.as_ref();
        if let Some((_, failure)) = self.failed.as_ref().filter(|(at, _)| at.elapsed() < REST) {
            return Some(said.map(|(_, said)| Arc::clone(said)).ok_or_else(|| failure.clone()));
        }
        said.filter(|(at, _)| at.elapsed() < FRESH).map(|(_, said)| Ok(Arc::clone(said)))
    }
}

impl NotSignedIn {
    fn failed(about: &str) -> Self {
        Self::Failed(about.to_owned())
    }
}

fn refresh_token(answer: &Value) -> Option<String> {
    let token = answer["refresh_token"].as_str()?;
    (!token.is_empty() && token.len() <= LONGEST_REFRESH).then(|| token.to_owned())
}
