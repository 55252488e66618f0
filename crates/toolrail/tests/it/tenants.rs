//! Tenants: each sees its own definitions and the shared ones, over every face, and nothing of the others.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, Reply, WebSocket};

use crate::support::{assert_failed, started};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Any request, on behalf of a tenant.
async fn send(
    gateway: &Gateway,
    (method, path): (Method, &str),
    headers: &[(&str, &str)],
    body: &Value,
) -> Reply {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    gateway.request(request.body(Full::new(body)).unwrap()).await.unwrap()
}

fn rpc(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The id of a session that a tenant has begun.
async fn session_of(gateway: &Gateway, tenant: &str) -> String {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let headers = [ACCEPT, ("toolrail-tenant", tenant)];
    let reply = send(gateway, (Method::POST, "/mcp"), &headers, &rpc("initialize", params)).await;
    reply.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn a_tenant_that_cannot_be_is_refused_over_every_face() {
    let (gateway, _upstream) = started().await;
    let socket = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    assert!(WebSocket::connect(&socket, &[("toolrail-tenant", "acme")]).await.is_ok());
    for wrong in ["a b", "a/b", "", &"x".repeat(65)] {
        let headers = [ACCEPT, ("toolrail-tenant", wrong)];
        let rest = send(&gateway, (Method::GET, "/mcp/tools"), &headers, &Value::Null).await;
        assert_failed(&rest, 400, "INVALID_REQUEST", "1 to 64 letters, digits, dots, dashes and underscores");
        let mcp = send(&gateway, (Method::POST, "/mcp"), &headers, &rpc("tools/list", json!({}))).await;
        let body = mcp.json().unwrap();
        assert_eq!((mcp.status, &body["error"]["code"]), (400, &json!(-32600)), "{body}");
        assert!(WebSocket::connect(&socket, &headers[1..]).await.is_err());
    }
    let twice = [("toolrail-tenant", "a"), ("toolrail-tenant", "b")];
    let rest = send(&gateway, (Method::GET, "/mcp/tools"), &twice, &Value::Null).await;
    assert_failed(&rest, 400, "INVALID_REQUEST", "more than once");
}

#[tokio::test]
async fn a_session_of_one_tenant_is_unknown_to_another() {
    let (gateway, _upstream) = started().await;
    let session = session_of(&gateway, "acme").await;
    let as_tenant = async |tenant: Option<&str>, method: Method| {
        let mut headers =
            vec![ACCEPT, ("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-06-18")];
        headers.extend(tenant.map(|tenant| ("toolrail-tenant", tenant)));
        let body = if method == Method::POST { rpc("ping", json!({})) } else { Value::Null };
        send(&gateway, (method, "/mcp"), &headers, &body).await.status
    };
    for other in [Some("globex"), Some("ACME"), None] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            assert_eq!(as_tenant(other, method.clone()).await, 404, "{other:?} {method}");
        }
    }
    assert_eq!(as_tenant(Some("acme"), Method::POST).await, 200);
    assert_eq!(as_tenant(Some("acme"), Method::DELETE).await, 204);
    assert_eq!(as_tenant(Some("acme"), Method::POST).await, 404);
}

#[tokio::test]
async fn messages_of_another_tenant_do_not_reach_an_open_stream() {
    let (gateway, _upstream) = started().await;
    let mut stream = RawConnection::open(gateway.url()).await.unwrap();
    let request = format!("GET /sse HTTP/1.1\r\nhost: {}\r\ntoolrail-tenant: acme\r\n\r\n", stream.host());
    stream.send(request.as_bytes()).await.unwrap();
    stream.until(b"data: ").await.unwrap();
    let path = String::from_utf8(stream.until(b"\n").await.unwrap()).unwrap().trim().to_owned();
    let status = async |tenant: &str| {
        let headers = [("toolrail-tenant", tenant)];
        send(&gateway, (Method::POST, &path), &headers, &rpc("ping", json!({}))).await.status
    };
    assert_eq!(status("globex").await, 404);
    assert_eq!(status("acme").await, 202);
}
