//! An issuer of tokens on this machine, for the benchmark: one key, and a token that is good for an hour.

use std::convert::Infallible;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// For whom its token is.
pub(super) const AUDIENCE: &str = "toolrail-bench";

pub(super) struct Issuer {
    pub(super) url: String,
    pub(super) token: String,
}

impl Issuer {
    /// Serves its keys as long as the runtime runs.
    pub(super) async fn start() -> Result<Self> {
        let random = SystemRandom::new();
        let wrong = |_| anyhow!("no key can be made");
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(wrong)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random)
            .map_err(|rejected| anyhow!("the key is no good: {rejected}"))?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
        let (x, y) = point.split_at_checked(32).context("a point has 64 bytes")?;
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "x": text(x), "y": text(y)}]});
        tokio::spawn(serve(listener, Bytes::from(keys.to_string())));
        let now = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
        let claims = json!({"iss": url, "sub": "bench", "aud": AUDIENCE, "exp": now + 3_600});
        let part = |value: &Value| text(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&json!({"alg": "ES256", "kid": "k"})), part(&claims));
        let signature = pair.sign(&random, signed.as_bytes()).map_err(wrong)?;
        Ok(Self { url, token: format!("{signed}.{}", text(signature.as_ref())) })
    }
}

async fn serve(listener: TcpListener, keys: Bytes) {
    while let Ok((stream, _)) = listener.accept().await {
        let keys = keys.clone();
        let service = service_fn(move |_: hyper::Request<Incoming>| {
            let keys = keys.clone();
            async move { Ok::<_, Infallible>(Response::new(Full::new(keys))) }
        });
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
