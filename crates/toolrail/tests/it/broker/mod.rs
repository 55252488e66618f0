//! Signing in with the accounts of an identity provider that knows no MCP clients: the whole way, and everything that somebody may
//! try to get in on it.

mod attacks;
mod clients;
mod conformance;
mod connecting;
pub(crate) mod official;
mod provider;
mod sessions;
mod sign_in;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, GatewayBuilder, HttpClient, Reply};

use crate::support::gateway;
use provider::Provider;

/// Under which address clients reach the gateway, as far as the gateway knows.
const PUBLIC: &str = "https://tools.example.com";
/// What the tests' application proves itself with.
const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters-0123456789";
const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A provider, and where the configuration of gateways with a broker in front of it is.
struct Stage {
    provider: Provider,
    folder: tempfile::TempDir,
    config: PathBuf,
}

impl Stage {
    async fn new() -> Result<Self> {
        Self::with(json!({})).await
    }

    /// The same with more in the settings of the broker.
    async fn with(more: Value) -> Result<Self> {
        Self::at(PUBLIC, more).await
    }

    /// The same for gateways that are reached under that address.
    async fn at(public: &str, more: Value) -> Result<Self> {
        let (provider, folder) = (Provider::start().await?, tempfile::tempdir()?);
        let mut broker = json!({
            "provider": "oidc", "issuer": provider.url, "clientId": "gateway", "clientSecret": "{{secrets.SIGN_IN}}",
            "claims": {"name": "email"},
            "grants": [
                {"claim": "groups", "value": "ops", "role": "write"},
                {"claim": "groups", "value": "staff", "scopes": ["tools.call"], "role": "call"},
            ],
        });
        broker.as_object_mut().context("no object")?.extend(more.as_object().context("no object")?.clone());
        let config = folder.path().join("toolrail.json");
        std::fs::write(&config, json!({"publicUrl": public, "broker": broker}).to_string())?;
        Ok(Self { provider, folder, config })
    }

    fn gateway(&self) -> GatewayBuilder {
        gateway().arg("--config").arg(&self.config).env("TOOLRAIL_SECRET_SIGN_IN", "s3cret-of-the-gateway")
    }
}

/// A person's browser: keeps the cookies of the gateway.
struct Browser {
    cookie: Option<String>,
    /// Under which address it knows the gateway.
    public: String,
}

impl Default for Browser {
    fn default() -> Self {
        Self { cookie: None, public: PUBLIC.to_owned() }
    }
}

impl Browser {
    async fn get(&mut self, gateway: &Gateway, path: &str) -> Result<Reply> {
        self.send(gateway, Request::get(path), String::new()).await
    }

    async fn send(
        &mut self,
        gateway: &Gateway,
        mut request: http::request::Builder,
        body: String,
    ) -> Result<Reply> {
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let reply = gateway.request(request.body(Full::new(Bytes::from(body)))?).await?;
        if let Some(cookie) = reply.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        Ok(reply)
    }

    /// Opens the page that asks; gives what stands in its form.
    async fn open(&mut self, gateway: &Gateway, path: &str) -> Result<String> {
        let page = self.get(gateway, path).await?;
        ensure!(page.status == 200, "{} {}", page.status, page.text());
        request_in(&page.text())
    }

    async fn answer(&mut self, gateway: &Gateway, request: &str, answer: &str) -> Result<Reply> {
        let form = form(&[("request", request), ("answer", answer)]);
        let head = Request::post("/oauth/consent")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .header("origin", &self.public);
        self.send(gateway, head, form).await
    }

    /// Agrees and signs in at the provider; gives the path at which the provider sends the browser back.
    async fn sign_in(&mut self, gateway: &Gateway, path: &str) -> Result<String> {
        let request = self.open(gateway, path).await?;
        let sent = self.answer(gateway, &request, "yes").await?;
        let there = location(&sent)?;
        let back = HttpClient::new().send_json(Method::GET, &there, None).await?;
        Ok(location(&back)?.strip_prefix(&self.public).context("the provider sends elsewhere")?.to_owned())
    }

    /// The whole way; gives the address of the application that the browser ends at.
    async fn whole_way(&mut self, gateway: &Gateway, path: &str) -> Result<String> {
        let back = self.sign_in(gateway, path).await?;
        location(&self.get(gateway, &back).await?)
    }
}

/// What an application asks for: everything right, but for `more`.
fn authorize(client: &str, more: &[(&str, &str)]) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, VERIFIER.as_bytes()));
    let resource = format!("{PUBLIC}/mcp");
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("state", "s t&a=te"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &resource),
        ("scope", "tools.call"),
    ];
    for (name, value) in more {
        pairs.retain(|(known, _)| known != name);
        if !value.is_empty() {
            pairs.push((name, value));
        }
    }
    format!("/oauth/authorize?{}", form(&pairs))
}

async fn register(gateway: &Gateway, redirects: &[&str]) -> Result<String> {
    let said =
        json!({"client_name": "Robot <b>", "redirect_uris": redirects, "token_endpoint_auth_method": "none"});
    let made = gateway.post_json("/oauth/register", &said).await?;
    ensure!(made.status == 201, "{}", made.text());
    Ok(made.json()?["client_id"].as_str().context("no client_id")?.to_owned())
}

async fn post(gateway: &Gateway, path: &str, pairs: &[(&str, &str)]) -> Result<Reply> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    gateway.request(request.body(Full::new(Bytes::from(form(pairs))))?).await
}

async fn redeem(gateway: &Gateway, client: &str, code: &str, more: &[(&str, &str)]) -> Result<Reply> {
    let mut pairs = vec![
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ];
    for (name, value) in more {
        pairs.retain(|(known, _)| known != name);
        pairs.push((name, value));
    }
    post(gateway, "/oauth/token", &pairs).await
}

async fn refresh(gateway: &Gateway, client: &str, token: &str) -> Result<Reply> {
    let pairs = [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
    post(gateway, "/oauth/token", &pairs).await
}

/// Signs somebody in for a new application; gives its id and the tokens.
async fn tokens(gateway: &Gateway) -> Result<(String, Value)> {
    let client = register(gateway, &[REDIRECT]).await?;
    let end = Browser::default().whole_way(gateway, &authorize(&client, &[])).await?;
    let answer = redeem(gateway, &client, &parameter(&end, "code")?, &[]).await?;
    ensure!(answer.status == 200, "{}", answer.text());
    Ok((client, answer.json()?))
}

fn form(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

fn request_in(page: &str) -> Result<String> {
    let rest = page.split_once("name=\"request\" value=\"").context("the page has no form")?.1;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

fn location(reply: &Reply) -> Result<String> {
    let told = reply.header("location").map(str::to_owned);
    told.with_context(|| format!("no redirect, but {} {}", reply.status, reply.text()))
}

fn parameter(address: &str, name: &str) -> Result<String> {
    let url = url::Url::parse(address)?;
    let found = url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned());
    found.with_context(|| format!("{address} has no {name}"))
}

/// Whether a token lets its holder see tools.
async fn is_let_in(gateway: &Gateway, token: &str) -> Result<bool> {
    let request = Request::get("/mcp/tools").header("authorization", format!("Bearer {token}"));
    Ok(gateway.request(request.body(Full::default())?).await?.status == 200)
}

#[track_caller]
fn assert_refused(reply: &Reply, error: &str) {
    let body = reply.json().unwrap();
    assert_eq!((reply.status, body["error"].as_str()), (400, Some(error)), "{body}");
}
