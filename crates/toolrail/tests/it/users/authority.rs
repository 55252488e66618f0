//! A small authorisation server for an upstream server, at which everybody is signed in already, with the account that the test names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::HOST;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// The server.
#[derive(Clone, Default)]
pub(super) struct Authority(Arc<Mutex<Script>>);

/// What it does, and what it has done.
#[derive(Default)]
pub(super) struct Script {
    /// Whose account is signed in.
    pub(super) account: String,
    /// How long the tokens are good that are given for a code.
    pub(super) first_seconds: u64,
    /// How often a token was renewed.
    pub(super) renewed: usize,
    pub(super) registered: usize,
    /// Whether it still knows whoever has a refresh token.
    pub(super) forgets: bool,
    /// What stands in its description over everything else.
    pub(super) described: Value,
    /// What the last request for a code asked for.
    pub(super) asked: HashMap<String, String>,
    codes: HashMap<String, (String, HashMap<String, String>)>,
    /// Whose each refresh token is; each is good once.
    refresh: HashMap<String, String>,
    given: usize,
}

type Form = HashMap<String, String>;

impl Authority {
    pub(super) fn new(account: &str) -> Self {
        let this = Self::default();
        this.change(|script| {
            account.clone_into(&mut script.account);
            script.first_seconds = 3_600;
        });
        this
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub(super) fn routes(&self) -> Router {
        Router::new()
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(describe))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/register", post(register))
            .with_state(self.clone())
    }
}

fn url_in(headers: &HeaderMap) -> String {
    format!("http://{}", headers[HOST].to_str().unwrap())
}

async fn resource(headers: HeaderMap) -> String {
    let url = url_in(&headers);
    let said = json!({"resource": format!("{url}/mcp"), "authorization_servers": [url], "scopes_supported": ["use"]});
    said.to_string()
}

async fn describe(State(authority): State<Authority>, headers: HeaderMap) -> String {
    let url = url_in(&headers);
    let mut said = json!({
        "issuer": url, "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"), "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    });
    let more = authority.change(|script| script.described.clone());
    said.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    said.to_string()
}

async fn register(State(authority): State<Authority>) -> (StatusCode, String) {
    let number = authority.change(|script| {
        script.registered += 1;
        script.registered
    });
    (StatusCode::CREATED, json!({"client_id": format!("client-{number}")}).to_string())
}

async fn authorize(
    State(authority): State<Authority>,
    headers: HeaderMap,
    Query(asked): Query<Form>,
) -> Redirect {
    let (code, state) = authority.change(|script| {
        script.given += 1;
        let code = format!("code-{}", script.given);
        script.asked.clone_from(&asked);
        let account = script.account.clone();
        script.codes.insert(code.clone(), (account, asked.clone()));
        (code, asked["state"].clone())
    });
    let pairs = [("code", code), ("state", state), ("iss", url_in(&headers))];
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Redirect::to(&format!("{}?{query}", asked["redirect_uri"]))
}

async fn token(State(authority): State<Authority>, body: String) -> (StatusCode, String) {
    let form: Form = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let refused = || (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"}).to_string());
    authority.change(|script| {
        let (account, seconds) = if form["grant_type"] == "refresh_token" {
            let account = script.refresh.remove(&form["refresh_token"]);
            let Some(account) = account.filter(|_| !script.forgets) else { return refused() };
            script.renewed += 1;
            (account, 3_600)
        } else {
            let Some((account, asked)) = script.codes.remove(&form["code"]) else { return refused() };
            let hash = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
            let is_same = |name: &str| asked.get(name) == form.get(name);
            if asked["code_challenge"] != URL_SAFE_NO_PAD.encode(hash)
                || !["redirect_uri", "client_id", "resource"].into_iter().all(is_same)
            {
                return refused();
            }
            (account, script.first_seconds)
        };
        script.given += 1;
        let (access, refresh) =
            (format!("access-{account}-{}", script.given), format!("refresh-{}", script.given));
        script.refresh.insert(refresh.clone(), account);
        let given =
            json!({"access_token": access, "token_type": "Bearer", "expires_in": seconds, "refresh_token": refresh});
        (StatusCode::OK, given.to_string())
    })
}
