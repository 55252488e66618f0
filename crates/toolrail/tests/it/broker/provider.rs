//! A small identity provider on this machine, at which everybody is signed in already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::Router;
use axum::extract::{Query, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, StatusCode};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// A running provider.
pub(super) struct Provider {
    pub(super) url: String,
    inner: Arc<Inner>,
}

struct Inner {
    url: String,
    key: EcdsaKeyPair,
    script: Mutex<Script>,
    /// What was asked for, by the code that was given for it.
    asked: Mutex<HashMap<String, HashMap<String, String>>>,
}

/// What it does beside what it should.
#[derive(Clone)]
pub(super) struct Script {
    /// What it says of whoever signs in, over everything else.
    pub(super) claims: Value,
    /// What it adds when it sends somebody back.
    pub(super) back: Vec<(&'static str, String)>,
    /// Whether it gives refresh tokens.
    pub(super) refreshes: bool,
    /// Whether it still knows whoever has one.
    pub(super) forgets: bool,
}

type Form = HashMap<String, String>;

impl Provider {
    pub(super) async fn start() -> Result<Self> {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let script = Script { claims: json!({}), back: Vec::new(), refreshes: true, forgets: false };
        let inner = Arc::new(Inner { url: url.clone(), key, script: script.into(), asked: Mutex::default() });
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/certs", get(certs))
            .with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { url, inner })
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.inner.script.lock().unwrap());
    }
}

impl Inner {
    fn script(&self) -> Script {
        self.script.lock().unwrap().clone()
    }

    fn id_token(&self, nonce: Option<&String>) -> String {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut claims = json!({
            "iss": self.url, "sub": "ann", "aud": "gateway", "exp": now + 600, "iat": now, "nonce": nonce,
            "email": "ann@example.com", "groups": ["staff"], "phone": "0123-not-for-others",
        });
        claims.as_object_mut().unwrap().extend(self.script().claims.as_object().unwrap().clone());
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "ES256", "kid": "k"})), part(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

async fn describe(State(inner): State<Arc<Inner>>) -> String {
    let url = &inner.url;
    json!({
        "issuer": url, "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/certs"), "authorization_response_iss_parameter_supported": true,
    })
    .to_string()
}

async fn certs(State(inner): State<Arc<Inner>>) -> String {
    let (x, y) = inner.key.public_key().as_ref()[1..].split_at(32);
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "x": text(x), "y": text(y)}]}).to_string()
}

async fn authorize(State(inner): State<Arc<Inner>>, Query(asked): Query<Form>) -> Redirect {
    let code = format!("code-{}", inner.asked.lock().unwrap().len());
    let mut pairs: Vec<(&str, String)> =
        vec![("code", code.clone()), ("state", asked["state"].clone()), ("iss", inner.url.clone())];
    for (name, value) in inner.script().back {
        pairs.retain(|(known, _)| *known != name);
        pairs.push((name, value));
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let to = format!("{}?{query}", asked["redirect_uri"]);
    inner.asked.lock().unwrap().insert(code, asked);
    Redirect::to(&to)
}

async fn token(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: String) -> (StatusCode, String) {
    let form: Form = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let refused = |error: &str| (StatusCode::BAD_REQUEST, json!({"error": error}).to_string());
    let shown = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let proof = base64::engine::general_purpose::STANDARD.encode("gateway:s3cret-of-the-gateway");
    if shown != Some(format!("Basic {proof}")) {
        return refused("invalid_client");
    }
    let script = inner.script();
    let next = script.refreshes.then_some("refresh-token-of-the-provider");
    if form["grant_type"] == "refresh_token" {
        if script.forgets {
            return refused("invalid_grant");
        }
        return (
            StatusCode::OK,
            json!({"id_token": inner.id_token(None), "refresh_token": next}).to_string(),
        );
    }
    let Some(asked) = inner.asked.lock().unwrap().remove(&form["code"]) else {
        return refused("invalid_grant");
    };
    let hash = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
    if asked["code_challenge"] != URL_SAFE_NO_PAD.encode(hash)
        || asked["redirect_uri"] != form["redirect_uri"]
    {
        return refused("invalid_grant");
    }
    (
        StatusCode::OK,
        json!({"id_token": inner.id_token(asked.get("nonce")), "refresh_token": next}).to_string(),
    )
}
