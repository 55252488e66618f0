//! `toolrail doctor`: what is open at a gateway, and at which step a client fails that looks for a way to sign in.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ask, first_key, make_key};
use crate::support::{gateway, run_in, run_with};

#[tokio::test]
async fn the_doctor_tells_what_is_open_and_what_to_do_about_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let gateway = gateway().arg("--discovery=true").arg("--secret").arg("SHOP_KEY").start().await?;
    let told = run_in(folder.path(), &["doctor", "--json", "--url", gateway.url()]).await?;
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
    let told: Value = serde_json::from_str(&told.stdout)?;
    let level = |about: &str| {
        let found = told["findings"].as_array().into_iter().flatten().find(|one| one["about"] == about);
        found.map(|one| (one["level"].as_str().unwrap_or_default(), one["message"].to_string()))
    };
    assert_eq!(level("keys").unwrap().0, "note");
    assert_eq!(level("discovery").unwrap().0, "warning");
    assert!(level("secrets").unwrap().1.contains("SHOP_KEY"));
    let people = run_in(folder.path(), &["doctor", "--url", gateway.url()]).await?;
    assert!(
        people.stdout.contains("→ `toolrail serve --secure` asks for keys here too"),
        "{}",
        people.stdout
    );
    Ok(())
}

#[tokio::test]
async fn what_others_can_reach_unasked_is_open_and_only_administrators_of_all_hear_of_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let open = gateway().args(["--admin-listen", "0.0.0.0:0", "--insecure-no-auth"]).start().await?;
    let told = run_in(open.data(), &["doctor", "--data", "."]).await?;
    assert_eq!(told.code, Some(1), "{}", told.stdout);
    let is_told = |part: &str| told.stdout.lines().any(|line| line.contains(part));
    assert!(is_told("open     no keys are asked for") && is_told("speaks plain HTTP"), "{}", told.stdout);
    let closed = gateway().arg("--secure").start().await?;
    let admin = first_key(&closed).await?;
    for body in
        [json!({"name": "w", "role": "write"}), json!({"name": "t", "role": "admin", "tenant": "acme"})]
    {
        let key = make_key(&closed, &admin, &body).await?;
        let refused = ask(&closed, Some(&key), (Method::GET, "/admin/doctor"), None).await?;
        assert_eq!(refused.status, 403, "{}", refused.text());
    }
    let told =
        run_with(folder.path(), &["doctor", "--url", closed.url()], &[("TOOLRAIL_KEY", admin)]).await?;
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
    assert!(told.stdout.contains("good     everybody is asked for a key"), "{}", told.stdout);
    assert!(told.stdout.contains("keys of the role admin that never expire: admin"), "{}", told.stdout);
    Ok(())
}

/// A gateway asks everybody who he is before it says that there is nothing at an address.
#[tokio::test]
async fn an_address_without_the_path_of_mcp_is_told_with_the_right_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let issuer = super::tokens::Issuer::start().await?;
    let config = folder.path().join("toolrail.json");
    let written = json!({"secure": true, "issuers": [{"issuer": issuer.url, "audiences": ["x"], "grants": [{"role": "call"}]}]});
    std::fs::write(&config, written.to_string())?;
    let gateway = gateway().arg("--config").arg(&config).start().await?;
    let walked = async |path: &str| {
        let url = format!("{}{path}", gateway.url());
        run_in(folder.path(), &["doctor", "oauth", "--json", &url]).await
    };
    for wrong in ["", "/"] {
        let told = walked(wrong).await?;
        let is_told = told.stdout.contains(&format!("MCP is spoken at {}/mcp", gateway.url()));
        assert!(told.code != Some(0) && is_told, "{wrong}: {}", told.stdout);
    }
    assert!(!walked("/mcp").await?.stdout.contains("MCP is spoken at"));
    Ok(())
}

/// A server with a way to sign in, of which single parts can be spoilt.
#[derive(Clone)]
struct World {
    url: String,
    spoilt: Arc<Mutex<Value>>,
}

impl World {
    async fn start() -> Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let world = Self { url: format!("http://{}", listener.local_addr()?), spoilt: Arc::default() };
        let routes = Router::new().fallback(answer).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(world)
    }

    /// What is said of something, unless it is spoilt.
    fn said(&self, what: &str, usual: Value) -> Value {
        self.spoilt.lock().unwrap().get(what).cloned().unwrap_or(usual)
    }

    /// How the clients fare when that is spoilt: for each the name of the last step, and whether it succeeded.
    async fn clients(&self, spoilt: Value) -> Result<Vec<(String, bool)>> {
        *self.spoilt.lock().unwrap() = spoilt;
        let folder = tempfile::tempdir()?;
        let ran = run_in(folder.path(), &["doctor", "oauth", "--json", &format!("{}/mcp", self.url)]).await?;
        let told: Value = serde_json::from_str(&ran.stdout)?;
        assert_eq!(ran.code == Some(0), told["ok"] == true, "{}", ran.stdout);
        let client = |client: &Value| {
            let last = client["steps"].as_array().and_then(|steps| steps.last()).cloned().unwrap_or_default();
            (last["step"].as_str().unwrap_or_default().to_owned(), client["ok"] == true)
        };
        Ok(told["clients"].as_array().into_iter().flatten().map(client).collect())
    }
}

async fn answer(State(world): State<World>, request: Request) -> Response {
    let url = &world.url;
    let body = match request.uri().path() {
        "/mcp" => {
            let challenge =
                format!("Bearer resource_metadata=\"{url}/.well-known/oauth-protected-resource/mcp\"");
            let challenge = world.said("challenge", challenge.into());
            let status = world.said("status", 401.into()).as_u64().unwrap_or_default();
            let status = StatusCode::from_u16(u16::try_from(status).unwrap()).unwrap();
            return (status, [("www-authenticate", challenge.as_str().unwrap().to_owned())]).into_response();
        }
        "/.well-known/oauth-protected-resource/mcp" => json!({
            "resource": world.said("resource", format!("{url}/mcp").into()),
            "authorization_servers": world.said("servers", json!([format!("{url}/realm")])),
        }),
        "/.well-known/openid-configuration/realm" => json!({
            "issuer": world.said("issuer", format!("{url}/realm").into()),
            "authorization_endpoint": world.said("authorize", format!("{url}/authorize").into()),
            "token_endpoint": format!("{url}/token"),
            "code_challenge_methods_supported": world.said("pkce", json!(["S256"])),
            "registration_endpoint": world.said("register", format!("{url}/register").into()),
            "client_id_metadata_document_supported": world.said("documents", false.into()),
            "token_endpoint_auth_methods_supported": world.said("methods", json!(["none"])),
        }),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    body.to_string().into_response()
}

#[tokio::test]
async fn the_step_at_which_a_client_cannot_sign_in_is_named() -> Result<()> {
    const ALL: [bool; 3] = [true; 3];
    const NONE: [bool; 3] = [false; 3];
    let world = World::start().await?;
    let no_registration = json!({"register": null});
    let by_document = json!({"register": null, "documents": true});
    let secret_only = json!({"register": null, "documents": true, "methods": ["client_secret_post"]});
    // Claude, VS Code, Codex.
    for (spoilt, step, succeed) in [
        (json!({}), "registration", ALL),
        (json!({"status": 200}), "challenge", NONE),
        (json!({"status": 403}), "challenge", NONE),
        (json!({"challenge": "Bearer"}), "registration", ALL),
        (
            json!({"challenge": format!("Bearer resource_metadata=\"{}/x\"", world.url)}),
            "resource description",
            [false, false, true],
        ),
        (json!({"resource": world.url}), "resource", [false, true, true]),
        (json!({"resource": "https://elsewhere.example/mcp"}), "resource", [false, false, true]),
        (json!({"servers": []}), "authorisation server", NONE),
        (json!({"servers": ["no address"]}), "server description", NONE),
        (json!({"servers": [format!("{}/elsewhere", world.url)]}), "server description", NONE),
        (json!({"issuer": format!("{}/realm/", world.url)}), "endpoints", NONE),
        (json!({"authorize": "http://login.example.com/authorize"}), "endpoints", NONE),
        (json!({"authorize": "javascript:alert(1)"}), "endpoints", NONE),
        (json!({"pkce": ["plain"]}), "endpoints", NONE),
        (no_registration, "registration", [false, true, false]),
        (by_document, "registration", [true, true, false]),
        (secret_only, "registration", [false, true, false]),
    ] {
        let told = world.clients(spoilt.clone()).await?;
        let succeeded: Vec<bool> = told.iter().map(|(_, ok)| *ok).collect();
        assert_eq!(succeeded, succeed, "{spoilt}");
        let failed = told.iter().filter(|(_, ok)| !ok);
        assert!(failed.clone().all(|(last, _)| last == step), "{spoilt}: {told:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_address_that_is_none_and_one_where_nobody_listens_are_told_apart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let wrong = run_in(folder.path(), &["doctor", "oauth", "tools.example.com/mcp"]).await?;
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("is not the address of an MCP server"), "{}", wrong.stderr);
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let silent = run_in(folder.path(), &["doctor", "oauth", &format!("http://{free}/mcp")]).await?;
    assert_eq!(silent.code, Some(1));
    assert!(silent.stdout.contains("failed   POST http://127.0.0.1:"), "{}", silent.stdout);
    Ok(())
}
