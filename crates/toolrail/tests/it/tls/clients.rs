//! Clients that show certificates: asked for or not, and whom they stand for.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolrail_testkit::{Gateway, TlsClient, wait_until};

use super::{Site, list};
use crate::support::plain;

/// A site whose clients have certificates of the same authority.
fn site() -> Site {
    let site = Site::new();
    site.write("clients.pem", site.authority.pem());
    site
}

fn showing(site: &Site, subject: &str, uri: Option<&str>) -> TlsClient {
    site.client().showing(&site.authority.for_client(subject, uri).unwrap())
}

/// The status of a list of tools, and their names.
async fn tools(gateway: &Gateway, client: &TlsClient, headers: &[(&str, &str)]) -> (u16, Vec<String>) {
    let mut request = Request::post(format!("{}/mcp", gateway.url()))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(list().to_string()))).unwrap();
    let answer = client.send(request).await.unwrap().0;
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let tools = body["result"]["tools"].as_array().cloned().unwrap_or_default();
    (answer.status, tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect())
}

#[tokio::test]
async fn a_required_certificate_is_required() {
    let site = site();
    let gateway = site.configured(&json!({"clientCa": "clients.pem"})).start().await.unwrap();
    let url = format!("{}/mcp/tools", gateway.url());
    let known = showing(&site, "CN=anybody", None);
    for client in [known.clone(), known.http2()] {
        assert_eq!(client.get(&url).await.unwrap().status, 200, "nobody is asked for a key here");
    }
    assert!(site.client().get(&url).await.is_err());
    let stranger = Site::new().authority.for_client("CN=anybody", None).unwrap();
    assert!(site.client().showing(&stranger).get(&url).await.is_err());
    let noted = async || gateway.stderr().contains("the certificate of a client is refused").then_some(());
    wait_until("the log to say so", Duration::from_secs(20), noted).await.unwrap();
}

#[tokio::test]
async fn a_certificate_stands_for_whom_the_rules_say_and_a_key_goes_before_it() {
    let site = site();
    let tls = json!({
        "clientCa": "clients.pem",
        "clientCert": "optional",
        "clients": [
            {"subject": "CN=root,O=Acme", "role": "admin"},
            {"subject": "CN=ci-*,O=Acme", "role": "call", "tenant": "acme", "name": "builds"},
            {"san": "spiffe://acme.example/*", "role": "read", "tools": ["shared"]},
        ]
    });
    let gateway = site.configured(&tls).arg("--secure").start().await.unwrap();
    let root = showing(&site, "CN=root,O=Acme", None);
    let admin = format!("{}/admin", gateway.url());
    for (tenant, name) in [(None, "shared"), (None, "other"), (Some("acme"), "own")] {
        let mut request = Request::post(format!("{admin}/tools")).header("content-type", "application/json");
        if let Some(tenant) = tenant {
            request = request.header("toolrail-tenant", tenant);
        }
        let body = plain(name, "http://127.0.0.1:1/").to_string();
        let made = root.send(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap().0;
        assert_eq!(made.status, 200, "{}", made.text());
    }

    let builds = showing(&site, "CN=ci-7,O=Acme", None);
    let (status, mut seen) = tools(&gateway, &builds, &[]).await;
    seen.sort();
    assert_eq!((status, seen), (200, vec!["other".to_owned(), "own".to_owned(), "shared".to_owned()]));
    assert_eq!(tools(&gateway, &builds, &[("toolrail-tenant", "globex")]).await.0, 403);
    assert_eq!(builds.get(&format!("{admin}/keys")).await.unwrap().status, 403);
    let reader = showing(&site, "CN=x", Some("spiffe://acme.example/reader"));
    assert_eq!(tools(&gateway, &reader, &[]).await, (200, vec!["shared".to_owned()]));
    assert_eq!(tools(&gateway, &reader.clone().http2(), &[]).await, (200, vec!["shared".to_owned()]));

    // Verified, but nobody; and no certificate at all.
    for client in [showing(&site, "CN=ci-7,O=Other", None), site.client()] {
        assert_eq!(tools(&gateway, &client, &[]).await.0, 401);
    }
    let noted = async || {
        let log = gateway.stderr();
        (log.contains("stands for nobody") && log.contains("O=Other")).then_some(())
    };
    wait_until("the log to name whose it is", Duration::from_secs(20), noted).await.unwrap();
    // A key decides, good or bad.
    let body = json!({"name": "reads", "role": "read", "tools": ["other"]});
    let made = root.post_json(&format!("{admin}/keys"), &body).await.unwrap();
    let key = format!("Bearer {}", made.json().unwrap()["key"].as_str().unwrap());
    let with_key = tools(&gateway, &root, &[("authorization", &key)]).await;
    assert_eq!(with_key, (200, vec!["other".to_owned()]));
    assert_eq!(tools(&gateway, &root, &[("authorization", "Bearer tr_0")]).await.0, 401);

    // What certificates did is recorded under their names.
    let record = root.get(&format!("{admin}/audit")).await.unwrap();
    assert!(record.text().contains("\"root\""), "{}", record.text());
}

#[tokio::test]
async fn new_rules_hold_after_sighup() {
    let site = site();
    let rules = |role: &str| json!({"clientCa": "clients.pem", "clientCert": "optional", "clients": [{"subject": "CN=ci", "role": role}]});
    let gateway = site.configured(&rules("call")).arg("--secure").start().await.unwrap();
    let client = showing(&site, "CN=ci", None);
    let url = format!("{}/admin/keys", gateway.url());
    assert_eq!(client.get(&url).await.unwrap().status, 403);
    site.configuration(&rules("admin"));
    let pid = gateway.pid().unwrap().to_string();
    tokio::process::Command::new("sh").args(["-c", "kill -HUP \"$0\"", &pid]).status().await.unwrap();
    let promoted = async || (client.get(&url).await.ok()?.status == 200).then_some(());
    wait_until("the new role", Duration::from_secs(30), promoted).await.unwrap();
}

#[tokio::test]
async fn a_connection_ends_with_the_certificate_of_its_client() {
    let site = site();
    let gateway = site.configured(&json!({"clientCa": "clients.pem"})).start().await.unwrap();
    let shown = site.authority.for_client_within("CN=ci", Duration::from_secs(8)).unwrap();
    let mut stream = site.client().showing(&shown).connect(gateway.url()).await.unwrap();
    let mut answers = 0;
    let asking = async || {
        let request = b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
        let mut buffer = [0; 4096];
        let went = stream.write_all(request).await.is_ok();
        match stream.read(&mut buffer).await {
            Ok(1..) if went => {
                answers += 1;
                None
            }
            _ => Some(()),
        }
    };
    wait_until("the connection to end", Duration::from_secs(30), asking).await.unwrap();
    assert!(answers > 0, "it was good for a while");
}
