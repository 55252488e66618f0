//! Tokens of an issuer, as a client of OAuth meets them: it is told where to get one, and comes in with it.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Upstream};

use super::{ask, first_key};
use crate::support::{echo_tool, gateway};

/// An issuer that listens on this machine.
pub(crate) struct Issuer {
    pub(crate) url: String,
    key: Arc<EcdsaKeyPair>,
}

impl Issuer {
    pub(crate) async fn start() -> Result<Self> {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/realms/x", listener.local_addr()?);
        let description = json!({"issuer": url, "jwks_uri": format!("{url}/certs")}).to_string();
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "x": text(x), "y": text(y)}]});
        let keys = keys.to_string();
        let routes = Router::new()
            .route("/realms/x/.well-known/openid-configuration", get(async move || description))
            .route("/realms/x/certs", get(async move || keys));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { url, key: Arc::new(key) })
    }

    pub(crate) fn token(&self, claims: Value) -> String {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut all =
            json!({"iss": self.url, "sub": "ann", "aud": "https://tools.example.com/mcp", "exp": now + 600});
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "ES256", "kid": "k"})), part(&all));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

async fn stage() -> Result<(Gateway, Issuer, Upstream, tempfile::TempDir)> {
    let (issuer, upstream, folder) = (Issuer::start().await?, Upstream::start().await?, tempfile::tempdir()?);
    let config = folder.path().join("toolrail.yaml");
    let written = json!({
        "publicUrl": "https://tools.example.com",
        "issuers": [{"issuer": issuer.url, "claims": {"tenant": "org"}, "grants": [
            {"claim": "roles", "value": "ops", "role": "write"},
            {"scopes": ["tools.write"], "role": "write"},
            {"scopes": ["tools.call"], "role": "call", "tools": ["weather.*"]},
        ]}],
    });
    std::fs::write(&config, written.to_string())?;
    let gateway = gateway().arg("--config").arg(&config).start().await?;
    let admin = first_key(&gateway).await?;
    for name in ["weather.now", "hr.fire"] {
        let body = echo_tool(name, &upstream);
        let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&body)).await?;
        anyhow::ensure!(made.status < 300, "{}", made.text());
    }
    Ok((gateway, issuer, upstream, folder))
}

#[tokio::test]
async fn a_client_is_told_where_to_get_a_token_and_comes_in_with_it() -> Result<()> {
    let (gateway, issuer, _upstream, _folder) = stage().await?;
    let refused = ask(&gateway, None, (Method::POST, "/mcp"), None).await?;
    let challenge = refused.header("www-authenticate").unwrap_or_default().to_owned();
    assert_eq!(refused.status, 401);
    assert!(
        challenge.contains(
            "resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp\""
        ) && challenge.contains("scope=\"tools.call tools.write\""),
        "{challenge}"
    );
    // People are told of both ways in.
    let (told, banner) = (refused.text(), gateway.banner().await?);
    assert!(told.contains("OAuth") && told.contains("toolrail keys create"), "{told}");
    let tokens = format!("tokens of {} are asked for, and keys are taken too", issuer.url);
    assert!(banner.contains(&tokens), "{banner}");
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource/mcp", "https://tools.example.com/mcp"),
        ("/.well-known/oauth-protected-resource", "https://tools.example.com"),
    ] {
        let described = ask(&gateway, None, (Method::GET, path), None).await?.json()?;
        assert_eq!(described["resource"], resource);
        assert_eq!(described["authorization_servers"], json!([issuer.url]));
    }
    let token = issuer.token(json!({"scope": "tools.call", "org": "acme"}));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let listed = ask(&gateway, Some(&token), (Method::POST, "/mcp"), Some(&list)).await?;
    let text = listed.text();
    assert_eq!(listed.status, 200, "{text}");
    assert!(text.contains("weather.now") && !text.contains("hr.fire"), "{text}");
    let call = |tool: &str| json!({"tool": tool, "arguments": {"q": "hello"}});
    let called =
        ask(&gateway, Some(&token), (Method::POST, "/mcp/tools/call"), Some(&call("weather.now"))).await?;
    assert_eq!(called.status, 200, "{}", called.text());
    let hidden =
        ask(&gateway, Some(&token), (Method::POST, "/mcp/tools/call"), Some(&call("hr.fire"))).await?;
    assert_eq!(hidden.status, 404, "{}", hidden.text());
    Ok(())
}

#[tokio::test]
async fn a_token_that_is_not_good_says_why_and_one_that_gives_nothing_asks_for_more() -> Result<()> {
    let (gateway, issuer, _upstream, _folder) = stage().await?;
    for (claims, status, error) in [
        (
            json!({"scope": "tools.call", "org": "acme", "aud": "https://other.example.com"}),
            401,
            "invalid_token",
        ),
        (json!({"scope": "tools.call", "org": "acme", "exp": 5}), 401, "invalid_token"),
        (json!({"org": "acme"}), 403, "insufficient_scope"),
        (json!({"scope": "tools.call"}), 403, "insufficient_scope"),
        (json!({"scope": "tools.call", "org": "a/b"}), 403, "insufficient_scope"),
    ] {
        let refused =
            ask(&gateway, Some(&issuer.token(claims.clone())), (Method::GET, "/mcp/tools"), None).await?;
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert_eq!(refused.status, status, "{claims} {}", refused.text());
        assert!(challenge.contains(&format!("error=\"{error}\"")), "{challenge}");
    }
    // Whoever has too small a role hears which scope would do.
    let caller = issuer.token(json!({"scope": "tools.call", "org": "acme"}));
    let refused = ask(&gateway, Some(&caller), (Method::GET, "/admin/keys"), None).await?;
    assert_eq!((refused.status, refused.header("www-authenticate")), (403, None), "no scope gives that role");
    let refused = ask(&gateway, Some(&caller), (Method::GET, "/admin/tools"), None).await?;
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    let is_told =
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"tools.write\"");
    assert!(refused.status == 403 && is_told, "{} {challenge}", refused.status);
    // Who may write is of his own tenant alone.
    let ops = issuer.token(json!({"roles": ["ops"], "org": "acme"}));
    let upstream = Upstream::start().await?;
    let mine = echo_tool("acme.mine", &upstream);
    let made = ask(&gateway, Some(&ops), (Method::POST, "/admin/tools"), Some(&mine)).await?;
    assert!(made.status < 300, "{}", made.text());
    let other = issuer.token(json!({"roles": ["ops"], "org": "globex", "sub": "bob"}));
    let listed = ask(&gateway, Some(&other), (Method::GET, "/mcp/tools"), None).await?.text();
    assert!(listed.contains("hr.fire") && !listed.contains("acme.mine"), "{listed}");
    assert_eq!(ask(&gateway, Some(&ops), (Method::GET, "/admin/keys"), None).await?.status, 403);
    Ok(())
}
