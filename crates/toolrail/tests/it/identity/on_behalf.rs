//! Upstreams that are asked in the name of whoever calls: with his token, or one that is given for it, and never with another's.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Canned, Gateway, Reply, Upstream};

use super::tokens::Issuer;
use super::{ask, first_key};
use crate::support::gateway;

/// A gateway that takes the tokens of an issuer, and a service.
struct Stage {
    gateway: Gateway,
    issuer: Issuer,
    upstream: Upstream,
    admin: String,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn open() -> Self {
        let (issuer, upstream) = (Issuer::start().await.unwrap(), Upstream::start().await.unwrap());
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("toolrail.yaml");
        let written = json!({
            "publicUrl": "https://tools.example.com",
            "issuers": [{"issuer": issuer.url, "grants": [{"scopes": ["tools.call"], "role": "call"}]}],
        });
        std::fs::write(&config, written.to_string()).unwrap();
        let gateway = gateway().arg("--config").arg(&config).env("TOOLRAIL_SECRET_CLIENT", "client-s3cr3t");
        let gateway = gateway.start().await.unwrap();
        let admin = first_key(&gateway).await.unwrap();
        Self { gateway, issuer, upstream, admin, _folder: folder }
    }

    fn token(&self, who: &str) -> String {
        self.issuer.token(json!({"sub": who, "scope": "tools.call"}))
    }

    fn definition(&self, path: &str, auth: Value) -> Value {
        json!({
            "name": "mine",
            "description": "What is mine",
            "inputSchema": {"type": "object", "properties": {}},
            "http": {"url": self.upstream.url(path)},
            "auth": auth
        })
    }

    async fn register(&self, definition: &Value) -> Reply {
        ask(&self.gateway, Some(&self.admin), (Method::POST, "/admin/tools"), Some(definition)).await.unwrap()
    }

    async fn define(&self, path: &str, auth: Value) {
        let made = self.register(&self.definition(path, auth)).await;
        assert_eq!(made.status, 200, "{}", made.text());
    }

    async fn call(&self, credential: &str) -> Reply {
        let body = json!({"tool": "mine", "arguments": {}});
        ask(&self.gateway, Some(credential), (Method::POST, "/mcp/tools/call"), Some(&body)).await.unwrap()
    }

    /// What the service was shown, request by request.
    fn shown(&self, path: &str) -> Vec<String> {
        let header = |name: &str, headers: &http::HeaderMap| {
            headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        };
        self.upstream.received(path).iter().map(|request| header("authorization", &request.headers)).collect()
    }
}

fn exchange(stage: &Stage) -> Value {
    json!({
        "type": "token_exchange", "tokenUrl": stage.upstream.url("/token"), "clientId": "gateway",
        "clientSecret": "{{secrets.CLIENT}}", "audience": "orders", "resource": "https://orders.example", "scopes": ["read", "write"]
    })
}

#[tokio::test]
async fn the_token_of_the_caller_is_sent_and_never_shown() {
    let stage = Stage::open().await;
    stage.define("/echo", json!({"type": "caller_token", "hosts": ["127.0.0.1"]})).await;
    let (ann, bob) = (stage.token("ann"), stage.token("bob"));
    for token in [&ann, &bob] {
        let called = stage.call(token).await;
        assert_eq!(called.status, 200, "{}", called.text());
        assert!(called.text().contains("Bearer ***") && !called.text().contains(token.as_str()));
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "mine", "arguments": {}}});
    let called = ask(&stage.gateway, Some(&ann), (Method::POST, "/mcp"), Some(&message)).await.unwrap();
    assert!(called.text().contains("***") && !called.text().contains(&ann), "{}", called.text());
    let expected = [&ann, &bob, &ann].map(|token| format!("Bearer {token}"));
    assert_eq!(stage.shown("/echo"), expected);

    let key = stage.call(&stage.admin).await;
    assert_eq!(key.status, 403, "{}", key.text());
    assert!(key.text().contains("came without a token"), "{}", key.text());
    assert_eq!(stage.upstream.count("/echo"), 3, "a key is never passed on");
    let path = (Method::POST, "/admin/tools/mine/preview");
    let preview = ask(&stage.gateway, Some(&stage.admin), path, None).await.unwrap();
    assert!(preview.text().contains("Bearer ***"), "{}", preview.text());
    assert!(!stage.gateway.stderr().contains(&ann));
}

#[tokio::test]
async fn a_token_does_not_leave_the_origin_it_is_meant_for() {
    let stage = Stage::open().await;
    let elsewhere = Upstream::start().await.unwrap();
    let away = Canned::new(302, "text/plain", "").with_header("location", &elsewhere.url("/echo"));
    stage.upstream.answer("/away", away);
    stage.define("/away", json!({"type": "caller_token"})).await;
    let called = stage.call(&stage.token("ann")).await;
    assert_eq!(called.status, 502, "{}", called.text());
    assert!(called.text().contains("another origin and not followed"), "{}", called.text());
    assert_eq!(elsewhere.total(), 0);
}

#[tokio::test]
async fn definitions_that_would_give_tokens_away_are_refused() {
    let stage = Stage::open().await;
    let check = async |change: Value, pointer: &str, words: &str| {
        let mut definition = stage.definition("/echo", json!({"type": "caller_token"}));
        for (field, value) in change.as_object().unwrap() {
            definition[field] = value.clone();
        }
        let refused = stage.register(&definition).await;
        let text = refused.text();
        assert!(refused.status == 422 && text.contains(pointer) && text.contains(words), "{text}");
    };
    check(json!({"auth": {"type": "caller_token", "hosts": ["api.example.com"]}}), "/auth/hosts", "add it")
        .await;
    check(json!({"auth": {"type": "caller_token", "hosts": ["a b"]}}), "/auth/hosts/0", "not a host").await;
    check(json!({"auth": {"type": "caller_token", "token": "x"}}), "/auth/token", "has no effect").await;
    check(json!({"registeredBy": "agent"}), "/auth", "an agent registered").await;
    let elsewhere = json!({"url": stage.upstream.url("/echo"), "headers": {"Host": "api.example.com"}});
    check(json!({"http": elsewhere}), "/http/headers/Host", "remove it").await;
    check(json!({"auth": {"type": "token_exchange", "clientId": "x"}}), "/auth", "needs \\\"tokenUrl\\\"")
        .await;
    let with_args = json!({"type": "token_exchange", "clientId": "x", "tokenUrl": "http://127.0.0.1:1/t", "audience": "{{args.a}}"});
    check(json!({"auth": with_args}), "/auth", "the same for every call").await;
}

#[tokio::test]
async fn a_token_is_given_for_that_of_the_caller_and_used_again() {
    let stage = Stage::open().await;
    let given = json!({"access_token": "given-token", "token_type": "Bearer", "expires_in": 300,
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"});
    stage.upstream.answer("/token", Canned::json(200, &given));
    stage.define("/echo", exchange(&stage)).await;
    let ann = stage.token("ann");
    let called = join_all((0..8).map(|_| stage.call(&ann))).await;
    for called in called {
        assert_eq!(called.status, 200, "{}", called.text());
        assert!(!called.text().contains("given-token"), "{}", called.text());
    }
    assert_eq!(stage.upstream.count("/token"), 1, "of many at once, one asks");
    assert_eq!(stage.shown("/echo"), vec!["Bearer given-token"; 8]);
    let asked = stage.upstream.received("/token").remove(0);
    let form = String::from_utf8(asked.body.to_vec()).unwrap();
    for field in [
        "grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
        &format!("subject_token={ann}"),
        "audience=orders",
        "resource=https://orders.example",
        "scope=read%20write",
    ] {
        assert!(form.contains(field), "{field}: {form}");
    }
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/token"));
    assert!(stage.shown("/token")[0].starts_with("Basic "));
    assert_eq!(stage.call(&stage.token("bob")).await.status, 200);
    assert_eq!(stage.upstream.count("/token"), 2, "what one was given is not for another");
    let key = stage.call(&stage.admin).await;
    assert!(key.status == 403 && key.text().contains("came without a token"), "{}", key.text());
}

#[tokio::test]
async fn an_exchange_that_fails_is_told_without_the_token() {
    let stage = Stage::open().await;
    stage.define("/echo", exchange(&stage)).await;
    let ann = stage.token("ann");
    let echo = json!({"error": "invalid_target", "error_description": format!("not for {ann}")});
    for (answer, words) in [
        (Canned::json(400, &echo), "gave no token for that of the caller (400): invalid_target, not for ***"),
        (Canned::json(200, &json!({"access_token": ann})), "the caller's own token"),
        (Canned::json(200, &json!({"token_type": "Bearer"})), "no access_token"),
        (Canned::json(200, &json!({"access_token": "a b"})), "cannot stand in a header"),
        (Canned::json(200, &json!({"access_token": "a", "token_type": "DPoP"})), "not a bearer token"),
        (Canned::new(200, "text/html", "<html>"), "not the JSON of a token"),
        (Canned::new(302, "text/plain", "").with_header("location", "/elsewhere"), "(302)"),
    ] {
        stage.upstream.answer("/token", answer);
        let called = stage.call(&ann).await;
        assert_eq!(called.status, 502, "{}", called.text());
        assert!(called.text().contains(words) && !called.text().contains(&ann), "{words}: {}", called.text());
    }
    assert_eq!((stage.upstream.count("/echo"), stage.upstream.count("/elsewhere")), (0, 0));
    assert!(!stage.gateway.stderr().contains(&ann));
}

#[tokio::test]
async fn a_secret_that_is_missing_is_told_at_the_field_of_the_definition() {
    let stage = Stage::open().await;
    let mut auth = exchange(&stage);
    auth["clientSecret"] = json!("{{secrets.NOT_THERE}}");
    stage.define("/echo", auth).await;
    let called = stage.call(&stage.token("ann")).await;
    let text = called.text();
    assert!(text.contains("SECRET_MISSING") && text.contains("mine: /auth/clientSecret: "), "{text}");
    assert_eq!(stage.upstream.total(), 0);
}
