//! `call_tool`: whatever asks, the real tool is called, and nothing behind the face sees the detour.

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Upstream, WebSocket};

use crate::support::{gateway, register, run_in, send, standard, weather};

async fn started() -> Result<(Gateway, Upstream)> {
    let upstream = Upstream::start().await?;
    let gateway = gateway().discovery().start().await?;
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    Ok((gateway, upstream))
}

fn inner(arguments: Value) -> Value {
    json!({"name": "call_tool", "arguments": {"name": "weather.search", "arguments": arguments}})
}

#[tokio::test]
async fn the_real_tool_answers_over_every_face() -> Result<()> {
    let (gateway, _upstream) = started().await?;
    // Models write objects as texts.
    for arguments in [json!({"city": "x"}), json!("{\"city\": \"x\"}")] {
        let called = gateway.mcp("tools/call", inner(arguments)).await?.json()?;
        assert_eq!(called["result"]["structuredContent"]["query"], "q=x", "{called}");
    }
    let rest = gateway.post_json("/mcp/tools/call", &inner(json!({"city": "x"}))).await?;
    assert_eq!(rest.json()?["result"]["query"], "q=x", "{}", rest.text());
    let url = format!("{}/mcp/ws", gateway.url().replacen("http", "ws", 1));
    let mut socket = WebSocket::connect(&url, &[]).await?;
    let params =
        json!({"tool": "call_tool", "arguments": {"name": "weather.search", "arguments": {"city": "x"}}});
    let plain = socket.call("tools/call", params).await?;
    assert_eq!(plain["result"]["content"]["query"], "q=x", "{plain}");
    let shown = json!({"name": "get_tool_definition", "arguments": {"tool_name": "weather.search"}});
    let shown = gateway.mcp("tools/call", shown).await?.json()?;
    let shown = &shown["result"]["structuredContent"];
    assert_eq!((&shown["use_frequency"], &shown["callable"]), (&json!(4), &json!(true)), "{shown}");
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_with_the_inner_call_is_told_to_the_model() -> Result<()> {
    let (gateway, _upstream) = started().await?;
    for (arguments, told) in [
        (json!({}), "\"name\" is missing"),
        (json!({"name": "call_tool"}), "cannot call itself"),
        (json!({"name": "weather.serch"}), "weather.search"),
        (json!({"name": "weather.search", "city": "x"}), "into \"arguments\""),
        (json!({"name": "weather.search", "arguments": [1]}), "must be an object"),
        (json!({"name": "weather.search", "arguments": "{"}), "must be an object"),
        (json!({"name": "weather.search"}), "input schema of weather.search"),
    ] {
        let params = json!({"name": "call_tool", "arguments": arguments});
        let called = standard(&gateway, "tools/call", params).await?;
        assert_eq!(called["result"]["isError"], true, "{called}");
        let text = called["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(told), "{arguments}: {text}");
    }
    Ok(())
}

/// A client that calls through `call_tool` has not seen which arguments are to be repeated; what it repeats must agree.
#[tokio::test]
async fn a_modern_client_need_not_repeat_the_arguments_of_the_inner_call() -> Result<()> {
    let (gateway, upstream) = started().await?;
    let mut definition = weather("weather.search", &upstream.url("/echo"));
    definition["inputSchema"]["properties"]["city"]["x-mcp-header"] = "City".into();
    register(&gateway, &definition).await;
    let mut params = inner(json!({"city": "x"}));
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "call_tool")];
    let called = send(&gateway, "POST /mcp", &headers, &body).await?.json()?;
    assert_eq!(called["result"]["structuredContent"]["query"], "q=x", "{called}");
    let wrong = [&headers[..], &[("mcp-param-city", "y")]].concat();
    let refused = send(&gateway, "POST /mcp", &wrong, &body).await?.json()?;
    assert!(refused["error"]["message"].as_str().unwrap().contains("Mcp-Param-City"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_definition_of_the_name_is_called_itself() -> Result<()> {
    let (gateway, upstream) = started().await?;
    register(&gateway, &weather("call_tool", &upstream.url("/echo"))).await;
    let called = gateway.mcp("tools/call", json!({"name": "call_tool", "arguments": {"city": "y"}})).await?;
    assert_eq!(called.json()?["result"]["structuredContent"]["query"], "q=y");
    Ok(())
}

#[tokio::test]
async fn the_command_line_calls_through_it() -> Result<()> {
    let (gateway, _upstream) = started().await?;
    let folder = tempfile::tempdir()?;
    let arguments = json!({"name": "weather.search", "arguments": {"city": "x"}}).to_string();
    let ran =
        run_in(folder.path(), &["tools", "call", "call_tool", "--args", &arguments, "--url", gateway.url()])
            .await?;
    assert!(ran.code == Some(0) && ran.stdout.contains("q=x"), "{}{}", ran.stdout, ran.stderr);
    Ok(())
}
