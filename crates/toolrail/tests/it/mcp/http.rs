//! MCP over Streamable HTTP: envelopes, dialects, lists and calls (R1 to R22, C1 to C7).

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Canned, Gateway, Reply, wait_until};

use crate::support::{plain, register, started, weather};

const META: &str = "io.modelcontextprotocol/";

/// Headers, method, metadata, and the status and code that must come back.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a Value, u16, i32);

/// Posts a raw body with headers.
async fn post(gateway: &Gateway, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
    let mut request =
        Request::builder().method(Method::POST).uri("/mcp").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    gateway.request(request.body(Full::new(body.into())).unwrap()).await.unwrap()
}

async fn plain_call(gateway: &Gateway, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    post(gateway, &[], body.to_string()).await.json().unwrap()
}

async fn legacy_call(gateway: &Gateway, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": "x", "method": method, "params": params});
    post(gateway, &[("mcp-protocol-version", "2025-11-25")], body.to_string()).await.json().unwrap()
}

async fn modern(gateway: &Gateway, method: &str, mut params: Value) -> Reply {
    params["_meta"] = json!({
        format!("{META}protocolVersion"): "2026-07-28",
        format!("{META}clientCapabilities"): {},
    });
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    if matches!(method, "tools/call" | "resources/read") {
        headers.push(("mcp-name", &name));
    }
    post(gateway, &headers, body.to_string()).await
}

/// R1, R2, R14, R17: ids come back with their type; faults have their codes and never plain text.
#[tokio::test]
async fn envelopes_are_answered_with_their_id_and_code() {
    let (gateway, _upstream) = started().await;
    for (body, id, code) in [
        (r#"{"jsonrpc":"2.0","id":"1","method":"nope"}"#, json!("1"), -32601),
        (r#"{"jsonrpc":"2.0","id":123,"method":"nope","params":{}}"#, json!(123), -32601),
        ("{not json", json!(null), -32700),
        ("", json!(null), -32700),
        ("[]", json!(null), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#, json!(1), -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, json!(1), -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#,
            json!(1),
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"%%"}}"#, json!(1), -32602),
    ] {
        let answer = post(&gateway, &[], body).await.json().unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{body} -> {answer}");
    }
    let ping = plain_call(&gateway, "ping", json!({})).await;
    assert_eq!(ping, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[tokio::test]
async fn notifications_and_responses_get_202_and_other_methods_405() {
    let (gateway, _upstream) = started().await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        let reply = post(&gateway, &[], body).await;
        assert_eq!((reply.status, reply.body.len()), (202, 0));
    }
    let reply = gateway.get("/mcp").await.unwrap();
    assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, GET, DELETE")));
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_in_json() {
    let (gateway, _upstream) = started().await;
    let reply = post(&gateway, &[], vec![b' '; 5 * 1024 * 1024]).await;
    assert_eq!(reply.status, 413);
    assert_eq!(reply.json().unwrap()["error"]["code"], -32600);
}

/// R3, R5, R6, R7, R11, R12: initialize, list and call as any client of the last years makes them.
#[tokio::test]
async fn legacy_clients_initialize_list_and_call() {
    let (gateway, upstream) = started().await;
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    for (requested, settled) in
        [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")]
    {
        let params = json!({"protocolVersion": requested, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
        let answer = plain_call(&gateway, "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], settled);
        assert_eq!(answer["result"]["capabilities"]["tools"], json!({"listChanged": true}));
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolrail");
    }
    let list = legacy_call(&gateway, "tools/list", json!({})).await;
    let tool = &list["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["description"]), (&json!("weather.search"), &json!("查询天气")));
    assert_eq!(tool["inputSchema"]["required"], json!(["city"]));
    assert!(list["result"].get("resultType").is_none(), "{list}");

    let call =
        json!({"name": "weather.search", "arguments": {"city": "上海"}, "_meta": {"progressToken": "t"}});
    let answer = legacy_call(&gateway, "tools/call", call).await;
    let result = &answer["result"];
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["query"], "q=%E4%B8%8A%E6%B5%B7");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "the text is the same JSON");
}

#[tokio::test]
async fn params_may_be_left_out() {
    let (gateway, _upstream) = started().await;
    let answer =
        post(&gateway, &[], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await.json().unwrap();
    assert_eq!(answer["result"]["tools"], json!([]));
}

/// Modern clients: discovery, result type, server information, caching, and the same call.
#[tokio::test]
async fn modern_clients_discover_list_and_call() {
    let (gateway, upstream) = started().await;
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    let discovered = modern(&gateway, "server/discover", json!({})).await.json().unwrap();
    let result = &discovered["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["resultType"], "complete");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
    assert_eq!(result["_meta"][format!("{META}serverInfo")]["name"], "toolrail");

    let list = modern(&gateway, "tools/list", json!({})).await.json().unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "weather.search");
    assert_eq!(list["result"]["resultType"], "complete");
    let call =
        modern(&gateway, "tools/call", json!({"name": "weather.search", "arguments": {"city": "x"}})).await;
    let call = call.json().unwrap();
    assert_eq!((&call["id"], &call["result"]["structuredContent"]["query"]), (&json!(7), &json!("q=x")));
    assert_eq!(call["result"]["resultType"], "complete");
    let described =
        modern(&gateway, "tools/describe", json!({"name": "weather.search"})).await.json().unwrap();
    assert_eq!(described["result"]["inputSchema"]["required"], json!(["city"]));
}

#[tokio::test]
async fn modern_requests_that_break_the_rules_get_their_status_and_code() {
    let (gateway, _upstream) = started().await;
    let meta =
        json!({format!("{META}protocolVersion"): "2026-07-28", format!("{META}clientCapabilities"): {}});
    let old =
        json!({format!("{META}protocolVersion"): "1900-01-01", format!("{META}clientCapabilities"): {}});
    let lacking = json!({format!("{META}protocolVersion"): "2026-07-28"});
    let version = ("mcp-protocol-version", "2026-07-28");
    let cases: &[Case<'_>] = &[
        (&[version, ("mcp-method", "nope")], "nope", &meta, 404, -32601),
        (&[version, ("mcp-method", "ping")], "ping", &meta, 404, -32601),
        (&[("mcp-method", "tools/list")], "tools/list", &meta, 400, -32020),
        (&[version], "tools/list", &meta, 400, -32020),
        (&[version, ("mcp-method", "tools/call")], "tools/list", &meta, 400, -32020),
        (&[version, ("mcp-method", "tools/call")], "tools/call", &meta, 400, -32020),
        (&[("mcp-protocol-version", "1900-01-01")], "tools/list", &old, 400, -32022),
        (&[version, ("mcp-method", "tools/list")], "tools/list", &lacking, 400, -32602),
    ];
    for (headers, method, meta, status, code) in cases {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "a", "_meta": meta}});
        let reply = post(&gateway, headers, body.to_string()).await;
        let told = reply.json().unwrap()["error"].clone();
        assert_eq!((reply.status, &told["code"]), (*status, &json!(code)), "{headers:?} {method} -> {told}");
        if *code == -32022 {
            assert!(told["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
        }
    }
}

/// C5: an unknown or disabled tool is −32602 for clients of the standard and −32601 for plain ones (R15).
#[tokio::test]
async fn an_unknown_tool_is_told_in_the_clients_dialect() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("echo", &upstream.url("/echo"))).await;
    let params = json!({"name": "ecko", "arguments": {}});
    let plain = plain_call(&gateway, "tools/call", params.clone()).await;
    assert_eq!(plain["error"]["code"], -32601);
    assert!(plain["error"]["message"].as_str().unwrap().contains("did you mean \"echo\""), "{plain}");
    assert_eq!(legacy_call(&gateway, "tools/call", params.clone()).await["error"]["code"], -32602);
    let reply = modern(&gateway, "tools/call", params).await;
    assert_eq!((reply.status, reply.json().unwrap()["error"]["code"].clone()), (200, json!(-32602)));
    gateway.delete("/admin/tools/echo").await.unwrap();
    assert_eq!(legacy_call(&gateway, "tools/call", json!({"name": "echo"})).await["error"]["code"], -32602);
}

/// R26, C9: names are looked up exactly and then in any case.
#[tokio::test]
async fn names_are_found_in_any_case() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("Echo.It", &upstream.url("/echo"))).await;
    let answer = plain_call(&gateway, "tools/call", json!({"name": "echo.IT"})).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

/// R9, C10: `tools/describe` is an extension.
#[tokio::test]
async fn a_tool_can_be_described() {
    let (gateway, upstream) = started().await;
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    let answer = plain_call(&gateway, "tools/describe", json!({"name": "weather.search"})).await;
    assert_eq!(answer["result"]["name"], "weather.search");
    assert_eq!(plain_call(&gateway, "tools/describe", json!({"name": "x"})).await["error"]["code"], -32601);
}

/// C6, C7, R19: bad arguments and failures are results that the model can read.
#[tokio::test]
async fn failures_are_error_results() {
    let (gateway, upstream) = started().await;
    register(&gateway, &weather("weather.search", &upstream.url("/status/503"))).await;
    let bad =
        legacy_call(&gateway, "tools/call", json!({"name": "weather.search", "arguments": {"city": 5}}))
            .await;
    assert_eq!(bad["result"]["isError"], true);
    assert_eq!(bad["result"]["_meta"]["toolrail/code"], "INVALID_ARGUMENTS");
    assert!(bad["result"]["content"][0]["text"].as_str().unwrap().contains("/city"), "{bad}");
    let params = json!({"name": "weather.search", "arguments": {"city": "x"}});
    let failed = modern(&gateway, "tools/call", params).await.json().unwrap();
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"]["_meta"]["toolrail/code"], "UPSTREAM_STATUS");
    assert_eq!(failed["result"]["_meta"][format!("{META}serverInfo")]["name"], "toolrail");
    assert!(failed["result"]["content"][0]["text"].as_str().unwrap().contains("503"), "{failed}");
}

/// R13: answers of every sort become their content blocks; for legacy clients structured content is an object.
#[tokio::test]
async fn answers_become_content_of_their_sort() {
    let (gateway, upstream) = started().await;
    upstream.answer("/list", Canned::json(200, &json!([1, 2])));
    for (name, path) in
        [("list", "/list"), ("text", "/text"), ("image", "/image"), ("audio", "/audio"), ("pdf", "/pdf")]
    {
        register(&gateway, &plain(name, &upstream.url(path))).await;
    }
    let list = legacy_call(&gateway, "tools/call", json!({"name": "list"})).await;
    assert_eq!(list["result"]["structuredContent"], json!({"result": [1, 2]}));
    assert_eq!(list["result"]["content"][0]["text"], "[1,2]");
    let list = modern(&gateway, "tools/call", json!({"name": "list"})).await.json().unwrap();
    assert_eq!(list["result"]["structuredContent"], json!([1, 2]));
    for (name, kind) in [("text", "text"), ("image", "image"), ("audio", "audio"), ("pdf", "resource")] {
        let answer = legacy_call(&gateway, "tools/call", json!({"name": name})).await;
        assert_eq!(answer["result"]["content"][0]["type"], kind, "{answer}");
    }
}

/// The headers that repeat arguments must agree with them.
#[tokio::test]
async fn header_params_are_checked() {
    let (gateway, upstream) = started().await;
    let mut definition = weather("weather.search", &upstream.url("/echo"));
    definition["inputSchema"]["properties"]["city"]["x-mcp-header"] = "City".into();
    register(&gateway, &definition).await;
    let meta =
        json!({format!("{META}protocolVersion"): "2026-07-28", format!("{META}clientCapabilities"): {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "weather.search", "arguments": {"city": "上海"}, "_meta": meta}});
    for (city, good) in [(Some("=?base64?5LiK5rW3?="), true), (Some("Beijing"), false), (None, false)] {
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "weather.search"),
        ];
        headers.extend(city.map(|city| ("mcp-param-city", city)));
        let reply = post(&gateway, &headers, body.to_string()).await;
        let answer = reply.json().unwrap();
        let expected = if good { (200, Value::Null) } else { (400, json!(-32020)) };
        assert_eq!((reply.status, answer["error"]["code"].clone()), expected, "{city:?} -> {answer}");
    }
}

/// R31: a client that goes away cancels its call, up to the upstream.
#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("slow", &upstream.url("/slow/15000"))).await;
    let call = plain_call(&gateway, "tools/call", json!({"name": "slow"}));
    let gone = tokio::time::timeout(Duration::from_millis(700), call).await;
    assert!(gone.is_err(), "the call is still under way when the client leaves");
    wait_until("the upstream sees the call end", Duration::from_secs(5), async || {
        (upstream.abandoned() > 0).then_some(())
    })
    .await
    .unwrap();
}

/// A list may be walked page by page, in a fixed order.
#[tokio::test]
async fn lists_are_paged() {
    let gateway = crate::support::gateway().args(["--page-size", "3"]).start().await.unwrap();
    let tools: Vec<Value> = (0..8).map(|n| plain(&format!("tool{n}"), "http://127.0.0.1:1/")).collect();
    let reply = gateway.post_json("/admin/tools/batch", &json!({"tools": tools})).await.unwrap();
    assert!((200..300).contains(&reply.status), "{}", reply.text());
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = plain_call(&gateway, "tools/list", params).await["result"].clone();
        names.extend(
            page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let expected: Vec<String> = (0..8).map(|n| format!("tool{n}")).collect();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_resource_that_its_service_does_not_have_is_unknown_in_the_words_of_each_revision() {
    let (gateway, service) = started().await;
    let url = service.url("/status/{{args.code}}");
    let resource = json!({"uriTemplate": "docs://{code}", "http": {"url": url}});
    register(&gateway, &json!({"name": "pages", "resource": resource})).await;
    for uri in ["docs://404", "docs://410"] {
        let modern = modern(&gateway, "resources/read", json!({"uri": uri})).await.json().unwrap();
        let legacy = legacy_call(&gateway, "resources/read", json!({"uri": uri})).await;
        for (answer, code) in [(modern, -32602), (legacy, -32002)] {
            let error = &answer["error"];
            assert_eq!((&error["code"], &error["data"]), (&json!(code), &json!({"uri": uri})), "{answer}");
        }
    }
    let broken = legacy_call(&gateway, "resources/read", json!({"uri": "docs://500"})).await;
    assert_eq!(broken["error"]["data"], json!({"code": "UPSTREAM_STATUS"}), "{broken}");
}
