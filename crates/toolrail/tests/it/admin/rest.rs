//! `/mcp/tools` and `/mcp/tools/call` (R80, R81, R87, R88, R90, R91, R98, R102, R155).

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};
use toolrail_testkit::{Canned, Gateway, Upstream};

use crate::support::{
    BINARY, assert_failed, call, echo_tool, gateway_and_upstream, get_tool, listed, register_all,
};

#[tokio::test]
async fn the_eight_step_flow_of_r155_works() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let definition = echo_tool("demo.echo", &upstream);
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());

    let wrapped = json!({"name": "demo.echo", "enabled": true, "configJson": definition});
    let registered = gateway.post_json("/admin/tools", &wrapped).await?;
    assert_eq!((registered.status, &registered.json()?["ok"]), (200, &json!(true)));
    assert_eq!(listed(&gateway).await?, ["demo.echo"]);

    let answer = call(&gateway, "demo.echo", json!({"q": "hello"})).await?;
    assert_eq!((answer.status, &answer.json()?["ok"]), (200, &json!(true)));
    assert_eq!(answer.json()?["result"]["query"], "q=hello");

    let removed = gateway.delete("/admin/tools/demo.echo").await?;
    assert_eq!((removed.status, &removed.json()?["ok"]), (200, &json!(true)));
    assert_eq!(listed(&gateway).await?, Vec::<String>::new());
    assert_failed(
        &call(&gateway, "demo.echo", json!({"q": "hello"})).await?,
        404,
        "NOT_FOUND",
        "switched off",
    );

    gateway.post_json("/admin/tools", &wrapped).await?;
    assert_eq!(listed(&gateway).await?, ["demo.echo"]);
    assert_eq!(call(&gateway, "demo.echo", json!({"q": "again"})).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn r80_the_list_has_name_description_and_input_schema() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let definition = echo_tool("demo.echo", &upstream);
    register_all(&gateway, std::slice::from_ref(&definition)).await?;
    let body = gateway.get("/mcp/tools").await?.json()?;
    let tool = &body["tools"][0];
    assert_eq!(tool["name"], "demo.echo");
    assert_eq!(tool["description"], definition["description"]);
    assert_eq!(tool["inputSchema"], definition["inputSchema"]);
    assert_eq!(tool.get("http"), None, "how a tool is carried out is nobody's business");
    Ok(())
}

#[tokio::test]
async fn the_list_can_be_narrowed_by_words_category_and_tag() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let tool = |name: &str, description: &str, category: &str, tags: &[&str]| {
        let mut definition = get_tool(name, &upstream.url("/text"));
        definition["description"] = description.into();
        definition["category"] = category.into();
        definition["tags"] = json!(tags);
        definition
    };
    register_all(
        &gateway,
        &[
            tool("weather.now", "The sky over a City", "weather", &["天气", "Sky"]),
            tool("weather.later", "The days to come", "weather", &["sky"]),
            tool("user.get", "Who lives in a city", "users", &[]),
        ],
    )
    .await?;
    for (query, expected) in [
        ("", &["user.get", "weather.later", "weather.now"][..]),
        ("?q=CITY", &["user.get", "weather.now"]),
        ("?q=city+sky", &["weather.now"]),
        ("?q=%E5%A4%A9%E6%B0%94", &["weather.now"]),
        ("?q=nothing", &[]),
        ("?category=Weather", &["weather.later", "weather.now"]),
        ("?tag=sky", &["weather.later", "weather.now"]),
        ("?tag=sky&q=days", &["weather.later"]),
    ] {
        let body = gateway.get(&format!("/mcp/tools{query}")).await?.json()?;
        let names: Vec<&str> =
            body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{query}");
    }
    assert_failed(
        &gateway.get("/mcp/tools?kind=http").await?,
        400,
        "INVALID_REQUEST",
        "known here: q, category, tag",
    );
    Ok(())
}

#[tokio::test]
async fn an_upstreams_json_is_passed_through_as_it_is() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let text = "{\"z\":1.50,\"a\":[9007199254740993,{\"b\":null}],\"text\":\"a\\u00e9\"}";
    upstream.answer(
        "/raw",
        Canned {
            status: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            body: text.into(),
        },
    );
    register_all(&gateway, &[get_tool("raw", &upstream.url("/raw"))]).await?;
    let answer = call(&gateway, "raw", json!({})).await?;
    assert_eq!(answer.text(), format!("{{\"ok\":true,\"result\":{text}}}"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    Ok(())
}

#[tokio::test]
async fn results_that_are_not_json_have_their_own_forms() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let canned = |path: &str, status, kind: &str, body: &'static [u8]| {
        let headers =
            if kind.is_empty() { vec![] } else { vec![("content-type".to_owned(), kind.to_owned())] };
        upstream.answer(path, Canned { status, headers, body: Bytes::from_static(body) });
    };
    canned("/t", 200, "text/plain", b"a \"text\"");
    canned("/i", 200, "image/png", b"\x89PNG");
    canned("/b", 200, "application/pdf", b"%PDF");
    canned("/e", 204, "", b"");
    let names = ["t", "i", "b", "e"];
    register_all(&gateway, &names.map(|name| get_tool(name, &upstream.url(&format!("/{name}"))))).await?;
    for (name, expected) in [
        ("t", json!("a \"text\"")),
        ("i", json!({"content": [{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]})),
        (
            "b",
            json!({"content": [{"type": "resource", "resource": {
                "uri": upstream.url("/b"), "mimeType": "application/pdf", "blob": "JVBERg=="}}]}),
        ),
        ("e", Value::Null),
    ] {
        let body = call(&gateway, name, json!({})).await?.json()?;
        assert_eq!(body, json!({"ok": true, "result": expected}), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_that_was_cut_says_so_in_notes() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    let mut definition = get_tool("long", &upstream.url("/bytes/5000"));
    definition["http"]["maxResponseBytes"] = json!(1000);
    definition["http"]["url"] = upstream.url("/long").into();
    upstream.answer("/long", Canned::new(200, "text/plain", "x".repeat(5000)));
    register_all(&gateway, &[definition]).await?;
    let body = call(&gateway, "long", json!({})).await?.json()?;
    assert_eq!(body["result"].as_str().unwrap().len(), 1000);
    assert!(body["notes"][0].as_str().unwrap().contains("1000"), "{body}");
    Ok(())
}

#[tokio::test]
async fn c1_the_tool_may_be_named_by_tool_or_name_in_any_case() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("Demo.Echo", &upstream)]).await?;
    for body in [
        json!({"tool": "Demo.Echo", "arguments": {"q": "x"}}),
        json!({"name": "Demo.Echo", "arguments": {"q": "x"}}),
        json!({"tool": "demo.echo", "name": "demo.echo", "arguments": {"q": "x"}}),
    ] {
        let reply = gateway.post_json("/mcp/tools/call", &body).await?;
        assert_eq!(reply.status, 200, "{body}: {}", reply.text());
    }
    let both = json!({"tool": "a", "name": "b"});
    assert_failed(
        &gateway.post_json("/mcp/tools/call", &both).await?,
        400,
        "INVALID_REQUEST",
        "send one of them",
    );
    Ok(())
}

#[tokio::test]
async fn r91_every_failure_of_a_call_has_its_code_and_status() -> Result<()> {
    let (gateway, mut upstream) = gateway_and_upstream().await?;
    let gone = Upstream::start().await?;
    let mut slow = get_tool("slow", &upstream.url("/slow/5000"));
    slow["http"]["timeoutMs"] = json!(50);
    let mut secret = get_tool("secret", &upstream.url("/echo"));
    secret["http"]["headers"] = json!({"X-Key": "{{secrets.NOBODY_SET_THIS}}"});
    let mut mapped = get_tool("mapped", &upstream.url("/echo"));
    mapped["responseMapping"] = json!({"type": "template", "template": "{{ result.nope }}"});
    let mut place = echo_tool("place", &upstream);
    place["http"]["url"] = json!(format!("{}/{{{{args.q}}}}", upstream.url("/echo")));
    register_all(
        &gateway,
        &[
            echo_tool("demo.echo", &upstream),
            get_tool("missing", &upstream.url("/status/404")),
            get_tool("gone", &gone.url("/")),
            slow,
            secret,
            mapped,
            place,
        ],
    )
    .await?;
    let mut gone = gone;
    gone.stop().await;
    for (tool, arguments, status, code, part) in [
        ("demo.ecko", json!({}), 404, "NOT_FOUND", "did you mean \"demo.echo\"?"),
        ("something else", json!({}), 404, "NOT_FOUND", "GET /mcp/tools lists them"),
        ("demo.echo", json!({}), 400, "INVALID_ARGUMENTS", "\"q\" is required"),
        ("demo.echo", json!({"q": 1}), 400, "INVALID_ARGUMENTS", "/q"),
        ("demo.echo", json!([1]), 400, "INVALID_ARGUMENTS", "must be a JSON object"),
        ("missing", json!({}), 502, "UPSTREAM_STATUS", "404"),
        ("gone", json!({}), 502, "UPSTREAM_UNREACHABLE", "127.0.0.1"),
        ("slow", json!({}), 504, "TIMEOUT", "50"),
        ("secret", json!({}), 500, "SECRET_MISSING", "TOOLRAIL_SECRET_NOBODY_SET_THIS"),
        ("secret", json!({}), 500, "SECRET_MISSING", "secret: /http/headers/X-Key: the secret"),
        ("mapped", json!({}), 502, "UPSTREAM_INVALID", "mapped: /responseMapping/template: "),
        ("place", json!({"q": ".."}), 400, "INVALID_ARGUMENTS", "place: /http/url: the argument \"q\""),
        ("demo.echo", json!({"qq": "x"}), 400, "INVALID_ARGUMENTS", "did you mean \"q\"?"),
    ] {
        let reply = call(&gateway, tool, arguments).await?;
        assert_failed(&reply, status, code, part);
    }
    upstream.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_malformed_request_is_told_what_is_wrong() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    for (body, part) in [
        ("", "the body is empty"),
        ("{\"tool\":", "not valid JSON"),
        ("[\"x\"]", "must be a JSON object"),
        ("{\"tool\":1}", "right form"),
        ("{}", "\"tool\" is missing"),
        ("{\"tool\":\"x\",\"args\":{}}", "unknown field `args`"),
    ] {
        let request = Request::post("/mcp/tools/call").body(Full::new(Bytes::from(body)))?;
        assert_failed(&gateway.request(request).await?, 400, "INVALID_REQUEST", part);
    }
    Ok(())
}

#[tokio::test]
async fn a_content_type_that_is_wrong_or_missing_is_tolerated() -> Result<()> {
    let (gateway, upstream) = gateway_and_upstream().await?;
    register_all(&gateway, &[echo_tool("demo.echo", &upstream)]).await?;
    for kind in ["application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8"] {
        let body = json!({"tool": "demo.echo", "arguments": {"q": "x"}}).to_string();
        let request =
            Request::post("/mcp/tools/call").header("content-type", kind).body(Full::new(body.into()))?;
        assert_eq!(gateway.request(request).await?.status, 200, "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    let body = format!("{{\"tool\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    let request = Request::post("/mcp/tools/call").body(Full::new(Bytes::from(body)))?;
    assert_failed(&gateway.request(request).await?, 413, "TOO_LARGE", "4 MiB");
    Ok(())
}

#[tokio::test]
async fn a_wrong_path_or_method_is_told_where_things_are() -> Result<()> {
    let (gateway, _upstream) = gateway_and_upstream().await?;
    assert_failed(&gateway.get("/tools").await?, 404, "NOT_FOUND", "GET /mcp/tools");
    assert_failed(&gateway.get("/admin/nothing").await?, 404, "NOT_FOUND", "/admin/tools");
    let reply = gateway.delete("/mcp/tools").await?;
    assert_failed(&reply, 405, "INVALID_REQUEST", "does not take DELETE");
    assert_eq!(reply.header("allow"), Some("GET,HEAD"));
    Ok(())
}

#[tokio::test]
async fn a_list_of_many_pages_is_one_list_over_rest() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.json");
    std::fs::write(&config, "{\"pageSize\": 2}")?;
    let upstream = Upstream::start().await?;
    let gateway = Gateway::builder(BINARY).arg("--config").arg(&config).start().await?;
    for expected in [&["a"][..], &["a", "b"], &["a", "b", "c", "d", "e"]] {
        let definitions: Vec<Value> = expected.iter().map(|name| echo_tool(name, &upstream)).collect();
        register_all(&gateway, &definitions).await?;
        assert_eq!(listed(&gateway).await?, expected);
    }
    let first = gateway.mcp("tools/list", json!({})).await?.json()?;
    assert_eq!(first["result"]["tools"].as_array().map(Vec::len), Some(2), "{first}");
    Ok(())
}
