//! Keys of a gateway that asks for them: by the command line, over REST, on every transport, on every replica.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, WebSocket, wait_until};

use super::{ask, first_key, make_key};
use crate::support::{BINARY, Ran, gateway, plain, run_in};

async fn secure() -> (Gateway, String) {
    let gateway = gateway().arg("--secure").start().await.unwrap();
    let key = first_key(&gateway).await.unwrap();
    (gateway, key)
}

/// A command on this machine, in a folder of its own.
async fn toolrail(arguments: &[&str]) -> Ran {
    run_in(&std::env::temp_dir(), arguments).await.unwrap()
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
}

#[tokio::test]
async fn without_a_key_nothing_is_told_but_that_the_gateway_lives() {
    let (gateway, admin) = secure().await;
    for (method, path) in [
        (Method::POST, "/mcp"),
        (Method::GET, "/mcp/tools"),
        (Method::GET, "/admin/tools"),
        (Method::GET, "/admin/keys"),
        (Method::GET, "/metrics"),
        (Method::GET, "/"),
        (Method::GET, "/nowhere"),
        (Method::GET, "/sse"),
        (Method::GET, "/schema/tool.json"),
    ] {
        for key in [None, Some("tr_0"), Some(&*format!("tr_{}", "0".repeat(64)))] {
            let refused = ask(&gateway, key, (method.clone(), path), None).await.unwrap();
            assert_eq!(refused.status, 401, "{path} {}", refused.text());
            let challenge = refused.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer"), "{challenge}");
            assert_eq!(challenge.contains("invalid_token"), key.is_some(), "{challenge}");
        }
    }
    for path in ["/healthz", "/readyz"] {
        let bare = ask(&gateway, None, (Method::GET, path), None).await.unwrap();
        assert_eq!((bare.status, bare.json().unwrap()), (200, json!({"status": "ok"})));
        let whole = ask(&gateway, Some(&admin), (Method::GET, path), None).await.unwrap();
        assert!(whole.json().unwrap()["version"].is_string() || path == "/readyz", "{}", whole.text());
    }
    let listed = ask(&gateway, Some(&admin), (Method::POST, "/mcp"), Some(&list())).await.unwrap();
    assert_eq!(listed.status, 200, "{}", listed.text());
    assert!(!gateway.stderr().contains("tr_"), "keys are in no log");
}

#[tokio::test]
async fn the_first_key_is_shown_once_and_the_commands_of_this_machine_need_none() {
    let (mut gateway, admin) = secure().await;
    let data = gateway.data().to_str().unwrap().to_owned();
    let made =
        toolrail(&["keys", "create", "ci", "--role", "call", "--expires", "90d", "--data", &data]).await;
    assert!(made.code == Some(0), "{}", made.stderr);
    let ci = made.stdout.trim().to_owned();
    assert!(ci.starts_with("tr_") && ci.len() == 67, "{ci}");
    let listed = ask(&gateway, Some(&ci), (Method::POST, "/mcp"), Some(&list())).await.unwrap();
    assert_eq!(listed.status, 200);
    let shown = toolrail(&["keys", "list", "--data", &data]).await.stdout;
    assert!(shown.contains("admin") && shown.contains("ci") && !shown.contains("tr_"), "{shown}");
    let shown = toolrail(&["keys", "show", "ci", "--data", &data]).await.stdout;
    assert!(shown.contains("role: call") && shown.contains("by operator"), "{shown}");

    gateway.restart().await.unwrap();
    let banner = gateway.banner().await.unwrap();
    assert!(banner.contains("keys are asked for"), "{banner}");
    assert!(first_key(&gateway).await.is_err(), "it is shown once: {banner}");
    for key in [&admin, &ci] {
        let listed = ask(&gateway, Some(key), (Method::POST, "/mcp"), Some(&list())).await.unwrap();
        assert_eq!(listed.status, 200);
    }

    let rotated = toolrail(&["keys", "rotate", "ci", "--overlap", "0s", "--data", &data]).await;
    assert!(rotated.code == Some(0) && rotated.stderr.contains("refused from now on"), "{}", rotated.stderr);
    let status = async |key: &str| {
        ask(&gateway, Some(key), (Method::POST, "/mcp"), Some(&list())).await.unwrap().status
    };
    assert_eq!((status(&ci).await, status(rotated.stdout.trim()).await), (401, 200));
    let revoked = toolrail(&["keys", "revoke", "ci", "--data", &data]).await;
    assert!(revoked.code == Some(0), "{}", revoked.stderr);
    assert_eq!(status(rotated.stdout.trim()).await, 401);

    // Without a gateway, on the folder itself.
    gateway.stop().await.unwrap();
    let offline = toolrail(&["keys", "create", "ci", "--role", "read", "--data", &data]).await;
    assert!(offline.code == Some(0), "{}", offline.stderr);
    gateway.restart().await.unwrap();
    let again =
        ask(&gateway, Some(offline.stdout.trim()), (Method::POST, "/mcp"), Some(&list())).await.unwrap();
    assert_eq!(again.status, 200);
    let record = toolrail(&["audit", "--data", &data]).await.stdout;
    assert!(record.contains("key.revoke ci") && !record.contains("tr_"), "{record}");
    let whole = toolrail(&["audit", "verify", "--data", &data]).await;
    assert!(whole.code == Some(0), "{}{}", whole.stdout, whole.stderr);
}

#[tokio::test]
async fn a_key_may_stand_in_either_header_and_only_one_may() {
    let (gateway, admin) = secure().await;
    let with = async |headers: &[(&str, &str)]| {
        let mut request = http::Request::get("/mcp/tools");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(http_body_util::Full::default()).unwrap();
        gateway.request(request).await.unwrap().status
    };
    let bearer = format!("bearer {admin}");
    assert_eq!(with(&[("authorization", &bearer)]).await, 200);
    assert_eq!(with(&[("x-api-key", &admin)]).await, 200);
    assert_eq!(with(&[("x-api-key", &admin), ("authorization", &bearer)]).await, 200);
    assert_eq!(with(&[("x-api-key", "tr_other"), ("authorization", &bearer)]).await, 401);
    assert_eq!(with(&[("authorization", &admin)]).await, 401);
    assert_eq!(with(&[("authorization", "Basic YTpi")]).await, 401);
}

#[tokio::test]
async fn what_is_open_is_closed_when_its_key_is_revoked() {
    let (gateway, admin) = secure().await;
    let key = make_key(&gateway, &admin, &json!({"name": "ws", "role": "call"})).await.unwrap();
    let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    assert!(WebSocket::connect(&url, &[]).await.is_err());
    let mut socket = WebSocket::connect(&url, &[("x-api-key", &key)]).await.unwrap();
    assert!(socket.call("tools/list", json!({})).await.unwrap()["result"]["tools"].is_array());
    let bearer = format!("Authorization: Bearer {key}");
    let mut stream = tokio::process::Command::new("curl")
        .args(["-sN", "-H", &bearer, &format!("{}/sse", gateway.url())])
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let revoked = ask(&gateway, Some(&admin), (Method::DELETE, "/admin/keys/ws"), None).await.unwrap();
    assert_eq!(revoked.status, 200);
    assert!(socket.receive().await.is_err(), "the socket is closed");
    wait_until("the stream to end", Duration::from_secs(20), async || stream.try_wait().ok().flatten())
        .await
        .unwrap();
}

#[tokio::test]
async fn every_replica_hears_of_a_key_within_a_moment() {
    let (one, admin) = secure().await;
    let store = format!("sqlite:{}", one.data().join("toolrail.db").display());
    let other = gateway().arg("--secure").store(&store).start().await.unwrap();
    let status =
        async |key: &str| ask(&other, Some(key), (Method::GET, "/mcp/tools"), None).await.unwrap().status;
    assert_eq!(status(&admin).await, 200);
    let key = make_key(&one, &admin, &json!({"name": "ci", "role": "read"})).await.unwrap();
    let within = Duration::from_secs(20);
    wait_until("the key", within, async || (status(&key).await == 200).then_some(())).await.unwrap();
    let revoked = ask(&one, Some(&admin), (Method::DELETE, "/admin/keys/ci"), None).await.unwrap();
    assert_eq!(revoked.status, 200);
    wait_until("its end", within, async || (status(&key).await == 401).then_some(())).await.unwrap();
}

#[tokio::test]
async fn bad_keys_are_refused_in_words_that_say_what_to_do() {
    let (gateway, admin) = secure().await;
    for (body, status, words) in [
        (json!({"name": "a b", "role": "read"}), 400, "is not the name of a key"),
        (json!({"name": "admin", "role": "read"}), 409, "already; revoke it"),
        (json!({"name": "k", "role": "root"}), 400, "root"),
        (json!({"name": "k", "role": "read", "expiresIn": "soon"}), 400, "/expiresIn"),
        (json!({"name": "k", "role": "admin", "tools": ["a.*"]}), 400, "sees all tools"),
        (json!({"name": "k"}), 400, "role"),
        (json!({"name": "k", "role": "read", "tools": []}), 400, "/tools"),
        (json!({"name": "..", "role": "read"}), 400, "is not the name of a key"),
        (json!({"name": "k", "role": "read", "expiresIn": "0s"}), 400, "good for nothing"),
    ] {
        let refused = ask(&gateway, Some(&admin), (Method::POST, "/admin/keys"), Some(&body)).await.unwrap();
        assert_eq!(refused.status, status, "{body} {}", refused.text());
        assert!(refused.text().contains(words), "{}", refused.text());
    }
    let unknown = ask(&gateway, Some(&admin), (Method::DELETE, "/admin/keys/nobody"), None).await.unwrap();
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_bridge_shows_the_key_of_its_environment() {
    let (gateway, admin) = secure().await;
    let echo = plain("echo", "http://127.0.0.1:9/");
    let made = ask(&gateway, Some(&admin), (Method::POST, "/admin/tools"), Some(&echo)).await.unwrap();
    assert_eq!(made.status, 200);
    let message = format!("{}\n", list());
    for (key, expected) in [(Some(admin.as_str()), "\"echo\""), (None, "asks for a key")] {
        let mut command = tokio::process::Command::new(BINARY);
        command.args(["stdio", "--url", gateway.url()]).env_remove("TOOLRAIL_KEY");
        if let Some(key) = key {
            command.env("TOOLRAIL_KEY", key);
        }
        let mut bridge = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = bridge.stdin.take().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut input, message.as_bytes()).await.unwrap();
        drop(input);
        let said = String::from_utf8(bridge.wait_with_output().await.unwrap().stdout).unwrap();
        assert!(said.contains(expected), "{said}");
    }
}
