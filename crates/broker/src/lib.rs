//! An authorisation server of our own (OAuth 2.1) in front of one client of an identity provider: for providers that neither register
//! MCP clients nor give tokens for this gateway. People sign in there as ever; applications deal with us.
//!
//! ```text
//! register ─▶ client id, sealed          nothing is kept            client, client_page, redirect
//! authorize ─▶ a page that asks          sealed in its form         authorize, page, words, browser
//! consent ──▶ to the provider            sealed in state            consent, provider
//! callback ─▶ a code                     one record in the store    callback, spent, session, sessions
//! token ────▶ access and refresh token   the same record            token, keys, signing
//! ```
//!
//! `connect` is the other way round: this gateway is a client of the authorisation servers of upstream servers. `who` finds out who
//! somebody is that connects an account there.
//!
//! Its access tokens are checked like those of any other issuer (`identity`), whose keys happen to be at hand.

mod answer;
mod authorize;
mod browser;
mod callback;
mod client;
mod client_page;
mod connect;
mod consent;
mod keys;
mod metadata;
mod page;
mod parameters;
mod presets;
mod provider;
mod redirect;
mod session;
mod sessions;
mod settings;
mod signing;
mod spent;
mod token;
mod who;
mod words;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{get, post};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;
use tokio::sync::OnceCell;
use toolrail_core::{Author, Store, async_trait};
use toolrail_identity::{
    ClaimNames, FetchDocument, Grant, SessionView, SignedIn, SigningRotation, Withdrawal,
};
use url::Url;

use answer::{Failure, private_json, public_json};
use client::Application;
use client_page::ClientPages;
pub use client_page::MOST_PAGE_BYTES;
pub use connect::{
    ClientSecret, Connections, MOST_ANSWER_BYTES, UpstreamAnswer, UpstreamBody, UpstreamOutbound,
    UpstreamRequest, connect_routes, is_connect,
};
use keys::Keys;
use page::{Page, Trouble};
use parameters::{MOST_BYTES, Parameters};
pub use presets::ProviderKind;
use provider::IdentityProvider;
pub use provider::{Outbound, Proof};
use sessions::{Sessions, now};
pub use settings::BrokerSettings;
use signing::SigningKeys;
use spent::SpentStates;

const AUTHORIZE: &str = "/oauth/authorize";
const CONSENT: &str = "/oauth/consent";
const CALLBACK: &str = "/oauth/callback";
const TOKEN: &str = "/oauth/token";
const REVOKE: &str = "/oauth/revoke";
const REGISTER: &str = "/oauth/register";
const JWKS: &str = "/oauth/jwks";

/// The name of the key of the store that everything follows from.
const SHARED_KEY: &str = "oauth broker";
/// How long the body of a request may take.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// How long the store is left alone when it has no key to give.
const KEY_REST: Duration = Duration::from_secs(1);

/// The broker.
pub struct Broker {
    /// Under which address clients reach us, without a slash at its end; also what our tokens say of us.
    url: String,
    /// The same without a path.
    origin: String,
    /// The path.
    prefix: String,
    /// For whom our keys are.
    whose: String,
    /// Whether TLS is spoken there.
    is_secure: bool,
    /// The scopes that any rule asks for.
    scopes: Vec<String>,
    rules: (ClaimNames, Vec<Grant>),
    redirects: Vec<String>,
    token_seconds: u64,
    session_seconds: u64,
    provider: IdentityProvider,
    pages: ClientPages,
    sessions: Arc<Sessions>,
    store: Arc<dyn Store>,
    keys: OnceCell<Keys>,
    signing: Arc<SigningKeys>,
    spent: SpentStates,
}

impl Broker {
    /// One for a gateway that is reached under that address.
    pub fn new(
        settings: &BrokerSettings,
        public_url: &str,
        store: Arc<dyn Store>,
        (documents, outbound): (Arc<dyn FetchDocument>, Arc<dyn Outbound>),
    ) -> Self {
        let url = public_url.trim_end_matches('/').to_owned();
        let path = url.find("://").and_then(|scheme| Some(scheme + 3 + url[scheme + 3..].find('/')?));
        let (origin, prefix) = url.split_at(path.unwrap_or(url.len()));
        let mut scopes: Vec<String> =
            settings.grants.iter().flat_map(|grant| grant.scopes.iter().cloned()).collect();
        scopes.sort_unstable();
        scopes.dedup();
        let provider = IdentityProvider::new(settings, documents, Arc::clone(&outbound));
        // Nothing that was made for another address, or by another provider, is ours.
        let whose = format!("{} {url}", provider.issuer);
        let signing = Arc::new(SigningKeys::new(Arc::clone(&store), whose.clone()));
        let sessions = Sessions::new(Arc::clone(&store), url.clone(), Arc::clone(&signing));
        Self {
            origin: Url::parse(&url)
                .map_or_else(|_| origin.to_owned(), |url| url.origin().ascii_serialization()),
            prefix: prefix.to_owned(),
            is_secure: url.starts_with("https://"),
            scopes,
            rules: (settings.claims.clone(), settings.grants.clone()),
            redirects: settings.redirects.clone(),
            token_seconds: settings.token_seconds(),
            session_seconds: settings.session_seconds(),
            provider,
            pages: ClientPages::new(outbound, settings.redirects.clone()),
            sessions: Arc::new(sessions),
            store,
            keys: OnceCell::new(),
            signing,
            whose,
            spent: SpentStates::default(),
            url,
        }
    }

    /// What checks the signatures of our tokens.
    pub async fn public_keys(&self) -> Result<Vec<u8>, String> {
        let ring = self.signing.ring().await.map_err(|failure| failure.about)?;
        Ok(ring.public().to_string().into_bytes())
    }

    /// What knows which of our tokens were taken back.
    pub fn withdrawal(&self) -> Arc<dyn Withdrawal> {
        Arc::clone(&self.sessions) as Arc<dyn Withdrawal>
    }

    /// Keeps up with the other replicas, and removes what is over, until the future is dropped.
    pub async fn follow(&self) {
        let keep_sessions = async {
            loop {
                match self.keys().await {
                    Ok(keys) => self.sessions.follow(keys).await,
                    Err(_) => tokio::time::sleep(KEY_REST).await,
                }
            }
        };
        tokio::join!(keep_sessions, self.signing.follow());
    }

    /// Had from the store when they are first needed: a gateway starts without it.
    async fn keys(&self) -> Result<&Keys, Failure> {
        let made = async { Keys::from_shared(&self.store.shared_key(SHARED_KEY).await?, &self.whose) };
        self.keys.get_or_try_init(|| made).await
    }
}

#[async_trait]
impl SignedIn for Broker {
    async fn sessions(&self, tenant: Option<&str>) -> Result<Vec<SessionView>, String> {
        let listed = async { self.sessions.list(self.keys().await?, tenant).await };
        listed.await.map_err(|failure: Failure| failure.about)
    }

    async fn end(&self, which: &str, tenant: Option<&str>, author: &Author) -> Result<usize, String> {
        let ended = async { self.sessions.end_for(self.keys().await?, (which, tenant), author).await };
        ended.await.map_err(|failure: Failure| failure.about)
    }

    async fn rotate(&self, overlap: Option<u64>, author: &Author) -> Result<SigningRotation, String> {
        self.signing.rotate(overlap, author).await.map_err(|failure| failure.about)
    }
}

/// Whether that is where people and applications sign in, which must be open to those who have no token yet.
pub fn is_open(path: &str) -> bool {
    path.starts_with("/oauth/") || metadata::is_here(path)
}

/// Everything that is there.
pub fn routes(broker: Arc<Broker>) -> Router {
    Router::new()
        .route(AUTHORIZE, get(authorize))
        .route(CONSENT, post(consent))
        .route(CALLBACK, get(callback))
        .route(TOKEN, post(token))
        .route(REVOKE, post(revoke))
        .route(REGISTER, post(register))
        .route(JWKS, get(jwks))
        .fallback(described)
        .with_state(broker)
}

type Shared = State<Arc<Broker>>;

async fn authorize(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let (head, _) = request.into_parts();
    let asked = authorize::ask(&broker, &head).await;
    page::answer(&broker, &head.headers, asked)
}

async fn consent(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let taken = async {
        let form = form(&head, body).await?;
        consent::take(&broker, &head.headers, &form).await
    };
    let taken: Result<Page, Trouble> = taken.await;
    page::answer(&broker, &head.headers, taken)
}

async fn callback(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let (head, _) = request.into_parts();
    let taken = callback::take(&broker, &head).await;
    page::answer(&broker, &head.headers, taken)
}

async fn token(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let issued = async { token::issue(&broker, &form(&head, body).await?).await };
    issued.await.unwrap_or_else(|failure: Failure| failure.told())
}

async fn revoke(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let revoked = async { token::revoke(&broker, &form(&head, body).await?).await };
    revoked.await.unwrap_or_else(|failure: Failure| failure.told())
}

async fn register(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let registered = async {
        let said = bytes(request.into_body()).await?;
        let wrong = |_| Failure::refused("invalid_client_metadata", "the body is no JSON");
        let said: Value = serde_json::from_slice(&said).map_err(wrong)?;
        let application = Application::read(&said, &broker.redirects)?;
        let id = application.seal(broker.keys().await?)?;
        Ok(private_json(StatusCode::CREATED, &application.registration(&id, now())))
    };
    registered.await.unwrap_or_else(|failure: Failure| failure.told())
}

async fn jwks(State(broker): Shared) -> Response<Body> {
    match broker.signing.ring().await {
        Ok(ring) => public_json(&ring.public()),
        Err(failure) => failure.told(),
    }
}

/// The description of all of this, under either of its names and with or without our own path behind it.
async fn described(State(broker): Shared, request: Request<Body>) -> Response<Body> {
    let found = metadata::describe(&broker, request.uri().path());
    found.as_ref().map_or_else(nothing_here, public_json)
}

fn nothing_here() -> Response<Body> {
    Failure { status: StatusCode::NOT_FOUND, ..Failure::invalid("there is nothing at this address") }.told()
}

/// The form that a request brings.
async fn form(head: &Parts, body: Body) -> Result<Parameters, Failure> {
    let kind = head.headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(Failure::invalid("the body must be application/x-www-form-urlencoded"));
    }
    Parameters::read(&bytes(body).await?).map_err(Failure::invalid)
}

async fn bytes(body: Body) -> Result<Vec<u8>, Failure> {
    let read = tokio::time::timeout(BODY_WITHIN, Limited::new(body, MOST_BYTES).collect()).await;
    let read = read.map_err(|_| Failure::invalid("the body took too long"))?;
    let read = read
        .map_err(|_| Failure::invalid(format!("the body broke off, or has more than {MOST_BYTES} bytes")))?;
    Ok(read.to_bytes().to_vec())
}
