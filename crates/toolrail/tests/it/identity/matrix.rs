//! What each sees and may call, by every way in, against a small oracle.

use http::Method;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Upstream, WebSocket};

use super::{ask, first_key, make_key};
use crate::support::{gateway, plain};

/// Somebody, as the oracle knows him.
struct Somebody {
    name: &'static str,
    role: &'static str,
    tenant: Option<&'static str>,
    tools: &'static [&'static str],
}

const PEOPLE: &[Somebody] = &[
    Somebody { name: "reader", role: "read", tenant: None, tools: &[] },
    Somebody { name: "caller", role: "call", tenant: None, tools: &[] },
    Somebody { name: "weatherman", role: "call", tenant: None, tools: &["weather.*"] },
    Somebody { name: "onlooker", role: "read", tenant: None, tools: &["hr.?ire"] },
    Somebody { name: "writer", role: "write", tenant: None, tools: &[] },
    Somebody { name: "boss", role: "admin", tenant: None, tools: &[] },
    Somebody { name: "acme-agent", role: "call", tenant: Some("acme"), tools: &[] },
    Somebody { name: "acme-narrow", role: "call", tenant: Some("acme"), tools: &["acme.*"] },
    Somebody { name: "acme-boss", role: "admin", tenant: Some("acme"), tools: &[] },
    Somebody { name: "globex-agent", role: "call", tenant: Some("globex"), tools: &[] },
];

/// A tool, and whose it is.
const TOOLS: &[(&str, Option<&str>)] = &[
    ("weather.now", None),
    ("hr.fire", None),
    ("acme.stock", Some("acme")),
    ("globex.stock", Some("globex")),
];

impl Somebody {
    fn sees(&self, (tool, owner): (&str, Option<&str>)) -> bool {
        let within = match self.tools {
            [] => true,
            ["hr.?ire"] => tool == "hr.fire",
            [pattern] => tool.starts_with(pattern.trim_end_matches('*')),
            _ => unreachable!(),
        };
        within && (owner.is_none() || owner == self.tenant)
    }

    fn may_call(&self) -> bool {
        self.role != "read"
    }

    fn may_write(&self) -> bool {
        matches!(self.role, "write" | "admin")
    }
}

/// A gateway with the tools, and a key for each.
async fn stage() -> (Gateway, Upstream, Vec<(&'static Somebody, String)>) {
    let upstream = Upstream::start().await.unwrap();
    let gateway = gateway().arg("--secure").discovery().start().await.unwrap();
    let admin = first_key(&gateway).await.unwrap();
    for (name, tenant) in TOOLS {
        let mut definition = plain(name, &upstream.url("/echo"));
        definition["description"] = format!("Tells what {name} has to tell").into();
        let mut request = http::Request::post("/admin/tools")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {admin}"));
        if let Some(tenant) = tenant {
            request = request.header("toolrail-tenant", *tenant);
        }
        let body = http_body_util::Full::from(definition.to_string());
        let made = gateway.request(request.body(body).unwrap()).await.unwrap();
        assert_eq!(made.status, 200, "{}", made.text());
    }
    let mut keys = Vec::new();
    for somebody in PEOPLE {
        let Somebody { name, role, tenant, tools } = somebody;
        let mut body = json!({"name": name, "role": role, "tenant": tenant});
        if !tools.is_empty() {
            body["tools"] = json!(tools);
        }
        keys.push((somebody, make_key(&gateway, &admin, &body).await.unwrap()));
    }
    (gateway, upstream, keys)
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn mcp(gateway: &Gateway, key: &str, method: &str, params: &Value) -> Value {
    let reply = ask(gateway, Some(key), (Method::POST, "/mcp"), Some(&rpc(method, params))).await.unwrap();
    reply.json().unwrap()
}

/// Which of the tools a text names.
fn named_in(text: &str) -> Vec<&'static str> {
    TOOLS.iter().map(|(name, _)| *name).filter(|name| text.contains(name)).collect()
}

#[tokio::test]
async fn whatever_lists_or_finds_tools_shows_what_one_may_see_and_nothing_else() {
    let (gateway, _upstream, keys) = stage().await;
    for (somebody, key) in &keys {
        let expected: Vec<&str> =
            TOOLS.iter().filter(|tool| somebody.sees(**tool)).map(|(name, _)| *name).collect();
        let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
        let mut socket = WebSocket::connect(&url, &[("x-api-key", key)]).await.unwrap();
        let search =
            json!({"name": "search_tools", "arguments": {"query": "tells what has to tell", "limit": 50}});
        let pattern = json!({"name": "search_tools", "arguments": {"query": "has to t.ll", "search_method": "regex", "limit": 50}});
        let ways = [
            ("tools/list", mcp(&gateway, key, "tools/list", &json!({})).await.to_string()),
            ("WebSocket", socket.call("tools/list", json!({})).await.unwrap().to_string()),
            ("search_tools", mcp(&gateway, key, "tools/call", &search).await.to_string()),
            ("search by pattern", mcp(&gateway, key, "tools/call", &pattern).await.to_string()),
            (
                "GET /mcp/tools",
                ask(&gateway, Some(key), (Method::GET, "/mcp/tools"), None).await.unwrap().text(),
            ),
            (
                "GET /mcp/search",
                ask(
                    &gateway,
                    Some(key),
                    (Method::GET, "/mcp/search?q=tells+what+has+to+tell&limit=50"),
                    None,
                )
                .await
                .unwrap()
                .text(),
            ),
        ];
        for (way, text) in &ways {
            assert_eq!(named_in(text), expected, "{} by {way}: {text}", somebody.name);
        }
        // What is counted is what is seen.
        let stats = json!({"uri": "registry://stats"});
        let stats = mcp(&gateway, key, "resources/read", &stats).await.to_string();
        assert!(named_in(&stats).iter().all(|name| expected.contains(name)), "{} {stats}", somebody.name);
        let index = ask(&gateway, Some(key), (Method::GET, "/"), None).await.unwrap().json().unwrap();
        assert_eq!(index["tools"], expected.len(), "{}", somebody.name);
        let register =
            mcp(&gateway, key, "tools/list", &json!({})).await.to_string().contains("register_tool");
        assert_eq!(register, somebody.may_write(), "{}", somebody.name);
    }
}

#[tokio::test]
async fn whatever_calls_tools_refuses_what_one_may_not_see_as_if_it_were_not_there() {
    let (gateway, _upstream, keys) = stage().await;
    for (somebody, key) in &keys {
        for tool in TOOLS {
            let (name, _) = *tool;
            let called = mcp(&gateway, key, "tools/call", &json!({"name": name, "arguments": {}})).await;
            let through = json!({"name": "call_tool", "arguments": {"name": name, "arguments": {}}});
            let through = mcp(&gateway, key, "tools/call", &through).await;
            let body = json!({"tool": name, "arguments": {}});
            let rest =
                ask(&gateway, Some(key), (Method::POST, "/mcp/tools/call"), Some(&body)).await.unwrap();
            let about = json!({"name": "get_tool_definition", "arguments": {"name": name}});
            let about = mcp(&gateway, key, "tools/call", &about).await;
            let who = somebody.name;
            if !somebody.sees(*tool) {
                let unknown = "no.such_tool";
                let other =
                    mcp(&gateway, key, "tools/call", &json!({"name": unknown, "arguments": {}})).await;
                let same = called.to_string().replace(name, unknown);
                assert_eq!(same, other.to_string(), "{who} calls {name}");
                assert_eq!(rest.status, 404, "{who} calls {name}: {}", rest.text());
                assert!(!through.to_string().contains("\"path\""), "{who} {name} {through}");
                assert!(!about.to_string().contains("has to tell"), "{who} {name} {about}");
            } else if somebody.may_call() {
                assert_eq!(rest.status, 200, "{who} calls {name}: {}", rest.text());
                for answer in [&called, &through] {
                    assert!(
                        answer["error"].is_null() && answer["result"]["isError"] != true,
                        "{who} {name} {answer}"
                    );
                }
            } else {
                assert_eq!(rest.status, 403, "{who} calls {name}: {}", rest.text());
                for answer in [&called, &through] {
                    assert!(answer.to_string().contains("needs the role call"), "{who} {name} {answer}");
                }
                assert!(about.to_string().contains("has to tell"), "{who} {name} {about}");
            }
        }
    }
}

#[tokio::test]
async fn administering_needs_the_role_and_stays_within_the_tenant() {
    let (gateway, upstream, keys) = stage().await;
    for (somebody, key) in &keys {
        let who = somebody.name;
        let status = async |method: Method, path: &str, body: Option<&Value>| {
            ask(&gateway, Some(key), (method, path), body).await.unwrap().status
        };
        let definition = plain(&format!("made.by_{}", who.replace('-', "_")), &upstream.url("/echo"));
        let expected = if somebody.may_write() { 200 } else { 403 };
        assert_eq!(status(Method::POST, "/admin/tools", Some(&definition)).await, expected, "{who}");
        assert_eq!(status(Method::GET, "/admin/tools", None).await, expected, "{who}");
        let is_boss = somebody.role == "admin";
        assert_eq!(status(Method::GET, "/admin/keys", None).await, if is_boss { 200 } else { 403 }, "{who}");
        let over_all = is_boss && somebody.tenant.is_none();
        assert_eq!(
            status(Method::POST, "/admin/refresh", None).await,
            if over_all { 200 } else { 403 },
            "{who}"
        );
        let sees_all = somebody.tenant.is_none() && somebody.tools.is_empty();
        let metrics = if sees_all { 200 } else { 403 };
        assert_eq!(status(Method::GET, "/metrics", None).await, metrics, "{who}");
        let ready = ask(&gateway, Some(key), (Method::GET, "/readyz"), None).await.unwrap().json().unwrap();
        let tells = ready.as_object().is_some_and(|members| members.len() > 1);
        assert_eq!(tells, sees_all && somebody.may_write(), "{who} {ready}");
        if is_boss {
            let keys = ask(&gateway, Some(key), (Method::GET, "/admin/keys"), None).await.unwrap().text();
            assert_eq!(keys.contains("globex-agent"), over_all, "{who} {keys}");
            let shown = ask(&gateway, Some(key), (Method::GET, "/admin/audit"), None).await.unwrap().text();
            assert_eq!(shown.contains("globex"), over_all, "{who} {shown}");
            let foreign = json!({"name": format!("x-{who}"), "role": "read", "tenant": "globex"});
            let made = status(Method::POST, "/admin/keys", Some(&foreign)).await;
            assert_eq!(made, if over_all { 201 } else { 403 }, "{who}");
        }
        // A tenant is what the key says, whatever a header does.
        let request = http::Request::get("/mcp/tools")
            .header("authorization", format!("Bearer {key}"))
            .header("toolrail-tenant", "globex")
            .body(http_body_util::Full::default())
            .unwrap();
        let expected = if somebody.tenant == Some("globex") { 200 } else { 403 };
        assert_eq!(gateway.request(request).await.unwrap().status, expected, "{who}");
    }
}

/// A session, a state or a task of one is nothing to another.
#[tokio::test]
async fn a_session_is_its_holders_alone() {
    let (gateway, _upstream, keys) = stage().await;
    let initialize = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let with = async |key: &str, session: Option<&str>, body: &Value| {
        let mut request = http::Request::post("/mcp")
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-06-18");
        }
        let body = http_body_util::Full::from(body.to_string());
        gateway.request(request.body(body).unwrap()).await.unwrap()
    };
    let [(_, one), (_, other), ..] = keys.as_slice() else { unreachable!() };
    let begun = with(one, None, &rpc("initialize", &initialize)).await;
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(with(one, Some(&session), &rpc("tools/list", &json!({}))).await.status, 200);
    assert_eq!(with(other, Some(&session), &rpc("tools/list", &json!({}))).await.status, 404);
}
