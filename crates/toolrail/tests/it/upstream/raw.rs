//! Upstream servers that answer exactly what a test says: what is malformed, spelled in its own way, or meant for one tenant.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_testkit::{Gateway, wait_until};

use crate::support::{gateway, installed, register};
use crate::upstream::session::Session;

const OFFERED_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);
const META: &str = "io.modelcontextprotocol";

const LEGACY: (&str, &str) = (
    "initialize",
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"raw","version":"1"}}"#,
);
const MODERN: (&str, &str) = (
    "server/discover",
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Be brief."}"#,
);

/// A gateway before a server that answers like that; the folder has what the server reads.
async fn in_front_of(results: &[(&str, &str)]) -> (Gateway, TempDir) {
    in_front_of_one(results, json!({})).await
}

/// The same with more in the definition of that server.
async fn in_front_of_one(results: &[(&str, &str)], more: Value) -> (Gateway, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.json");
    let results: serde_json::Map<String, Value> = results
        .iter()
        .map(|(method, result)| {
            let stays = method.starts_with("after ");
            let result = if stays { json!(result) } else { json!(result.replace('\n', " ")) };
            ((*method).to_owned(), result)
        })
        .collect();
    std::fs::write(&file, Value::Object(results).to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python/raw_server.py");
    let gateway = gateway().arg("--allow-commands").start().await.unwrap();
    let command = installed("TOOLRAIL_TEST_PYTHON");
    let mut definition = json!({"name": "raw", "description": "Raw", "type": "mcp",
        "mcp": {"command": command, "args": [script, file]}});
    definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    register(&gateway, &definition).await;
    wait_until("the gateway to list the tool", OFFERED_WITHIN, async || {
        let listed = gateway.mcp("tools/list", json!({})).await.ok()?.text();
        listed.contains("\"raw_good\"").then_some(())
    })
    .await
    .unwrap_or_else(|error| unreachable!("{error:#}; stderr: {}", gateway.stderr()));
    (gateway, folder)
}

/// A modern request of a tenant's.
async fn ask(gateway: &Gateway, tenant: &str, (method, name): (&str, &str), mut params: Value) -> Value {
    params["_meta"] = json!({
        format!("{META}/protocolVersion"): "2026-07-28",
        format!("{META}/clientInfo"): {"name": "t", "version": "1"},
        format!("{META}/clientCapabilities"): {"elicitation": {}, "extensions": {format!("{META}/tasks"): {}}},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name)
        .header("toolrail-tenant", tenant)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    gateway.request(request).await.unwrap().json().unwrap()
}

#[tokio::test]
async fn a_malformed_entry_of_a_server_spoils_no_list_and_is_told() {
    let tools = r#"{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"bare","description":7},
        {"name":"odd","inputSchema":{"type":"string"}},{"description":"nameless"},null,
        {"name":"two words","inputSchema":{"type":"object"}}]}"#;
    let prompts = r#"{"prompts":{"not":"a list"}}"#;
    let resources = r#"{"resources":[{"uri":"no-scheme","name":"r"},{"uri":"a:b"}]}"#;
    let (gateway, _folder) = in_front_of(&[
        LEGACY,
        ("tools/list", tools),
        ("prompts/list", prompts),
        ("resources/list", resources),
    ])
    .await;
    let listed = gateway.mcp("tools/list", json!({})).await.unwrap().json().unwrap();
    let listed: Vec<&Value> = listed["result"]["tools"].as_array().unwrap().iter().collect();
    let bare = listed.iter().find(|tool| tool["name"] == "raw_bare").unwrap();
    assert_eq!(**bare, json!({"name": "raw_bare", "inputSchema": {"type": "object"}}));
    assert!(listed.iter().all(|tool| tool["inputSchema"]["type"] == "object"), "{listed:?}");
    let resources = gateway.mcp("resources/list", json!({})).await.unwrap().json().unwrap();
    let resources = resources["result"]["resources"].as_array().unwrap().clone();
    assert!(resources.contains(&json!({"uri": "a:b", "name": "a:b"})), "{resources:?}");
    let problems = gateway.get("/admin/problems").await.unwrap().text();
    for told in [
        r#"the tool \"bare\" has no inputSchema"#,
        r#"the tool \"bare\" is listed without its description"#,
        r#"the tool \"odd\" is left out: its inputSchema is of the type \"string\""#,
        "a tool is left out: it has no name",
        "a tool is left out: its entry is not an object",
        "two words",
        "prompts/list cannot be had",
        r#"the resource \"no-scheme\" is left out"#,
        r#"the resource \"a:b\" has no name"#,
    ] {
        assert!(problems.contains(told), "{told}: {problems}");
    }
}

#[tokio::test]
async fn numbers_keep_their_spelling_in_both_directions() {
    let schema = r#"{"type":"object","properties":{"n":{"minimum":1.50,"maximum":12345678901234567890123}}}"#;
    let tools = format!(r#"{{"tools":[{{"name":"good","inputSchema":{schema},"x":1.0e2}}]}}"#);
    let result = r#"{"content":[{"type":"text","text":{line}}],"structuredContent":{"a":1.50,"b":12345678901234567890123}}"#;
    let (gateway, _folder) = in_front_of(&[LEGACY, ("tools/list", &tools), ("tools/call", result)]).await;
    let listed = gateway.mcp("tools/list", json!({})).await.unwrap().text();
    assert!(listed.contains(schema) && listed.contains(r#""x":1.0e2"#), "{listed}");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw_good","arguments":{"n":2.50,"m":98765432109876543210987}}}"#;
    let request = Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap();
    let answered = gateway.request(request).await.unwrap().text();
    assert!(answered.contains(r#""structuredContent":{"a":1.50,"b":12345678901234567890123}"#), "{answered}");
    assert!(answered.contains(r#"\"arguments\":{\"n\":2.50,\"m\":98765432109876543210987}"#), "{answered}");
}

#[tokio::test]
async fn a_task_at_a_server_that_tenants_share_is_its_tenants_alone() {
    let tools = r#"{"resultType":"complete","tools":[{"name":"good","inputSchema":{"type":"object"}}]}"#;
    let task = r#"{"resultType":"task","taskId":"task-1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000}"#;
    let status = r#"{"resultType":"complete","taskId":"task-1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"asked":{line}}"#;
    let (gateway, _folder) = in_front_of(&[
        MODERN,
        ("tools/list", tools),
        ("tools/call", task),
        ("tasks/get", status),
        ("tasks/cancel", r#"{"resultType":"complete"}"#),
    ])
    .await;
    let created =
        ask(&gateway, "acme", ("tools/call", "raw_good"), json!({"name": "raw_good", "arguments": {}})).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| unreachable!("{created}"));
    assert!(id.starts_with("raw~") && !id.contains("task-1"), "{id}");
    let got = ask(&gateway, "acme", ("tasks/get", id), json!({"taskId": id})).await;
    assert!(got["result"]["asked"].as_str().unwrap().contains(r#""taskId":"task-1""#), "{got}");
    let again = got["result"]["taskId"].as_str().unwrap();
    assert!(!again.contains("task-1"), "{again}");
    for (tenant, id) in [("other", id), ("acme", "raw~task-1"), ("other", "raw~task-1")] {
        for method in ["tasks/get", "tasks/cancel"] {
            let refused = ask(&gateway, tenant, (method, id), json!({"taskId": id})).await;
            assert_eq!(refused["error"]["code"], -32602, "{tenant} {method} {id}: {refused}");
        }
    }
    let cancelled = ask(&gateway, "acme", ("tasks/cancel", again), json!({"taskId": again})).await;
    assert!(cancelled.get("error").is_none(), "{cancelled}");
}

#[tokio::test]
async fn the_state_of_a_server_goes_out_sealed_and_comes_back_for_the_same_tenant_and_call_only() {
    let tools = r#"{"resultType":"complete","tools":[{"name":"good","inputSchema":{"type":"object"}}]}"#;
    let asks = r#"{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":{line},"requestedSchema":{"type":"object","properties":{}}}}},"requestState":"secret-of-the-server"}"#;
    let (gateway, _folder) = in_front_of(&[MODERN, ("tools/list", tools), ("tools/call", asks)]).await;
    let call = ("tools/call", "raw_good");
    let params = |n: u32| json!({"name": "raw_good", "arguments": {"n": n}});
    let asked = ask(&gateway, "acme", call, params(1)).await;
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| unreachable!("{asked}"));
    assert!(!state.contains("secret"), "{state}");
    let with = |n: u32, state: &str| {
        let mut params = params(n);
        params["requestState"] = state.into();
        params["inputResponses"] = json!({"who": {"action": "decline"}});
        params
    };
    let again = ask(&gateway, "acme", call, with(1, state)).await;
    let seen = again["result"]["inputRequests"]["who"]["params"]["message"].as_str();
    let seen = seen.unwrap_or_else(|| unreachable!("{again}"));
    assert!(seen.contains(r#""requestState":"secret-of-the-server""#) && seen.contains("decline"), "{seen}");
    for (tenant, n, state) in [("other", 1, state), ("acme", 2, state), ("acme", 1, "secret-of-the-server")] {
        let refused = ask(&gateway, tenant, call, with(n, state)).await;
        assert_eq!(refused["error"]["code"], -32602, "{tenant} {n}: {refused}");
    }
}

/// Somebody approved of the call, and the server asks for more: the client comes back with that once. Whoever shows the same state
/// again, here or at another replica, needs another approval.
#[tokio::test]
async fn an_approved_call_goes_on_after_a_question_once() {
    let tools = r#"{"resultType":"complete","tools":[{"name":"good","inputSchema":{"type":"object"}}]}"#;
    let asks = r#"{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":{line},"requestedSchema":{"type":"object","properties":{}}}}},"requestState":"of-the-server"}"#;
    let results = [MODERN, ("tools/list", tools), ("tools/call", asks)];
    let (gateway, _folder) = in_front_of_one(&results, json!({"approval": "required"})).await;
    let call = async |gateway: &Gateway, n: u32, came: Option<(&Value, Value)>| {
        let mut params = json!({"name": "raw_good", "arguments": {"n": n}});
        if let Some((state, answers)) = came {
            params["requestState"] = state.clone();
            params["inputResponses"] = answers;
        }
        ask(gateway, "acme", ("tools/call", "raw_good"), params).await
    };
    let asked_for = |answer: &Value| {
        let requests = answer["result"]["inputRequests"].as_object();
        let requests = requests.unwrap_or_else(|| unreachable!("nothing is asked: {answer}"));
        requests.keys().next().cloned().unwrap()
    };
    let first = call(&gateway, 1, None).await;
    let key = asked_for(&first);
    assert!(key.starts_with("approval-"), "{first}");
    let yes = json!({key: {"action": "accept", "content": {"approve": true}}});
    let approved = call(&gateway, 1, Some((&first["result"]["requestState"], yes))).await;
    assert_eq!(asked_for(&approved), "who", "{approved}");
    let (state, answers) = (&approved["result"]["requestState"], json!({"who": {"action": "decline"}}));

    let other = call(&gateway, 2, Some((state, answers.clone()))).await;
    assert_eq!(other["error"]["code"], -32602, "what was approved is another call: {other}");
    let on = call(&gateway, 1, Some((state, answers.clone()))).await;
    assert_eq!(asked_for(&on), "who", "the server has the answer and asks for the next: {on}");
    assert!(on.to_string().contains("decline"), "{on}");

    let again = call(&gateway, 1, Some((state, answers.clone()))).await;
    assert!(asked_for(&again).starts_with("approval-"), "the state was used: {again}");
    let replica =
        crate::support::gateway().arg("--allow-commands").data(gateway.data()).start().await.unwrap();
    wait_until("the tool at the other replica", OFFERED_WITHIN, async || {
        let listed = replica.mcp("tools/list", json!({})).await.ok()?.text();
        listed.contains("\"raw_good\"").then_some(())
    })
    .await
    .unwrap();
    let elsewhere = call(&replica, 1, Some((state, answers.clone()))).await;
    assert!(asked_for(&elsewhere).starts_with("approval-"), "it was used, wherever: {elsewhere}");
    // The one that it led to is good, also elsewhere.
    let next = call(&replica, 1, Some((&on["result"]["requestState"], answers))).await;
    assert_eq!(asked_for(&next), "who", "{next}");
}

#[tokio::test]
async fn what_a_server_logs_between_calls_reaches_the_client_of_its_session_and_nobody_else() {
    let log = |level: &str, data: &str| {
        let params = json!({"level": level, "logger": "raw", "data": {"said": data, "n": 1.5}});
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).to_string()
    };
    let after = format!("{}\n{}", log("debug", "details"), log("warning", "afterthought"));
    let (gateway, _folder) = in_front_of(&[
        (LEGACY.0, &LEGACY.1.replace(r#""resources":{}"#, r#""resources":{"subscribe":true}"#)),
        ("tools/list", r#"{"tools":[{"name":"good","inputSchema":{"type":"object"}}]}"#),
        ("resources/list", r#"{"resources":[{"uri":"a:b","name":"r"}]}"#),
        ("resources/subscribe", "{}"),
        ("after resources/subscribe", &after),
    ])
    .await;
    let url = format!("{}/mcp", gateway.url());
    let (mut first, second) = (Session::open(&url, json!({})).await, Session::open(&url, json!({})).await);
    let (mut to_first, mut to_second) = (first.stream().await, second.stream().await);
    assert_eq!(first.ask("resources/subscribe", json!({"uri": "a:b"})).await, json!({}));
    let heard = to_first.until(b"afterthought").await.unwrap();
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.contains("notifications/message") && !heard.contains("details"), "{heard}");
    let definition = json!({"name": "later", "description": "Later", "type": "http",
        "http": {"method": "GET", "url": "http://127.0.0.1:9/"}});
    register(&gateway, &definition).await;
    let heard = to_second.until(b"tools/list_changed").await.unwrap();
    assert!(
        !String::from_utf8_lossy(&heard).contains("notifications/message"),
        "the second heard it as well"
    );
}
