//! Host and Origin are checked on every route, and strangers are kept out by default.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use toolrail_testkit::{Gateway, HttpClient};

use crate::support::{BINARY, assert_failed, plain, run_in};

async fn status(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Result<u16> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Ok(gateway.request(request.body(Full::new(Bytes::new()))?).await?.status)
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_on_every_route() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    for path in ["/", "/mcp", "/mcp/ws", "/mcp/tools", "/admin/tools", "/metrics", "/nothing"] {
        for header in [("host", "evil.example"), ("origin", "https://evil.example"), ("origin", "null")] {
            assert_eq!(status(&gateway, path, &[header]).await?, 403, "{path} {header:?}");
        }
    }
    let request =
        Request::get("/mcp/tools").header("host", "evil.example:80").body(Full::new(Bytes::new()))?;
    assert_failed(&gateway.request(request).await?, 403, "FORBIDDEN", "--allow-host evil.example");
    let request =
        Request::get("/mcp/tools").header("origin", "https://evil.example").body(Full::new(Bytes::new()))?;
    assert_failed(&gateway.request(request).await?, 403, "FORBIDDEN", "--allow-origin https://evil.example");
    Ok(())
}

/// Probes of Kubernetes and balancers use names that nobody lists; they learn how the server is and nothing else.
#[tokio::test]
async fn a_probe_is_answered_whatever_it_calls_the_server() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    for path in ["/healthz", "/readyz"] {
        let request = Request::get(path).header("host", "toolrail.tools.svc:8080").body(Full::default())?;
        let reply = gateway.request(request).await?;
        assert_eq!((reply.status, reply.text().as_str()), (200, "{\"status\":\"ok\"}"), "{path}");
        let page = [("host", "evil.example"), ("origin", "https://evil.example")];
        assert_eq!(status(&gateway, path, &page).await?, 403, "{path}");
        assert_eq!(status(&gateway, path, &[("origin", "https://evil.example")]).await?, 403, "{path}");
    }
    Ok(())
}

/// Clients of MCP read JSON-RPC only.
#[tokio::test]
async fn a_refused_mcp_client_gets_an_error_of_json_rpc() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    for path in [
        "/mcp",
        "/mcp/ws",
        "/sse",
        "/messages?sessionId=x",
        "/mcp/some-group",
        "/mcp/some-group/ws",
        "/mcp/some-group/sse",
        "/mcp/some-group/messages?sessionId=x",
    ] {
        for header in [("host", "evil.example"), ("origin", "https://evil.example")] {
            let request = Request::post(path).header(header.0, header.1).body(Full::new(Bytes::new()))?;
            let reply = gateway.request(request).await?;
            let body = reply.json()?;
            assert_eq!((reply.status, &body["error"]["code"]), (403, &json!(-32600)), "{path} {body}");
            assert_eq!((&body["jsonrpc"], body.get("id")), (&json!("2.0"), None), "{path} {body}");
            assert!(body["error"]["message"].as_str().unwrap().contains("--allow-"), "{path} {body}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn loopback_and_listed_hosts_and_origins_pass() -> Result<()> {
    let gateway = Gateway::builder(BINARY)
        .args(["--allow-host", "gateway.internal", "--allow-origin", "https://console.example"])
        .start()
        .await?;
    for headers in [
        &[][..],
        &[("host", "localhost")],
        &[("host", "[::1]:1234")],
        &[("host", "gateway.internal")],
        &[("host", "gateway.internal:8443")],
        &[("origin", "http://localhost:3000")],
        &[("origin", "https://console.example")],
        &[("host", "gateway.internal"), ("origin", "https://gateway.internal")],
    ] {
        assert_eq!(status(&gateway, "/mcp/tools", headers).await?, 200, "{headers:?}");
    }
    Ok(())
}

const CONSOLE: &str = "https://console.example.com";

#[tokio::test]
async fn a_browser_may_send_what_a_known_page_asks_for() -> Result<()> {
    let gateway = Gateway::builder(BINARY).args(["--allow-origin", CONSOLE]).start().await?;
    for path in ["/mcp", "/mcp/tools/call", "/admin/tools", "/sse", "/nothing", "/mcp/some-group"] {
        for origin in [CONSOLE, "http://localhost:3000"] {
            let asked = Request::options(path)
                .header("origin", origin)
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type,mcp-param-city,x-other")
                .body(Full::new(Bytes::new()))?;
            let reply = gateway.request(asked).await?;
            assert_eq!((reply.status, reply.text().as_str()), (204, ""), "{path} {origin}");
            let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
            assert_eq!(header("access-control-allow-origin"), origin);
            assert_eq!(header("access-control-allow-methods"), "GET, POST, PUT, PATCH, DELETE, OPTIONS");
            assert_eq!((header("access-control-max-age"), header("vary")), ("600".into(), "Origin".into()));
            let headers = header("access-control-allow-headers");
            assert!(headers.starts_with("content-type, authorization, "), "{headers}");
            assert!(headers.ends_with("toolrail-tenant, mcp-param-city"), "{headers}");
        }
        let foreign = Request::options(path).header("origin", "https://evil.example");
        let reply = gateway.request(foreign.body(Full::new(Bytes::new()))?).await?;
        assert_eq!(reply.status, 403);
        assert!(!reply.headers.contains_key("access-control-allow-origin"), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn a_known_page_may_read_answers() -> Result<()> {
    let gateway = Gateway::builder(BINARY).args(["--allow-origin", CONSOLE]).start().await?;
    let ask = async |path: &str, origin: Option<&str>| -> Result<_> {
        let ping = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let mut request = Request::post(path);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        gateway.request(request.body(Full::new(ping))?).await
    };
    let own = gateway.url().to_owned();
    for path in ["/mcp", "/mcp/tools/call", "/nothing"] {
        let reply = ask(path, Some(CONSOLE)).await?;
        assert_eq!(reply.headers["access-control-allow-origin"], CONSOLE, "{path}");
        assert_eq!(
            reply.headers["access-control-expose-headers"],
            "Mcp-Session-Id, ETag, Toolrail-Revision, WWW-Authenticate",
            "{path}"
        );
        assert_eq!(reply.headers["vary"], "Origin", "{path}");
        for origin in [None, Some(own.as_str())] {
            let reply = ask(path, origin).await?;
            for header in ["access-control-allow-origin", "vary"] {
                assert!(!reply.headers.contains_key(header), "{path} {origin:?} {header}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_address_that_others_can_reach_asks_for_keys_unless_told_otherwise() -> Result<()> {
    // The address for calls is one of the test kit.
    let public = ["--admin-listen", "0.0.0.0:0"];
    let gateway = Gateway::builder(BINARY).args(public).start().await?;
    let banner = gateway.banner().await?;
    assert!(banner.contains("keys are asked for") && !banner.contains("WARNING"), "{banner}");
    assert_eq!(status(&gateway, "/healthz", &[]).await?, 200);
    assert_eq!(status(&gateway, "/mcp/tools", &[]).await?, 401);
    assert_eq!(status(&gateway, "/admin/tools", &[]).await?, 401);

    let gateway = Gateway::builder(BINARY).args(public).arg("--insecure-no-auth").start().await?;
    let banner = gateway.banner().await?;
    assert!(banner.contains("WARNING: no keys are asked for"), "{banner}");
    assert_eq!(status(&gateway, "/admin/tools", &[]).await?, 200);
    Ok(())
}

#[tokio::test]
async fn the_administration_may_have_an_address_of_its_own() {
    let gateway = Gateway::builder(BINARY).args(["--admin-listen", "127.0.0.1:0"]).start().await.unwrap();
    let banner = gateway.banner().await.unwrap();
    let calls = banner.lines().next().and_then(|line| line.split("listens on ").nth(1)).unwrap();
    assert!(banner.contains(&format!("administered on {}", gateway.url())), "{banner}");
    assert_ne!(calls, gateway.url());
    let http = HttpClient::new();
    for (path, status) in [("/admin/tools", 404), ("/metrics", 404), ("/mcp/tools", 200), ("/readyz", 200)] {
        let reply = http.send_json(Method::GET, &format!("{calls}{path}"), None).await.unwrap();
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        assert_eq!(gateway.get(path).await.unwrap().status, 200, "{path}");
    }
    // A command leads to the other address, not to itself.
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), &["tools", "list", "--url", calls]).await.unwrap();
    assert_eq!(ran.code, Some(1));
    let hint = ran.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap_or_default();
    assert!(hint.contains("administered on") && !hint.contains("tools list"), "{}", ran.stderr);
    let there = run_in(folder.path(), &["tools", "list", "--url", gateway.url()]).await.unwrap();
    assert_eq!(there.code, Some(0), "{}", there.stderr);
}

#[tokio::test]
async fn a_tool_does_not_administer_the_gateway_it_runs_in_whatever_leads_there() {
    let gateway = Gateway::builder(BINARY).start().await.unwrap();
    let admin = format!("{}/admin/tools", gateway.url());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let away = format!("http://{}/", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 307 x\r\nlocation: {admin}\r\ncontent-length: 0\r\n\r\n");
    let _leading = AbortOnDrop(tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }));
    for (name, url) in [("direct", &admin), ("led", &away)] {
        let tool = json!({"name": name, "description": "Registers", "type": "http",
            "http": {"method": "POST", "url": url, "body": "{{args}}"}});
        assert_eq!(gateway.post_json("/admin/tools", &tool).await.unwrap().status, 200);
        let arguments = json!({"name": "planted", "http": {"url": "http://127.0.0.1:9/"}});
        let call = json!({"tool": name, "arguments": arguments});
        let answer = gateway.post_json("/mcp/tools/call", &call).await.unwrap().text();
        assert!(answer.contains("a tool may not administer a gateway"), "{name}: {answer}");
    }
    assert_eq!(gateway.get("/admin/tools/planted").await.unwrap().status, 404);
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whoever is not named can write any header, and stays what he is.
#[tokio::test]
async fn only_a_named_proxy_is_believed_for_whom_it_asks() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.json");
    for (proxies, expected) in [(json!(["127.0.0.0/8"]), "203.0.113.7"), (json!(["10.0.0.1"]), "127.0.0.1")] {
        std::fs::write(&config, json!({"trustedProxies": proxies}).to_string())?;
        let gateway = Gateway::builder(BINARY).arg("--config").arg(&config).start().await?;
        let definition = plain("t", "http://127.0.0.1:9/x").to_string();
        let request = Request::post("/admin/tools")
            .header("content-type", "application/json")
            .header("x-forwarded-for", "6.6.6.6, 203.0.113.7")
            .body(Full::new(Bytes::from(definition)))?;
        let made = gateway.request(request).await?;
        assert_eq!(made.status, 200, "{}", made.text());
        let record = gateway.get("/admin/audit").await?.json()?;
        assert_eq!(record["entries"][0]["address"], expected, "{record}");
    }
    std::fs::write(&config, json!({"trustedProxies": ["10.0.0.0/33"]}).to_string())?;
    let config = config.to_string_lossy();
    let refused = run_in(folder.path(), &["serve", "--config", &config]).await?;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("/trustedProxies"), "{}", refused.stderr);
    Ok(())
}
