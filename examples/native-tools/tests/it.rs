//! The example as its users meet it: the real binary, over REST, MCP and standard input and output.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolrail_testkit::{Canned, Gateway, RawConnection, Stdio, Upstream, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_my-tools");

async fn call(gateway: &Gateway, name: &str, arguments: Value) -> Result<Value> {
    let params = json!({"name": name, "arguments": arguments});
    let reply = gateway.standard_mcp("tools/call", params).await?.json()?;
    Ok(reply["result"].clone())
}

#[tokio::test]
async fn annotated_functions_and_methods_are_served() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    wait_until("the banner of this binary", Duration::from_secs(10), async || {
        gateway.stdout().starts_with("my-tools 0.1.0 listens on").then_some(())
    })
    .await?;
    let listed = gateway.mcp("tools/list", json!({})).await?.json()?;
    let tools = listed["result"]["tools"].as_array().context("tools")?;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = ["add", "add_all", "count_down", "count_word", "notes.add", "notes.read", "order_drink"];
    assert_eq!(names, expected);
    assert_eq!(tools[3]["inputSchema"]["properties"]["word"]["description"], "The word to look for.");
    assert_eq!(tools[3]["outputSchema"]["properties"]["count"]["description"], "How often.");
    Ok(())
}

#[tokio::test]
async fn the_help_speaks_of_this_binary() -> Result<()> {
    let output = tokio::process::Command::new(BINARY).arg("--help").output().await?;
    let help = String::from_utf8(output.stdout)?;
    assert!(help.starts_with("Serves its tools"), "{help}");
    assert!(help.contains("Usage: my-tools"), "{help}");
    Ok(())
}

#[tokio::test]
async fn native_tools_answer() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    let added = call(&gateway, "add", json!({"a": 2, "b": 40})).await?;
    assert_eq!(added["content"][0]["text"], "42");
    let summed = call(&gateway, "add_all", json!({"numbers": [1, 2, 3.5]})).await?;
    assert_eq!(summed["content"][0]["text"], "6.5");
    let arguments = json!({"text": "to be or\nnot to be", "word": "TO", "ignore_case": true});
    let counted = call(&gateway, "count_word", arguments).await?;
    assert_eq!(counted["structuredContent"], json!({"count": 2, "lines": [1, 2]}));
    let noted = call(&gateway, "notes.add", json!({"text": "buy tea"})).await?;
    assert_eq!(noted["content"][0]["text"], "note 1");
    let read = call(&gateway, "notes.read", json!({"number": 1})).await?;
    assert_eq!(read["content"][0]["text"], "buy tea");
    Ok(())
}

#[tokio::test]
async fn wrong_arguments_and_failures_are_told_to_the_model() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    let wrong = call(&gateway, "add", json!({"a": "two", "b": 1})).await?;
    assert_eq!(wrong["isError"], true);
    let told = wrong["content"][0]["text"].as_str().unwrap_or_default();
    assert!(told.contains("/a"), "{told}");
    let missing = call(&gateway, "notes.read", json!({"number": 7})).await?;
    assert_eq!(missing["content"][0]["text"], "there is no note 7; there are 0");
    Ok(())
}

#[tokio::test]
async fn a_user_is_asked_while_the_call_is_under_way() -> Result<()> {
    let data = tempfile::tempdir()?;
    let folder = data.path().to_string_lossy().into_owned();
    let mut client = Stdio::spawn(BINARY, ["stdio", "--data", &folder])?;
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let greeted = client.call("initialize", hello).await?;
    assert_eq!(greeted["result"]["serverInfo"]["name"], "my-tools");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    let order = json!({"name": "order_drink", "arguments": {}});
    client.send(&json!({"jsonrpc": "2.0", "id": "order", "method": "tools/call", "params": order})).await?;
    let asked = client.receive().await?;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["requestedSchema"]["properties"]["drink"]["type"], "string");
    let answer = json!({"action": "accept", "content": {"drink": "tea", "cups": 2}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await?;
    let ordered = client.receive().await?;
    assert_eq!(ordered["result"]["content"][0]["text"], "2 × tea", "{ordered}");
    Ok(())
}

/// A call of a client of 2026-07-28 that can ask its user, with what he answered so far.
async fn call_again(gateway: &Gateway, more: Value) -> Result<Value> {
    let mut params = json!({"name": "add_all", "arguments": {"numbers": [1, 2]}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}});
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut connection = RawConnection::open(gateway.url()).await?;
    let accept = ("accept", "application/json, text/event-stream");
    let version = ("mcp-protocol-version", "2026-07-28");
    let headers = [accept, version, ("mcp-method", "tools/call"), ("mcp-name", "add_all")];
    connection.post("/mcp", &headers, request.to_string().as_bytes()).await?;
    let answer: Value = serde_json::from_slice(&connection.answer().await?.body)?;
    answer.get("result").cloned().with_context(|| answer.to_string())
}

#[tokio::test]
async fn a_person_approves_of_each_call_that_a_tool_makes() -> Result<()> {
    let (gateway, upstream) = (Gateway::builder(BINARY).start().await?, Upstream::start().await?);
    upstream.answer("/add", Canned::json(200, &json!(5)));
    let definition = json!({
        "name": "add", "description": "Adds elsewhere", "approval": "required",
        "inputSchema": {"type": "object", "properties": {
            "a": {"type": "number", "description": "One"}, "b": {"type": "number", "description": "Another"}},
            "required": ["a", "b"]},
        "http": {"url": upstream.url("/add"), "query": {"a": "{{args.a}}", "b": "{{args.b}}"}}
    });
    let made = gateway.post_json("/admin/tools", &definition).await?;
    assert_eq!(made.status, 200, "{}", made.text());
    let mut asked = call_again(&gateway, json!({})).await?;
    for expected in ["a=0.0&b=1.0", "a=5.0&b=2.0"] {
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let questions = asked["inputRequests"].as_object().context("questions")?;
        let (key, question) = questions.iter().next().context("a question")?;
        let text = question["params"]["message"].as_str().context("a text")?;
        assert!(questions.len() == 1 && text.contains(expected), "{text}");
        let answers = json!({key: {"action": "accept", "content": {"approve": true}}});
        let again = json!({"inputResponses": answers, "requestState": asked["requestState"]});
        asked = call_again(&gateway, again).await?;
    }
    assert_eq!(asked["content"][0]["text"], "5", "{asked}");
    Ok(())
}
