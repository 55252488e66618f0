//! Groups: `/mcp/{group}` serves a chosen part of the tools, over every transport.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_testkit::{Gateway, RawConnection, Stdio, Upstream, WebSocket, wait_until};

use crate::support::{BINARY, assert_failed, gateway, get_tool, register_all, run_in, send};

const CONFIG: &str = "
groups:
  git: {patterns: ['git.*'], description: Works on repositories.}
  sky: {tags: [Weather], categories: [SKY], tools: [Clock], listing: search, pinned: [clock]}
  nothing: {tools: [there.is.none]}
";

/// A folder with a configuration.
fn configured(text: &str) -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("toolrail.yaml");
    std::fs::write(&config, text)?;
    Ok((folder, config))
}

async fn grouped() -> Result<(Gateway, Upstream, TempDir)> {
    let (folder, config) = configured(CONFIG)?;
    let upstream = Upstream::start().await?;
    let gateway = gateway().arg("--config").arg(&config).start().await?;
    register_all(&gateway, &tools(&upstream)).await?;
    Ok((gateway, upstream, folder))
}

fn tools(upstream: &Upstream) -> Vec<Value> {
    let tool = |name: &str, more: Value| {
        let mut tool = get_tool(name, &upstream.url("/echo"));
        for (key, value) in more.as_object().unwrap() {
            tool[key] = value.clone();
        }
        tool
    };
    vec![
        tool("git.star", json!({})),
        tool("git.log", json!({})),
        tool("forecast", json!({"tags": ["weather"]})),
        tool("stars", json!({"category": "Sky"})),
        tool("clock", json!({})),
    ]
}

fn names(result: &Value) -> Vec<&str> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A request of a client that speaks standard MCP.
async fn post(gateway: &Gateway, path: &str, method: &str, params: Value) -> Result<Value> {
    let headers = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25")];
    send(gateway, &format!("POST {path}"), &headers, &request(method, &params)).await?.json()
}

#[tokio::test]
async fn a_group_has_its_tools_and_no_others() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let list = post(&gateway, "/mcp/git", "tools/list", json!({})).await?;
    assert_eq!(names(&list["result"]), ["git.log", "git.star"]);
    let list = post(&gateway, "/mcp/sky", "tools/list", json!({})).await?;
    assert_eq!(names(&list["result"]), ["clock"]);
    let counts = json!({"total": 3, "listed": 1, "hidden": 2, "mode": "search", "listing": "search"});
    assert_eq!(list["result"]["_meta"]["toolrail/tools"], counts);
    assert_eq!(names(&post(&gateway, "/mcp", "tools/list", json!({})).await?["result"]).len(), 5);

    let call = async |path: &str, tool: &str| post(&gateway, path, "tools/call", json!({"name": tool})).await;
    assert!(call("/mcp/sky", "forecast").await?["result"]["content"].is_array(), "hidden, but there");
    let refused = call("/mcp/git", "clock").await?;
    assert_eq!(refused["error"]["message"], "unknown tool \"clock\"");
    // Nothing of elsewhere is told, not even as a hint.
    let refused = call("/mcp/git", "clocc").await?;
    assert_eq!(refused["error"]["message"], "unknown tool \"clocc\"");
    Ok(())
}

/// The discovery tools of a group know its tools only.
#[tokio::test]
async fn discovery_finds_and_calls_what_the_group_has() -> Result<()> {
    let (_folder, config) = configured(CONFIG)?;
    let upstream = Upstream::start().await?;
    let gateway = gateway().discovery().arg("--config").arg(&config).start().await?;
    register_all(&gateway, &tools(&upstream)).await?;
    let call = async |path: &str, name: &str, arguments: Value| {
        post(&gateway, path, "tools/call", json!({"name": name, "arguments": arguments})).await
    };
    let found = call("/mcp/git", "search_tools", json!({"query": "gets something"})).await?;
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("git.log") && text.contains("git.star"), "{text}");
    assert!(!text.contains("clock") && !text.contains("forecast"), "{text}");
    let called = call("/mcp/sky", "call_tool", json!({"name": "forecast", "arguments": {}})).await?;
    assert_ne!(called["result"]["isError"], true, "{called}");
    let refused = call("/mcp/sky", "call_tool", json!({"name": "git.log", "arguments": {}})).await?;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let listed = post(&gateway, "/mcp/sky", "tools/list", json!({})).await?;
    assert!(names(&listed["result"]).contains(&"call_tool"));
    let listed = post(&gateway, "/mcp/git", "tools/list", json!({})).await?;
    assert!(!names(&listed["result"]).contains(&"call_tool"), "everything is listed");
    Ok(())
}

/// What is built in is called over REST where it is at /mcp, not because some group has it.
#[tokio::test]
async fn rest_calls_follow_the_main_endpoint() -> Result<()> {
    let (_folder, config) =
        configured("discovery: false\ngroups: {all: {patterns: ['*'], discovery: true}}")?;
    let gateway = gateway().arg("--config").arg(&config).start().await?;
    let search = json!({"name": "search_tools", "arguments": {"query": "weather"}});
    let there = post(&gateway, "/mcp/all", "tools/call", search.clone()).await?;
    assert_eq!(there["result"]["isError"], false, "{there}");
    let refused = send(&gateway, "POST /mcp/tools/call", &[], &search).await?;
    assert_eq!(refused.status, 404, "{}", refused.text());
    Ok(())
}

#[tokio::test]
async fn a_modern_client_is_served_by_a_group_without_a_session() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let ask = async |method: &str| -> Result<Value> {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        let body = request(method, &json!({"_meta": meta}));
        Ok(send(&gateway, "POST /mcp/git", &headers, &body).await?.json()?["result"].clone())
    };
    assert_eq!(names(&ask("tools/list").await?), ["git.log", "git.star"]);
    assert_eq!(ask("server/discover").await?["instructions"], "Works on repositories.");
    Ok(())
}

#[tokio::test]
async fn a_legacy_session_belongs_to_its_endpoint() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let opened = send(&gateway, "POST /mcp/git", &[], &request("initialize", &params)).await?;
    let id = opened.headers["mcp-session-id"].to_str()?.to_owned();
    let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let list = request("tools/list", &json!({}));
    let body = send(&gateway, "POST /mcp/git", &headers, &list).await?.json()?;
    assert_eq!(names(&body["result"]), ["git.log", "git.star"]);
    for other in ["/mcp", "/mcp/sky"] {
        for method in ["POST", "GET", "DELETE"] {
            let reply = send(&gateway, &format!("{method} {other}"), &headers, &list).await?;
            assert_eq!(reply.status, 404, "{method} {other}");
        }
    }
    let mut stream = RawConnection::open(gateway.url()).await?;
    let head = format!(
        "GET /mcp/git HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\nmcp-session-id: {id}\r\n\r\n",
        stream.host()
    );
    stream.send(head.as_bytes()).await?;
    stream.until(b"200 OK").await?;
    assert_eq!(send(&gateway, "DELETE /mcp/git", &headers, &Value::Null).await?.status, 204);
    assert_eq!(send(&gateway, "POST /mcp/git", &headers, &list).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_group_is_reached_by_websocket() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let mut socket = WebSocket::connect(&format!("{}/mcp/git/ws", gateway.url()), &[]).await?;
    let list = socket.call("tools/list", json!({})).await?;
    assert_eq!(names(&list["result"]), ["git.log", "git.star"]);
    let called = socket.call("tools/call", json!({"tool": "git.log", "arguments": {}})).await?;
    assert!(called["result"].is_object(), "{called}");
    let refused = socket.call("tools/call", json!({"tool": "clock", "arguments": {}})).await?;
    assert_eq!(refused["error"]["code"], -32601);
    let unknown = WebSocket::connect(&format!("{}/mcp/other/ws", gateway.url()), &[]).await;
    assert!(format!("{:?}", unknown.unwrap_err()).contains("404"));
    Ok(())
}

#[tokio::test]
async fn a_group_is_reached_by_the_transport_of_2024() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let mut stream = RawConnection::open(gateway.url()).await?;
    let head = format!("GET /mcp/git/sse HTTP/1.1\r\nhost: {}\r\n\r\n", stream.host());
    stream.send(head.as_bytes()).await?;
    stream.until(b"data: ").await?;
    let path = String::from_utf8(stream.until(b"\n").await?)?.trim().to_owned();
    assert!(path.starts_with("/mcp/git/messages?sessionId="), "{path}");
    let list = request("tools/list", &json!({}));
    assert_eq!(send(&gateway, &format!("POST {path}"), &[], &list).await?.status, 202);
    stream.until(b"data: ").await?;
    let answer: Value = serde_json::from_slice(&stream.until(b"\n").await?)?;
    assert_eq!(names(&answer["result"]), ["git.log", "git.star"]);
    let unknown = send(&gateway, "GET /mcp/other/sse", &[], &Value::Null).await?;
    assert_eq!(unknown.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_group_is_served_and_bridged_on_standard_streams() -> Result<()> {
    let (gateway, upstream, folder) = grouped().await?;
    let tools_folder = folder.path().join("tools");
    std::fs::create_dir(&tools_folder)?;
    std::fs::write(tools_folder.join("a.json"), json!(tools(&upstream)).to_string())?;
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (config, tools, data) = (path("toolrail.yaml"), path("tools"), path("data"));
    let served = ["stdio", "--data", &data, "--config", &config, "--tools", &tools, "--group", "git"];
    let url = format!("{}/mcp/git", gateway.url());
    for arguments in
        [&served[..], &["stdio", "--url", gateway.url(), "--group", "git"], &["stdio", "--url", &url]]
    {
        let mut stdio = Stdio::spawn(BINARY, arguments)?;
        let list = stdio.call("tools/list", json!({})).await?;
        assert_eq!(names(&list["result"]), ["git.log", "git.star"], "{arguments:?}");
        if arguments == served {
            stdio.said("2 tools: git.log, git.star").await?;
        }
        assert!(stdio.finish().await?.success());
    }
    let refused = run_in(folder.path(), &["stdio", "--config", &config, "--group", "got"]).await?;
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("there is no group \"got\""), "{}", refused.stderr);
    assert!(refused.stderr.contains("git, nothing, sky"), "{}", refused.stderr);
    Ok(())
}

#[tokio::test]
async fn an_unknown_group_is_told_with_those_there_are() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let reply = send(&gateway, "POST /mcp/other", &[], &request("ping", &json!({}))).await?;
    assert_eq!(reply.json()?["id"], 1);
    let message = "there is no group \"other\"; groups: git, nothing, sky; all tools are at /mcp";
    assert_eq!((reply.status, &reply.json()?["error"]["message"]), (404, &json!(message)));
    assert_failed(
        &gateway.get("/mcp/tools?group=other").await?,
        404,
        "NOT_FOUND",
        "groups: git, nothing, sky",
    );
    assert_eq!(names(&gateway.get("/mcp/tools?group=sky").await?.json()?), ["clock", "forecast", "stars"]);
    let found = gateway.get("/mcp/search?q=gets+something&group=git").await?.json()?;
    let found: Vec<&str> =
        found["results"].as_array().unwrap().iter().map(|hit| hit["tool_name"].as_str().unwrap()).collect();
    assert_eq!(found, ["git.log", "git.star"]);
    let front = gateway.get("/").await?.json()?;
    assert_eq!(front["endpoints"]["groups"][0], "POST /mcp/git");
    assert_eq!(names(&gateway.get("/mcp/tools?group=sky&tag=weather").await?.json()?), ["forecast"]);
    Ok(())
}

#[tokio::test]
async fn groups_are_told_of_at_the_start_and_an_empty_one_is_warned_of() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let banner = gateway.banner().await?;
    assert!(banner.contains("group nothing: 0 tools at /mcp/nothing"), "{banner}");
    gateway.said("no tool fits the group").await?;
    Ok(())
}

/// The request is answered, and the bridge ends by itself: groups do not come while a gateway runs.
#[tokio::test]
async fn a_bridge_to_a_group_that_is_not_there_ends() -> Result<()> {
    let (gateway, _upstream, _folder) = grouped().await?;
    let mut stdio = Stdio::spawn(BINARY, ["stdio", "--url", gateway.url(), "--group", "nope"])?;
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let refused = stdio.call("initialize", params).await?;
    assert!(refused["error"]["message"].as_str().unwrap().contains("no group \"nope\""), "{refused}");
    wait_until("the end of the bridge", Duration::from_secs(10), async || {
        stdio.stderr().contains("there is no group \"nope\"").then_some(())
    })
    .await?;
    assert!(stdio.receive().await.is_err(), "its output is closed");
    assert!(!stdio.finish().await?.success());
    Ok(())
}

/// What could not be found or removed at a group is not registered there either.
#[tokio::test]
async fn a_group_takes_the_tools_that_it_will_have() -> Result<()> {
    let (_folder, config) = configured(CONFIG)?;
    let gateway = gateway().discovery().arg("--config").arg(&config).start().await?;
    let call = async |name: &str, arguments: Value| -> Result<Value> {
        let called =
            post(&gateway, "/mcp/sky", "tools/call", json!({"name": name, "arguments": arguments})).await?;
        Ok(called["result"].clone())
    };
    let refused = call("register_tool", json!({"name": "rain", "description": "d"})).await?;
    assert!(refused.to_string().contains("would not have the tool"), "{refused}");
    let tagged = json!({"name": "rain", "description": "d", "tags": ["WEATHER"]});
    assert_eq!(call("register_tool", tagged).await?["isError"], false);
    let other = json!({"name": "git.new", "description": "d"});
    let params = json!({"name": "register_tool", "arguments": other});
    assert_eq!(post(&gateway, "/mcp/git", "tools/call", params).await?["result"]["isError"], false);
    let refused = call("unregister_tool", json!({"tool_name": "git.new"})).await?;
    assert!(refused.to_string().contains("工具不存在"), "{refused}");
    assert_eq!(call("unregister_tool", json!({"tool_name": "rain"})).await?["isError"], false);
    Ok(())
}

#[tokio::test]
async fn what_means_nothing_in_the_configuration_is_warned_of_at_the_start() -> Result<()> {
    let text = "
listing: {mode: search, pinned: [Ghost]}
groups: {git: {patterns: ['git.*'], tools: [git.gone]}}
";
    let (folder, config) = configured(text)?;
    let upstream = Upstream::start().await?;
    let tools_folder = folder.path().join("tools");
    std::fs::create_dir(&tools_folder)?;
    std::fs::write(tools_folder.join("a.json"), json!(tools(&upstream)).to_string())?;
    let gateway = gateway().arg("--config").arg(&config).arg("--tools").arg(&tools_folder).start().await?;
    gateway.banner().await?;
    for part in ["git.gone", "ghost", "without the discovery tools no client can find them"] {
        gateway.said(part).await?;
    }
    Ok(())
}

/// A tenant and a page of elsewhere are treated as they are at `/mcp`.
#[tokio::test]
async fn tenants_and_pages_are_told_apart_at_groups_too() -> Result<()> {
    let (gateway, upstream, _folder) = grouped().await?;
    let own = get_tool("git.own", &upstream.url("/echo"));
    let headers = [("toolrail-tenant", "acme")];
    assert_eq!(send(&gateway, "POST /admin/tools", &headers, &own).await?.status, 200);
    let list = request("tools/list", &json!({}));
    let reply = send(&gateway, "POST /mcp/git", &headers, &list).await?;
    assert!(reply.headers.contains_key("toolrail-revision"));
    assert_eq!(names(&reply.json()?["result"]), ["git.log", "git.own", "git.star"]);
    let reply = send(&gateway, "POST /mcp/git", &[("toolrail-tenant", "a b")], &list).await?;
    assert_eq!((reply.status, &reply.json()?["jsonrpc"]), (400, &json!("2.0")));
    let page = [("origin", "http://localhost:3000")];
    let reply = send(&gateway, "POST /mcp/git", &page, &list).await?;
    assert_eq!(reply.headers["access-control-allow-origin"], "http://localhost:3000");
    Ok(())
}

#[tokio::test]
async fn every_fault_of_groups_is_told_with_its_place() -> Result<()> {
    let text = "
listing: {mod: search, threshold: -1}
groups:
  Git Hub: {tools: [a]}
  tools: {tools: [a]}
  empty: {}
  odd: {tols: [a], tags: b, listing: serach}
search: {lern: true}
";
    let (folder, config) = configured(text)?;
    let refused = run_in(folder.path(), &["serve", "--config", config.to_str().unwrap()]).await?;
    assert_ne!(refused.code, Some(0));
    for part in [
        "/listing/mod: unknown key; did you mean \"mode\"?",
        "/listing/threshold: ",
        "/groups/Git Hub: the name of a group is 1 to 64 characters",
        "/groups/tools: \"tools\" means something else below /mcp/",
        "/groups/empty: chooses no tools",
        "/groups/odd/tols: unknown key; did you mean \"tools\"?",
        "/groups/odd/tags: ",
        "/groups/odd/listing: \"serach\" is no way to list tools; did you mean \"search\"?",
        "/search/lern: unknown key; did you mean \"learn\"?",
    ] {
        assert!(refused.stderr.contains(part), "{part} is not in: {}", refused.stderr);
    }
    Ok(())
}
