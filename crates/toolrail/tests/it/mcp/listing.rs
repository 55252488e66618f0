//! How tools are listed: in full, behind the search, or as their number has it; for every client.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, GatewayBuilder, Stdio, WebSocket, wait_until};

use crate::support::{BINARY, gateway, get_tool, register, register_all, run_in, send};

/// A gateway with those tools, of which those with `!` want to be listed and those with `?` do not.
async fn with_tools(builder: GatewayBuilder, tools: &[&str]) -> Result<Gateway> {
    let gateway = builder.start().await?;
    let definitions: Vec<Value> = tools.iter().map(|tool| definition(tool)).collect();
    register_all(&gateway, &definitions).await?;
    Ok(gateway)
}

fn definition(tool: &str) -> Value {
    let mut definition = get_tool(tool.trim_end_matches(['!', '?']), "http://127.0.0.1:1/");
    if tool.ends_with(['!', '?']) {
        definition["deferLoading"] = tool.ends_with('?').into();
    }
    definition
}

fn names(result: &Value) -> Vec<&str> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn legacy(gateway: &Gateway, method: &str, params: Value) -> Result<Value> {
    let headers = [("mcp-protocol-version", "2025-11-25")];
    let reply = send(gateway, "POST /mcp", &headers, &request(method, &params)).await?;
    Ok(reply.json()?["result"].clone())
}

async fn modern(gateway: &Gateway, method: &str, mut params: Value) -> Result<Value> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let reply = send(gateway, "POST /mcp", &headers, &request(method, &params)).await?;
    Ok(reply.json()?["result"].clone())
}

#[tokio::test]
async fn search_lists_few_and_tells_how_many_there_are() -> Result<()> {
    let gateway = with_tools(gateway().args(["--listing", "search"]), &["a", "b!", "c?", "d"]).await?;
    let counts = json!({"total": 4, "listed": 1, "hidden": 3, "mode": "search", "listing": "search"});
    let list = legacy(&gateway, "tools/list", json!({})).await?;
    assert_eq!((names(&list), &list["_meta"]), (vec!["b"], &json!({"toolrail/tools": counts})));
    let list = modern(&gateway, "tools/list", json!({})).await?;
    assert_eq!((names(&list), &list["_meta"]["toolrail/tools"]), (vec!["b"], &counts));
    assert!(list["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(), "{list}");
    let list = gateway.mcp("tools/list", json!({})).await?.json()?["result"].clone();
    assert_eq!((names(&list), &list["_meta"]["toolrail/tools"]), (vec!["b"], &counts));
    let mut socket = WebSocket::connect(&format!("{}/mcp/ws", gateway.url()), &[]).await?;
    let list = socket.call("tools/list", json!({})).await?;
    assert_eq!(list["result"], json!({"tools": list["result"]["tools"]}), "the plain dialect stays as it is");
    assert_eq!(names(&list["result"]), ["b"]);
    // What is not listed is called all the same.
    let called = gateway.mcp("tools/call", json!({"name": "a"})).await?.json()?;
    assert_eq!(called["error"]["data"]["code"], "UPSTREAM_UNREACHABLE", "{called}");
    let rest = gateway.get("/mcp/tools").await?.json()?;
    assert_eq!(names(&rest).len(), 4, "REST lists what there is");
    Ok(())
}

#[tokio::test]
async fn instructions_say_how_to_find_what_is_not_listed() -> Result<()> {
    let gateway = with_tools(gateway().discovery().args(["--listing", "search"]), &["a", "b"]).await?;
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let told = legacy(&gateway, "initialize", params).await?;
    let instructions = told["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("2 tools are behind search_tools"), "{instructions}");
    let told = modern(&gateway, "server/discover", json!({})).await?;
    assert_eq!(told["instructions"], instructions);
    Ok(())
}

const DISCOVERY: [&str; 6] = [
    "search_tools",
    "get_tool_definition",
    "list_tools_by_category",
    "register_tool",
    "unregister_tool",
    "search_hot_tools",
];

/// Every name over all pages.
async fn all(gateway: &Gateway) -> Result<Vec<String>> {
    let (mut all, mut params) = (Vec::new(), json!({}));
    loop {
        let page = modern(gateway, "tools/list", params).await?;
        all.extend(names(&page).into_iter().map(str::to_owned));
        if page["nextCursor"].is_null() {
            return Ok(all);
        }
        params = json!({"cursor": page["nextCursor"]});
    }
}

/// R59 to R69: the discovery tools come after the listed ones; `call_tool` only where something is hidden.
#[tokio::test]
async fn discovery_tools_come_after_the_listed_ones() -> Result<()> {
    for (mode, listed, calls) in [("full", vec!["a", "zebra"], false), ("search", vec!["zebra"], true)] {
        let arguments = ["--listing", mode, "--page-size", "2"];
        let gateway = with_tools(gateway().discovery().args(arguments), &["a", "zebra!"]).await?;
        let found = all(&gateway).await?;
        let (tools, built_in) = found.split_at(listed.len());
        assert_eq!(tools, listed, "{mode}");
        let mut built_in: Vec<&str> = built_in.iter().map(String::as_str).collect();
        built_in.sort_unstable();
        let mut expected: Vec<&str> = DISCOVERY.into_iter().chain(calls.then_some("call_tool")).collect();
        expected.sort_unstable();
        assert_eq!(built_in, expected, "{mode}: each of them once, over all pages");
        assert_eq!(
            names(&gateway.get("/mcp/tools").await?.json()?),
            ["a", "zebra"],
            "REST counts tools only"
        );
        let counts = legacy(&gateway, "tools/list", json!({})).await?["_meta"]["toolrail/tools"].clone();
        assert_eq!((&counts["total"], &counts["listed"]), (&json!(2), &json!(listed.len())));
    }
    Ok(())
}

#[tokio::test]
async fn without_discovery_there_is_no_tool_to_find_others_with() -> Result<()> {
    let gateway = with_tools(gateway(), &["a"]).await?;
    assert_eq!(all(&gateway).await?, ["a"]);
    let call = json!({"name": "search_tools", "arguments": {"query": "a"}});
    let refused = gateway.mcp("tools/call", call).await?.json()?;
    assert_eq!(refused["error"]["message"], "unknown tool \"search_tools\"");
    let call = json!({"tool": "search_tools", "arguments": {"query": "a"}});
    assert_eq!(gateway.post_json("/mcp/tools/call", &call).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn auto_lists_all_until_there_are_too_many_and_tells_those_who_follow() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.yaml");
    std::fs::write(&config, "listing: {mode: auto, threshold: 3, pinned: [C, nothing]}\npageSize: 2\n")?;
    let gateway = with_tools(gateway().arg("--config").arg(&config), &["a", "b", "c", "late?"]).await?;
    let counts = async || -> Result<Value> {
        Ok(modern(&gateway, "tools/list", json!({})).await?["_meta"]["toolrail/tools"].clone())
    };
    assert_eq!(all(&gateway).await?, ["a", "b", "c"]);
    assert_eq!(
        counts().await?,
        json!({"total": 4, "listed": 3, "hidden": 1, "mode": "auto", "listing": "full"})
    );
    let mut socket = WebSocket::connect(&format!("{}/mcp/ws", gateway.url()), &[]).await?;
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    socket.call("initialize", params).await?;
    register(&gateway, &definition("d")).await;
    let told = socket.receive().await?;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(all(&gateway).await?, ["c"], "only what is pinned");
    assert_eq!(
        counts().await?,
        json!({"total": 5, "listed": 1, "hidden": 4, "mode": "auto", "listing": "search"})
    );
    gateway.delete("/admin/tools/d").await?;
    assert_eq!(all(&gateway).await?, ["a", "b", "c"]);
    Ok(())
}

/// R72, R76: a tool that is only described is found, but nobody could call it from a list.
#[tokio::test]
async fn described_tools_are_not_listed_to_clients_of_mcp() -> Result<()> {
    let gateway = with_tools(gateway(), &["a"]).await?;
    let described = json!({"name": "elsewhere", "description": "Lives elsewhere", "type": "metadata", "metadata": {"mcpServer": "far"}});
    register(&gateway, &described).await;
    let list = modern(&gateway, "tools/list", json!({})).await?;
    assert_eq!(names(&list), ["a"]);
    let counts =
        json!({"total": 1, "listed": 1, "hidden": 0, "mode": "full", "listing": "full", "described": 1});
    assert_eq!(list["_meta"]["toolrail/tools"], counts);
    assert_eq!(names(&gateway.get("/mcp/tools").await?.json()?), ["a", "elsewhere"]);
    Ok(())
}

#[tokio::test]
async fn stdio_lists_as_it_is_told_to() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools)?;
    std::fs::write(tools.join("a.json"), json!([definition("a"), definition("b!")]).to_string())?;
    let (data, tools) = (folder.path().join("data"), tools.to_str().unwrap().to_owned());
    let arguments = ["stdio", "--data", data.to_str().unwrap(), "--tools", &tools, "--listing", "search"];
    let mut stdio = Stdio::spawn(BINARY, arguments)?;
    let list = stdio.call("tools/list", json!({})).await?["result"].clone();
    assert_eq!(names(&list), ["b"]);
    assert_eq!(list["_meta"]["toolrail/tools"]["hidden"], 1);
    stdio.said("2 tools at /mcp, 1 of them listed (mode search)").await?;
    assert!(stdio.finish().await?.success());
    Ok(())
}

#[tokio::test]
async fn a_very_long_list_is_warned_of_once() -> Result<()> {
    let gateway = gateway().start().await?;
    let tools: Vec<Value> = (0..201).map(|number| definition(&format!("tool{number}"))).collect();
    register_all(&gateway, &tools).await?;
    let told = || gateway.stderr().matches("every client is shown a long list").count();
    assert_eq!(told(), 0);
    for _ in 0..2 {
        assert_eq!(names(&legacy(&gateway, "tools/list", json!({})).await?).len(), 201);
    }
    wait_until("the warning", Duration::from_secs(10), async || (told() > 0).then_some(())).await?;
    assert_eq!(told(), 1, "{}", gateway.stderr());
    Ok(())
}

#[tokio::test]
async fn a_way_to_list_that_there_is_not_is_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let refused = run_in(folder.path(), &["serve", "--listing", "serach"]).await?;
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("full, search, auto"), "{}", refused.stderr);
    Ok(())
}
