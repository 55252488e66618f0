//! Host and Origin are checked on every route, and strangers are kept out by default.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::json;
use toolrail_testkit::Gateway;

use crate::support::{BINARY, assert_failed, run_in};

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
    for path in ["/", "/mcp", "/mcp/ws", "/mcp/tools", "/admin/tools", "/healthz", "/nothing"] {
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

/// Clients of MCP read JSON-RPC only.
#[tokio::test]
async fn a_refused_mcp_client_gets_an_error_of_json_rpc() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    for path in ["/mcp", "/mcp/ws", "/sse", "/messages?sessionId=x"] {
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

#[tokio::test]
async fn a_public_address_needs_an_explicit_word() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let refused = run_in(folder.path(), &["serve", "--listen", "0.0.0.0:0"]).await?;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("--insecure-no-auth") && refused.stderr.contains("127.0.0.1"),
        "{}",
        refused.stderr
    );
    assert!(!folder.path().join("data").exists(), "nothing is created by a server that does not start");

    // The later --listen would be a second one; the environment is overruled by the flag of the test kit.
    let gateway = Gateway::builder(BINARY).arg("--insecure-no-auth").start().await?;
    assert_eq!(status(&gateway, "/healthz", &[]).await?, 200);
    Ok(())
}
