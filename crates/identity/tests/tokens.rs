//! Tokens of other issuers: which are taken, and when their holders have to go.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use toolrail_core::{Principal, Role, async_trait};
use toolrail_identity::{FetchDocument, IssuerSettings, TokenRejection, Tokens};

const ISSUER: &str = "https://login.example.com/realms/x";
const OURS: &str = "https://tools.example.com/mcp";

/// An issuer that signs, and says which keys it has.
struct Provider {
    keys: Mutex<Vec<(String, EcdsaKeyPair)>>,
    fetched: AtomicUsize,
    is_away: Mutex<bool>,
    /// How long it takes to answer.
    delay: Mutex<Duration>,
}

impl Provider {
    fn new() -> Arc<Self> {
        let provider = Self {
            keys: Mutex::default(),
            fetched: AtomicUsize::new(0),
            is_away: Mutex::new(false),
            delay: Mutex::default(),
        };
        provider.rotate("one");
        Arc::new(provider)
    }

    /// From now on it has no other key than this.
    fn rotate(&self, id: &str) {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        *self.keys.lock().unwrap() = vec![(id.to_owned(), key)];
    }

    fn sign(&self, header: Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let keys = self.keys.lock().unwrap();
        let (id, key) = &keys[0];
        let mut header = header;
        if header.get("kid").is_none() {
            header["kid"] = id.as_str().into();
        }
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    fn token(&self, more: Value) -> String {
        self.sign(json!({"alg": "ES256", "typ": "at+jwt"}), &claims(more))
    }
}

#[async_trait]
impl FetchDocument for Provider {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        self.fetched.fetch_add(1, Ordering::SeqCst);
        let delay = *self.delay.lock().unwrap();
        tokio::time::sleep(delay).await;
        if *self.is_away.lock().unwrap() {
            return Err("no connection".to_owned());
        }
        if url.ends_with("/.well-known/openid-configuration") {
            return Ok(json!({"issuer": ISSUER, "jwks_uri": format!("{ISSUER}/certs")})
                .to_string()
                .into_bytes());
        }
        let one = |(id, key): &(String, EcdsaKeyPair)| {
            let point = key.public_key().as_ref();
            let (x, y) = point[1..].split_at(32);
            let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": text(x), "y": text(y)})
        };
        let keys: Vec<Value> = self.keys.lock().unwrap().iter().map(one).collect();
        Ok(json!({"keys": keys}).to_string().into_bytes())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn claims(more: Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "sub": "u1", "aud": OURS, "exp": now() + 600, "iat": now()});
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

fn tokens(provider: &Arc<Provider>, more: Value) -> Tokens {
    let mut settings = json!({"issuer": ISSUER, "claims": {"name": "preferred_username"}, "grants": [
        {"claim": "roles", "value": "boss", "role": "admin"}, {"scopes": ["call"], "role": "call", "tools": ["a.*"]},
    ]});
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    let settings: IssuerSettings = serde_json::from_value(settings).unwrap();
    assert_eq!(settings.faults(true), []);
    Tokens::new(
        vec![settings],
        Some("https://tools.example.com"),
        Arc::clone(provider) as Arc<dyn FetchDocument>,
    )
}

async fn recognise(tokens: &Tokens, text: &str) -> Result<Principal, TokenRejection> {
    match tokens.recognise(text) {
        Err(TokenRejection::KeysNeeded(issuer)) => tokens.recognise_with(issuer, text).await,
        known => known,
    }
}

fn why(rejection: TokenRejection) -> String {
    match rejection {
        TokenRejection::Bad(why) => why,
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_good_token_says_who_its_holder_is() {
    let provider = Provider::new();
    let tokens = tokens(&provider, json!({}));
    let token = provider.token(json!({"scope": "call other", "preferred_username": "ann"}));
    let Principal::Known(ann) = recognise(&tokens, &token).await.unwrap() else { panic!("known") };
    assert_eq!((ann.name.as_str(), ann.role), ("ann", Role::Call));
    assert!(ann.reach.as_ref().unwrap().has("a.x") && !ann.reach.as_ref().unwrap().has("b"));
    let fetched = provider.fetched.load(Ordering::SeqCst);
    assert!(recognise(&tokens, &token).await.is_ok());
    let boss = provider.token(json!({"roles": ["boss"], "aud": ["else", "https://tools.example.com"]}));
    assert!(recognise(&tokens, &boss).await.unwrap().may(Role::Admin));
    assert_eq!(
        provider.fetched.load(Ordering::SeqCst),
        fetched,
        "keys that are known are not asked for again"
    );
}

#[tokio::test]
async fn a_token_that_is_not_good_is_refused_with_the_reason() {
    let provider = Provider::new();
    let tokens = tokens(&provider, json!({"clockSkew": 5}));
    let es = || json!({"alg": "ES256"});
    let good = provider.token(json!({"scope": "call"}));
    let (head, signature) = good.rsplit_once('.').unwrap();
    let forged = format!(
        "{}.{}.{signature}",
        head.split_once('.').unwrap().0,
        URL_SAFE_NO_PAD.encode(claims(json!({"roles": ["boss"]})).to_string())
    );
    let mut no_expiry = claims(json!({}));
    no_expiry.as_object_mut().unwrap().remove("exp");
    let bare =
        format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), head.split_once('.').unwrap().1);
    for (token, expected) in [
        (forged, "signature"),
        (bare, "not taken here"),
        (format!("{head}."), "signature"),
        (provider.token(json!({"exp": now() - 6})), "expired"),
        (provider.token(json!({"nbf": now() + 60})), "not good yet (nbf)"),
        (provider.token(json!({"iat": now() + 60})), "not good yet (iat)"),
        (provider.token(json!({"exp": "soon"})), "exp is no time"),
        (provider.token(json!({"aud": "https://tools.example.com.evil.com"})), "another audience"),
        (provider.token(json!({"aud": []})), "another audience"),
        (provider.token(json!({"aud": null})), "another audience"),
        (provider.token(json!({"iss": "https://login.example.com/realms/y"})), "issuer (iss)"),
        (provider.sign(es(), &no_expiry), "no exp"),
        (provider.sign(json!({"alg": "HS256"}), &claims(json!({}))), "not taken here"),
        (provider.sign(json!({"alg": "RS256"}), &claims(json!({}))), "no key that may have signed"),
        (provider.sign(json!({"alg": "ES384"}), &claims(json!({}))), "ES384, which is not taken"),
        (
            provider.sign(json!({"alg": "ES256", "kid": "../../etc/passwd"}), &claims(json!({}))),
            "no key that may",
        ),
        (provider.token(json!({"sub": "", "scope": "call"})), "whose it is"),
    ] {
        let told = why(recognise(&tokens, &token).await.unwrap_err());
        assert!(told.contains(expected), "{told} instead of {expected}");
    }
    let nothing = recognise(&tokens, &provider.token(json!({}))).await.unwrap_err();
    assert!(matches!(nothing, TokenRejection::NothingGranted(_)), "{nothing:?}");
    assert!(recognise(&tokens, &good).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn keys_that_an_issuer_withdraws_are_good_no_more() {
    let provider = Provider::new();
    let tokens = tokens(&provider, json!({}));
    let old = provider.token(json!({"scope": "call"}));
    let holder = recognise(&tokens, &old).await.unwrap();
    provider.rotate("two");
    let new = provider.token(json!({"scope": "call", "sub": "u2"}));
    let told = recognise(&tokens, &new).await.unwrap_err();
    assert!(
        why(told).contains("no key that may have signed"),
        "whoever asks, the issuer is not asked at once again"
    );
    let asked = provider.fetched.load(Ordering::SeqCst);
    for _ in 0..50 {
        assert!(recognise(&tokens, &new).await.is_err());
    }
    assert_eq!(provider.fetched.load(Ordering::SeqCst), asked, "strangers make nobody ask");
    tokio::time::advance(Duration::from_secs(11)).await;
    assert!(recognise(&tokens, &new).await.is_ok());
    holder.ended().await;
    assert!(recognise(&tokens, &old).await.is_err(), "the key that signed it is gone");
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_away_takes_nothing_from_those_who_are_known() {
    let provider = Provider::new();
    let tokens = tokens(&provider, json!({}));
    *provider.is_away.lock().unwrap() = true;
    let token = provider.token(json!({"scope": "call"}));
    assert_eq!(recognise(&tokens, &token).await.unwrap_err(), TokenRejection::KeysMissing);
    *provider.is_away.lock().unwrap() = false;
    tokio::time::advance(Duration::from_secs(11)).await;
    assert!(recognise(&tokens, &token).await.is_ok());
    *provider.is_away.lock().unwrap() = true;
    tokio::time::advance(Duration::from_hours(1)).await;
    let another = provider.token(json!({"scope": "call", "sub": "u2"}));
    assert!(recognise(&tokens, &another).await.is_ok(), "its keys are known");
}

/// Whoever gives up waiting keeps nobody from hearing of new keys.
#[tokio::test(start_paused = true)]
async fn nobody_can_end_a_look_or_make_others_wait_in_a_row() {
    let provider = Provider::new();
    let tokens = Arc::new(tokens(&provider, json!({})));
    *provider.delay.lock().unwrap() = Duration::from_millis(400);
    let good = provider.token(json!({"scope": "call"}));
    for _ in 0..20 {
        let given_up = tokio::time::timeout(Duration::from_millis(5), recognise(&tokens, &good)).await;
        assert!(given_up.is_err());
    }
    assert!(recognise(&tokens, &good).await.is_ok(), "the look goes on without those who began it");
    assert_eq!(provider.fetched.load(Ordering::SeqCst), 2, "there was one: a description and the keys");

    *provider.delay.lock().unwrap() = Duration::from_mins(1);
    tokio::time::advance(Duration::from_secs(11)).await;
    provider.rotate("two");
    let start = tokio::time::Instant::now();
    let many = (0..4).map(|number| {
        let (tokens, token) = (Arc::clone(&tokens), provider.token(json!({"sub": format!("u{number}")})));
        tokio::spawn(async move { recognise(&tokens, &token).await.map(|_| ()) })
    });
    for one in many.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), Err(TokenRejection::KeysMissing));
    }
    assert!(
        start.elapsed() < Duration::from_secs(12),
        "all of them wait for one look: {:?}",
        start.elapsed()
    );
    let told = recognise(&tokens, &provider.token(json!({"sub": "u9"}))).await;
    assert_eq!(
        told.map(|_| ()),
        Err(TokenRejection::KeysMissing),
        "what could not be read is not called wrong"
    );
}

#[tokio::test(start_paused = true)]
async fn an_issuer_without_keys_has_withdrawn_them() {
    let provider = Provider::new();
    let tokens = tokens(&provider, json!({}));
    let token = provider.token(json!({"scope": "call"}));
    let holder = recognise(&tokens, &token).await.unwrap();
    let unknown = provider.sign(json!({"alg": "ES256", "kid": "other"}), &claims(json!({})));
    provider.keys.lock().unwrap().clear();
    tokio::time::advance(Duration::from_secs(11)).await;
    assert!(recognise(&tokens, &unknown).await.is_err());
    holder.ended().await;
    assert!(recognise(&tokens, &token).await.is_err());
}

#[test]
fn settings_that_cannot_be_meant_are_told() {
    let faults = |settings: Value| {
        let settings: IssuerSettings = serde_json::from_value(settings).unwrap();
        settings.faults(false).into_iter().map(|(pointer, _)| pointer).collect::<Vec<_>>()
    };
    assert_eq!(
        faults(json!({"issuer": "http://x.example", "jwks": "x", "clockSkew": 601, "grants": []})),
        ["/issuer", "/jwks", "/audiences", "/clockSkew", "/grants"]
    );
    let grants = json!([{"value": "x", "role": "call"}, {"role": "admin", "tools": ["a"]}, {"role": "read", "tenant": "a/b"}]);
    assert_eq!(
        faults(json!({"issuer": "https://x.example", "audiences": ["a"], "grants": grants})),
        ["/grants/0", "/grants/1", "/grants/2"]
    );
}
