//! MCP over stdio: the local registry, and a bridge to a remote one.

use std::fs;

use serde_json::json;
use toolrail_testkit::{Canned, Stdio, Upstream};

use crate::support::{BINARY, gateway, plain, register, weather};

fn spawn(arguments: &[&str]) -> Stdio {
    Stdio::spawn(BINARY, arguments).unwrap()
}

/// R20, R23, C14: nothing but protocol on stdout; banner and logs go to stderr.
#[tokio::test]
async fn the_local_registry_is_served() {
    let upstream = Upstream::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("a.json"), weather("weather.search", &upstream.url("/echo")).to_string()).unwrap();
    fs::write(tools.join("broken.yaml"), "name: [").unwrap();
    let data = folder.path().join("data");
    let mut stdio = spawn(&["stdio", "--data", data.to_str().unwrap(), "--tools", tools.to_str().unwrap()]);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let answer = stdio.call("initialize", params).await.unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    stdio.send_line("").await.unwrap();
    stdio.send_line("{bad").await.unwrap();
    assert_eq!(stdio.receive().await.unwrap()["error"]["code"], -32700);
    let call = stdio
        .call("tools/call", json!({"name": "weather.search", "arguments": {"city": "x"}}))
        .await
        .unwrap();
    assert_eq!(call["result"]["structuredContent"]["query"], "q=x");
    let unknown = stdio.call("tools/call", json!({"name": "nope"})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32602, "initialize settled the dialect");
    stdio.said("weather.search").await.expect("the tools are listed on stderr");
    assert!(stdio.finish().await.unwrap().success());
}

/// The tools of an upstream server are there for a client that asks at once.
#[tokio::test]
async fn the_first_list_has_the_tools_of_upstream_servers() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for tools in ["near", "far"] {
        fs::create_dir(path(tools)).unwrap();
    }
    fs::write(path("far/a.json"), plain("one", "http://127.0.0.1:1/").to_string()).unwrap();
    let args = ["stdio", "--discovery=off", "--data", &path("far-data"), "--tools", &path("far")];
    let upstream = json!({"name": "up", "mcp": {"command": BINARY, "args": args}});
    fs::write(path("near/a.json"), upstream.to_string()).unwrap();
    let mut stdio = spawn(&["stdio", "--data", &path("data"), "--tools", &path("near")]);
    let list = stdio.call("tools/list", json!({})).await.unwrap();
    assert_eq!(list["result"]["tools"][0]["name"], "up_one", "{list}");
    stdio.said("1 tool: up_one").await.unwrap();
    assert!(stdio.finish().await.unwrap().success());
}

/// A slow call does not hold up another, and the last answers come after the input has ended.
#[tokio::test]
async fn a_slow_call_blocks_nothing() {
    let upstream = Upstream::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.json"),
        json!([plain("slow", &upstream.url("/slow/1000")), plain("fast", &upstream.url("/echo"))])
            .to_string(),
    )
    .unwrap();
    let data = folder.path().join("data");
    let mut stdio =
        spawn(&["stdio", "--data", data.to_str().unwrap(), "--tools", folder.path().to_str().unwrap()]);
    for (id, name) in [(1, "slow"), (2, "fast")] {
        stdio
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}}))
            .await
            .unwrap();
    }
    assert_eq!(stdio.receive().await.unwrap()["id"], 2);
    assert_eq!(stdio.receive().await.unwrap()["id"], 1);
}

/// Line breaks between the parts of an upstream's JSON do not end the message.
#[tokio::test]
async fn a_pretty_printed_answer_is_one_line() {
    let upstream = Upstream::start().await.unwrap();
    let row = json!({"id": 1, "text": "two\nlines"});
    let small = format!("{row:#}\r\n").replace('\n', "\r\n");
    let large = format!("{:#}", json!(vec![row.clone(); 1_000]));
    upstream.answer("/small", Canned::new(200, "application/json", small));
    upstream.answer("/large", Canned::new(200, "application/json", large));
    let folder = tempfile::tempdir().unwrap();
    let definitions =
        json!([plain("small", &upstream.url("/small")), plain("large", &upstream.url("/large"))]);
    fs::write(folder.path().join("a.json"), definitions.to_string()).unwrap();
    let data = folder.path().join("data");
    let mut stdio =
        spawn(&["stdio", "--data", data.to_str().unwrap(), "--tools", folder.path().to_str().unwrap()]);
    let small = stdio.call("tools/call", json!({"name": "small"})).await.unwrap();
    assert_eq!(small["result"]["structuredContent"], row);
    let large = stdio.call("tools/call", json!({"name": "large"})).await.unwrap();
    assert_eq!(large["result"]["structuredContent"]["result"].as_array().unwrap().len(), 1_000);
    assert!(stdio.finish().await.unwrap().success());
}

/// `stdio --url` serves a remote registry to clients that can only start a process, in both eras.
#[tokio::test]
async fn a_remote_registry_is_bridged() {
    let (gateway, upstream) = (gateway().start().await.unwrap(), Upstream::start().await.unwrap());
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    let mut stdio = spawn(&["stdio", "--url", gateway.url()]);
    let call = json!({"name": "weather.search", "arguments": {"city": "x"}});
    let mut modern = call.clone();
    modern["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let answer = stdio.call("tools/call", modern).await.unwrap();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    stdio.call("initialize", params).await.unwrap();
    stdio.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await.unwrap();
    let answer = stdio.call("tools/call", call).await.unwrap();
    assert_eq!(answer["result"]["structuredContent"]["query"], "q=x");
    let unknown = stdio.call("tools/call", json!({"name": "nope"})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32602, "the negotiated revision travels with each request");
    drop(gateway);
    let gone = stdio.call("ping", json!({})).await.unwrap();
    assert!(gone["error"]["message"].as_str().unwrap().contains("127.0.0.1"), "{gone}");
    assert!(stdio.finish().await.unwrap().success());
}
