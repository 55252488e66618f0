//! Tenants: each sees its own definitions and the shared ones, over every face, and nothing of the others.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, Reply, Stdio, Upstream, WebSocket};

use crate::support::{BINARY, assert_failed, gateway, listed, plain, register, run_in, started};

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

/// Registers a definition for a tenant, or for everybody.
async fn register_for(gateway: &Gateway, tenant: Option<&str>, definition: &Value) {
    let headers: Vec<(&str, &str)> = tenant.map(|tenant| ("toolrail-tenant", tenant)).into_iter().collect();
    let reply = send(gateway, (Method::POST, "/admin/tools"), &headers, definition).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

fn names_in(tools: &Value) -> Vec<&str> {
    tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

/// A gateway with a shared tool `both`, which tenant `acme` has otherwise, and one tool of each.
async fn shared_and_own() -> (Gateway, Upstream) {
    let (gateway, upstream) = started().await;
    for (tenant, name, path) in [
        (None, "both", "/echo/shared"),
        (None, "shared", "/echo/shared"),
        (Some("acme"), "both", "/echo/acme"),
        (Some("acme"), "own", "/echo/acme"),
    ] {
        register_for(&gateway, tenant, &plain(name, &upstream.url(path))).await;
    }
    (gateway, upstream)
}

#[tokio::test]
async fn a_tenant_sees_its_own_tools_and_the_shared_ones_over_every_face() {
    let (gateway, _upstream) = shared_and_own().await;
    let socket = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    let acme: &[&str] = &["both", "own", "shared"];
    let others: &[&str] = &["both", "shared"];
    for (tenant, seen, path) in [
        (Some("acme"), acme, "/echo/acme"),
        (Some("globex"), others, "/echo/shared"),
        (None, others, "/echo/shared"),
    ] {
        let headers: Vec<(&str, &str)> =
            tenant.map(|tenant| ("toolrail-tenant", tenant)).into_iter().collect();
        let rest = send(&gateway, (Method::GET, "/mcp/tools"), &headers, &Value::Null).await.json().unwrap();
        assert_eq!(names_in(&rest["tools"]), seen, "{tenant:?}");
        let mcp = send(&gateway, (Method::POST, "/mcp"), &headers, &rpc("tools/list", json!({}))).await;
        assert_eq!(names_in(&mcp.json().unwrap()["result"]["tools"]), seen, "{tenant:?}");
        let call = json!({"tool": "both", "arguments": {}});
        let called = send(&gateway, (Method::POST, "/mcp/tools/call"), &headers, &call).await.json().unwrap();
        assert_eq!(called["result"]["path"], path, "{tenant:?} {called}");
        let call = rpc("tools/call", json!({"name": "own"}));
        let own = send(&gateway, (Method::POST, "/mcp"), &headers, &call).await.json().unwrap();
        assert_eq!(own["result"].is_object(), tenant == Some("acme"), "{tenant:?} {own}");
        let mut socket = WebSocket::connect(&socket, &headers).await.unwrap();
        let listed = socket.call("tools/list", json!({})).await.unwrap();
        assert_eq!(names_in(&listed["result"]["tools"]), seen, "{tenant:?}");
        let mut arguments = vec!["stdio", "--url", gateway.url()];
        arguments.extend(tenant.map(|tenant| ["--tenant", tenant]).into_iter().flatten());
        let mut bridge = Stdio::spawn(BINARY, arguments).unwrap();
        let listed = bridge.call("tools/list", json!({})).await.unwrap();
        assert_eq!(names_in(&listed["result"]["tools"]), seen, "{tenant:?}");
        assert!(bridge.finish().await.unwrap().success());
    }
}

#[tokio::test]
async fn a_tenants_own_definition_hides_the_shared_one_even_when_it_is_switched_off() {
    let (gateway, _upstream) = shared_and_own().await;
    let acme = [("toolrail-tenant", "acme")];
    let off = send(&gateway, (Method::POST, "/admin/tools/both/disable"), &acme, &Value::Null).await;
    assert_eq!(off.status, 200, "{}", off.text());
    let listed = send(&gateway, (Method::GET, "/mcp/tools"), &acme, &Value::Null).await.json().unwrap();
    assert_eq!(names_in(&listed["tools"]), ["own", "shared"]);
    let call = json!({"tool": "both"});
    let refused = send(&gateway, (Method::POST, "/mcp/tools/call"), &acme, &call).await;
    assert_failed(
        &refused,
        404,
        "NOT_FOUND",
        "POST /admin/tools/both/enable with Toolrail-Tenant: acme switches",
    );
    let line = ["tools", "call", "both", "--url", gateway.url(), "--tenant", "acme"];
    let ran = run_in(std::path::Path::new("."), &line).await.unwrap();
    assert!(ran.stderr.contains("--tenant acme` switches it on"), "{}", ran.stderr);
    let shared = send(&gateway, (Method::POST, "/mcp/tools/call"), &[], &call).await.json().unwrap();
    assert_eq!(shared["result"]["path"], "/echo/shared", "{shared}");
    let purged = send(&gateway, (Method::DELETE, "/admin/tools/both?purge=true"), &acme, &Value::Null).await;
    assert_eq!(purged.status, 200, "{}", purged.text());
    let again = send(&gateway, (Method::POST, "/mcp/tools/call"), &acme, &call).await.json().unwrap();
    assert_eq!(again["result"]["path"], "/echo/shared", "{again}");
}

#[tokio::test]
async fn a_server_for_one_tenant_takes_requests_without_a_name_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start().await.unwrap();
    let gateway = gateway().data(folder.path()).args(["--tenant", "acme"]).start().await.unwrap();
    register(&gateway, &plain("own", &upstream.url("/echo"))).await;
    let globex = [("toolrail-tenant", "globex")];
    assert_eq!(listed(&gateway).await.unwrap(), ["own"]);
    let others = send(&gateway, (Method::GET, "/mcp/tools"), &globex, &Value::Null).await.json().unwrap();
    assert_eq!(names_in(&others["tools"]), Vec::<&str>::new());
}

#[tokio::test]
async fn the_command_line_works_for_a_tenant_with_a_server_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let definition = folder.path().join("own.json");
    std::fs::write(&definition, plain("own", "http://127.0.0.1:1/").to_string()).unwrap();
    let definition = definition.to_str().unwrap();
    let names = async |arguments: &[&str]| {
        let ran = run_in(folder.path(), &[&["tools", "list", "--json"], arguments].concat()).await.unwrap();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        names_in(&listed["tools"]).join(" ")
    };
    let added =
        run_in(folder.path(), &["tools", "add", definition, "--data", "data", "--tenant", "acme"]).await;
    assert_eq!(added.unwrap().code, Some(0));
    assert_eq!(names(&["--tenant", "acme"]).await, "own");
    assert_eq!(names(&["--tenant", "globex"]).await, "");
    assert_eq!((names(&[]).await, names(&["--all-tenants"]).await), (String::new(), "own".to_owned()));
    let table = run_in(folder.path(), &["tools", "list", "--all-tenants"]).await.unwrap().stdout;
    assert!(table.contains("TENANT") && table.contains("acme"), "{table}");
    let gateway = gateway().data(&data).start().await.unwrap();
    assert_eq!(names(&["--tenant", "acme"]).await, "own");
    assert_eq!(names(&["--url", gateway.url(), "--tenant", "globex"]).await, "");
    let wrong = run_in(folder.path(), &["tools", "list", "--tenant", "a b"]).await.unwrap();
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("1 to 64 letters"), "{}", wrong.stderr);
}

#[tokio::test]
async fn a_tenant_hears_of_no_other_tenant_from_lists_and_readiness() {
    let (gateway, _upstream) = shared_and_own().await;
    let server = json!({"name": "theirs", "description": "d", "mcp": {"url": "http://127.0.0.1:1/mcp"}});
    register_for(&gateway, Some("acme"), &server).await;
    let asked = async |method: Method, path: &str, tenant: &str| {
        send(&gateway, (method, path), &[("toolrail-tenant", tenant)], &Value::Null).await
    };
    let all = asked(Method::GET, "/admin/tools?allTenants=true", "globex").await;
    assert_failed(&all, 400, "INVALID_REQUEST", "not for a request of one tenant");
    for (method, path) in [(Method::GET, "/readyz"), (Method::POST, "/admin/refresh")] {
        for (tenant, tools, upstreams) in [("globex", 2, 0), ("acme", 3, 1)] {
            let told = asked(method.clone(), path, tenant).await.json().unwrap();
            let seen = told["upstreams"].as_array().unwrap().len();
            assert_eq!((&told["tools"], seen), (&json!(tools), upstreams), "{tenant} {told}");
        }
    }
}

/// What a cache in between keeps for everybody must not be one tenant's.
#[tokio::test]
async fn what_a_tenant_sees_may_be_kept_for_it_alone() {
    let (gateway, _upstream) = started().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for method in ["tools/list", "prompts/list", "resources/list", "server/discover"] {
        for (tenant, scope) in [(None, "public"), (Some("acme"), "private")] {
            let mut headers = vec![ACCEPT, ("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
            headers.extend(tenant.map(|tenant| ("toolrail-tenant", tenant)));
            let body = rpc(method, json!({"_meta": meta}));
            let answer = send(&gateway, (Method::POST, "/mcp"), &headers, &body).await.json().unwrap();
            assert_eq!(answer["result"]["cacheScope"], scope, "{method} {answer}");
        }
    }
}
