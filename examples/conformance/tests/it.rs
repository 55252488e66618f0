//! The fixtures are all there and without a problem; what they do, the suites themselves say.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolrail_testkit::Gateway;

const BINARY: &str = env!("CARGO_BIN_EXE_toolrail-conformance");

async fn keys(gateway: &Gateway, list: &str, key: &str) -> Result<BTreeSet<String>> {
    let listed = gateway.mcp(&format!("{list}/list"), json!({})).await?.json()?;
    let member = if list == "resources/templates" { "resourceTemplates" } else { list };
    let entries = listed["result"][member].as_array().with_context(|| listed.to_string())?;
    Ok(entries.iter().filter_map(|entry| entry[key].as_str()).map(str::to_owned).collect())
}

#[tokio::test]
async fn every_fixture_is_listed() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    let tools = keys(&gateway, "tools", "name").await?;
    assert_eq!(tools.len(), 37, "{tools:?}");
    let prompts = keys(&gateway, "prompts", "name").await?;
    assert!(prompts.contains("test_prompt_with_arguments"), "{prompts:?}");
    let resources = keys(&gateway, "resources", "uri").await?;
    let expected = ["test://static-binary", "test://static-text", "test://watched-resource"];
    assert_eq!(resources, expected.map(str::to_owned).into());
    let templates = keys(&gateway, "resources/templates", "uriTemplate").await?;
    assert_eq!(templates, ["test://template/{id}/data".to_owned()].into());
    let problems = gateway.get("/admin/problems").await?.json()?;
    assert_eq!(problems["problems"].as_array().map(Vec::len), Some(0), "{problems}");
    Ok(())
}

#[tokio::test]
async fn a_changed_tool_is_listed_as_changed() -> Result<()> {
    let gateway = Gateway::builder(BINARY).start().await?;
    let description = async || -> Result<Value> {
        let listed = gateway.mcp("tools/list", json!({})).await?.json()?;
        let tools = listed["result"]["tools"].as_array().context("tools")?;
        let tool = tools.iter().find(|tool| tool["name"] == "test_changing_tool").context("the tool")?;
        Ok(tool["description"].clone())
    };
    let before = description().await?;
    gateway.mcp("tools/call", json!({"name": "test_trigger_tool_change", "arguments": {}})).await?;
    let changed = async || description().await.ok().filter(|now| *now != before);
    toolrail_testkit::wait_until("the changed tool", Duration::from_secs(5), changed).await?;
    Ok(())
}
