//! What is served over TLS: every transport, HTTP/1.1 and HTTP/2, and nothing to whoever is slow or speaks plain HTTP.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{Request, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use toolrail_testkit::{Gateway, RawConnection, TlsClient, Upstream};

use super::{Site, address_of, list};
use crate::support::{echo_tool, gateway};

async fn register(gateway: &Gateway, client: &TlsClient, upstream: &Upstream) {
    let url = format!("{}/admin/tools", gateway.url());
    let made = client.post_json(&url, &echo_tool("echo", upstream)).await.unwrap();
    assert_eq!(made.status, 200, "{}", made.text());
}

#[tokio::test]
async fn both_versions_of_http_are_served_with_hsts() {
    let site = Site::new();
    let (gateway, upstream) = (site.gateway().start().await.unwrap(), Upstream::start().await.unwrap());
    assert!(gateway.url().starts_with("https://127.0.0.1:"), "{}", gateway.url());
    let banner = gateway.banner().await.unwrap();
    assert!(banner.contains(&format!("listens on {}", gateway.url())), "{banner}");
    register(&gateway, &site.client(), &upstream).await;
    let params = json!({"name": "echo", "arguments": {"q": "tls"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for (client, expected) in [(site.client(), Version::HTTP_11), (site.client().http2(), Version::HTTP_2)] {
        let request = Request::post(format!("{}/mcp", gateway.url()))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(Full::new(Bytes::from(call.to_string())))
            .unwrap();
        let (answer, version) = client.send(request).await.unwrap();
        assert_eq!((answer.status, version), (200, expected), "{}", answer.text());
        assert!(answer.text().contains("q=tls"), "{}", answer.text());
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
        let script = client.get(&format!("{}/admin/curl.sh", gateway.url())).await.unwrap();
        assert!(script.text().contains(gateway.url()), "{}", script.text());
    }
}

#[tokio::test]
async fn over_http2_the_host_is_guarded_too() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let client = site.client().http2().at(&address_of(&gateway));
    let status = async |uri: String, host: Option<&str>| {
        let mut request = Request::get(uri).body(Full::default()).unwrap();
        if let Some(host) = host {
            request.headers_mut().insert("host", host.parse().unwrap());
        }
        client.send(request).await.unwrap().0.status
    };
    let tools = format!("{}/mcp/tools", gateway.url());
    assert_eq!(status(tools.clone(), None).await, 200);
    assert_eq!(status(tools, Some("evil.example")).await, 403);
    assert_eq!(status("https://evil.example/mcp/tools".to_owned(), None).await, 403);
}

/// The next text of a stream of events that has `mark`.
async fn event(body: &mut Incoming, mark: &str) -> String {
    let reading = async {
        let mut text = String::new();
        while !text.contains(mark) {
            let frame = body.frame().await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
        }
        text
    };
    tokio::time::timeout(Duration::from_secs(30), reading).await.unwrap()
}

#[tokio::test]
async fn streams_of_events_come_over_both_versions() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    for client in [site.client(), site.client().http2()] {
        let request = Request::get(format!("{}/sse", gateway.url())).body(Full::default()).unwrap();
        let mut stream = client.open(request).await.unwrap().response;
        let opened = event(stream.body_mut(), "\n\n").await;
        let endpoint = opened.split("data: ").nth(1).unwrap().trim().to_owned();
        assert!(endpoint.starts_with("/messages"), "{opened}");
        let taken = client.post_json(&format!("{}{endpoint}", gateway.url()), &list()).await.unwrap();
        assert_eq!(taken.status, 202, "{}", taken.text());
        assert!(event(stream.body_mut(), "\"tools\"").await.contains("\"id\":1"));

        let initialize = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        });
        let session = client.post_json(&format!("{}/mcp", gateway.url()), &initialize).await.unwrap();
        let session = session.header("mcp-session-id").unwrap().to_owned();
        let request = Request::get(format!("{}/mcp", gateway.url()))
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session)
            .header("mcp-protocol-version", "2025-11-25");
        let mut stream = client.open(request.body(Full::default()).unwrap()).await.unwrap().response;
        assert_eq!(stream.status(), 200);
        let definition = json!({
            "name": format!("t{}", session.len()), "description": "Gets something",
            "inputSchema": {"type": "object", "properties": {}}, "http": {"url": "http://127.0.0.1:1/"}
        });
        let made = client.post_json(&format!("{}/admin/tools", gateway.url()), &definition).await.unwrap();
        assert_eq!(made.status, 200, "{}", made.text());
        event(stream.body_mut(), "notifications/tools/list_changed").await;
        let gone = Request::delete(format!("{}/admin/tools/t{}", gateway.url(), session.len()));
        assert_eq!(client.send(gone.body(Full::default()).unwrap()).await.unwrap().0.status, 200);
    }
}

#[tokio::test]
async fn a_websocket_is_served() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let stream = site.client().connect(gateway.url()).await.unwrap();
    let request = format!("wss://{}/mcp/ws", address_of(&gateway)).into_client_request().unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    socket.send(Message::text(list().to_string())).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(30), socket.next()).await.unwrap();
    let answer: Value = serde_json::from_str(&answer.unwrap().unwrap().into_text().unwrap()).unwrap();
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    socket.close(None).await.unwrap();
}

#[tokio::test]
async fn hsts_can_be_switched_off_and_is_never_said_without_tls() {
    let site = Site::new();
    let gateway = site.configured(&json!({"hsts": false})).start().await.unwrap();
    let answer = site.client().get(&format!("{}/mcp/tools", gateway.url())).await.unwrap();
    assert_eq!((answer.status, answer.header("strict-transport-security")), (200, None));
    let plain = crate::support::gateway().start().await.unwrap();
    assert_eq!(plain.get("/mcp/tools").await.unwrap().header("strict-transport-security"), None);
}

#[tokio::test]
async fn whoever_speaks_plain_http_is_told_to_use_tls() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let mut raw = RawConnection::open(&format!("http://{}", address_of(&gateway))).await.unwrap();
    raw.post("/mcp", &[], list().to_string().as_bytes()).await.unwrap();
    let answer = raw.answer().await.unwrap();
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("https://"), "{}", answer.text());
    assert!(raw.rest().await.unwrap().is_empty());
}

#[tokio::test]
async fn slow_handshakes_hold_up_nobody() {
    let site = Site::new();
    let gateway = site.gateway().start().await.unwrap();
    let mut slow = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(address_of(&gateway)).await.unwrap();
        // Half of them begin a handshake and do not go on.
        if number % 2 == 0 {
            tokio::io::AsyncWriteExt::write_all(&mut stream, &[22, 3, 1]).await.unwrap();
        }
        slow.push(stream);
    }
    let (client, url) = (site.client(), format!("{}/mcp/tools", gateway.url()));
    let answer = client.get(&url);
    let answer = tokio::time::timeout(Duration::from_secs(5), answer).await.unwrap().unwrap();
    assert_eq!(answer.status, 200);
    // All of them are sent away in the end, without a word.
    let (mut buffer, mut stream) = ([0; 16], slow.pop().unwrap());
    let reading = tokio::io::AsyncReadExt::read(&mut stream, &mut buffer);
    let ended = tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

#[tokio::test]
async fn the_administration_has_a_certificate_of_its_own() {
    let (site, other) = (Site::new(), Site::new());
    let own = site.gateway().args(["--admin-listen", "127.0.0.1:0"]);
    let own = own.arg("--admin-tls-cert").arg(&other.cert).arg("--admin-tls-key").arg(&other.key);
    let same = site.gateway().args(["--admin-listen", "127.0.0.1:0"]);
    let only = gateway().args(["--admin-listen", "127.0.0.1:0"]);
    let only = only.arg("--admin-tls-cert").arg(&other.cert).arg("--admin-tls-key").arg(&other.key);
    for (gateway, administration, is_tls) in [(own, &other, true), (same, &site, true), (only, &other, false)]
    {
        let gateway = gateway.start().await.unwrap();
        let (status, text) = {
            let answer = administration.client().get(&format!("{}/admin/tools", gateway.url())).await;
            answer.map(|answer| (answer.status, answer.text())).unwrap()
        };
        assert_eq!(status, 200, "{text}");
        let banner = gateway.banner().await.unwrap();
        let calls = banner.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
        assert_eq!(calls.starts_with("https://"), is_tls, "{banner}");
        assert!(banner.contains(&format!("administered on {}", gateway.url())), "{banner}");
        if is_tls {
            let hidden = site.client().get(&format!("{calls}/admin/tools")).await.unwrap();
            assert_eq!(hidden.status, 404, "{}", hidden.text());
            assert_eq!(site.client().get(&format!("{calls}/mcp/tools")).await.unwrap().status, 200);
        }
    }
}
