//! One gateway behind another: how REST and the command line show what an upstream server offers and answers.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use toolrail_testkit::{Canned, Gateway, Upstream, wait_until};

use crate::support::{
    assert_failed, call, gateway, get_tool, listed, register, register_all, run_in, started,
};

/// A gateway with the tools of another, `far`, under the prefix `far_`, and what those call.
async fn chained(definitions: impl Fn(&Upstream) -> Vec<Value>) -> Result<(Gateway, Gateway, Upstream)> {
    let (far, service) = started().await;
    let definitions = definitions(&service);
    register_all(&far, &definitions).await?;
    let near = gateway().start().await?;
    let url = format!("{}/mcp", far.url());
    register(&near, &json!({"name": "far", "description": "Another gateway", "mcp": {"url": url}})).await;
    wait_until("the tools of the other gateway", Duration::from_secs(10), async || {
        (listed(&near).await.ok()?.len() == definitions.len()).then_some(())
    })
    .await?;
    Ok((near, far, service))
}

#[tokio::test]
async fn a_call_at_an_upstream_server_is_answered_like_one_here() -> Result<()> {
    let names = ["echo", "list", "text", "image", "status/404"];
    let (near, far, service) = chained(|service| {
        service.answer("/list", Canned::json(200, &json!([1, "two"])));
        names
            .map(|path| get_tool(path.split('/').next().unwrap(), &service.url(&format!("/{path}"))))
            .to_vec()
    })
    .await?;
    let answer = async |name: &str| call(&near, &format!("far_{name}"), json!({})).await?.json();
    assert_eq!(answer("echo").await?["result"]["path"], "/echo");
    assert_eq!(answer("list").await?, json!({"ok": true, "result": [1, "two"]}));
    let text = answer("text").await?;
    assert!(text["result"].as_str().unwrap().starts_with("plain text"), "{text}");
    let image = answer("image").await?;
    assert_eq!(image["result"]["content"][0]["mimeType"], "image/png", "{image}");
    assert_eq!(image["result"].as_object().unwrap().len(), 1, "{image}");
    let failed = call(&near, "far_status", json!({})).await?;
    assert_failed(&failed, 502, "UPSTREAM_STATUS", "answered 404");
    assert_eq!(failed.json()?, call(&far, "status", json!({})).await?.json()?);
    drop(service);
    Ok(())
}

#[tokio::test]
async fn the_command_line_tells_what_an_upstream_server_offers_or_why_not() -> Result<()> {
    let (near, far, _service) =
        chained(|service| vec![get_tool("a", &service.url("/echo")), get_tool("b", &service.url("/echo"))])
            .await?;
    register(&near, &json!({"name": "hi", "prompt": {"messages": [{"role": "user", "text": "say hi"}]}}))
        .await;
    register(&near, &json!({"name": "page", "resource": {"uri": "docs://page", "text": "x"}})).await;
    let tools = async |command: &[&str]| {
        run_in(Path::new("."), &[&["tools"], command, &["--url", near.url()]].concat()).await
    };
    let list = tools(&["list"]).await?.stdout;
    for row in [
        "far    mcp       live   store     2 tools: Another gateway\n",
        "far_a  mcp       live   upstream  Gets something\n",
        "hi     prompt    live   store",
        "page   resource  live   store",
    ] {
        assert!(list.contains(row), "{row:?} is not in\n{list}");
    }
    let shown = tools(&["show", "far"]).await?.stdout;
    assert!(
        shown.starts_with("far (mcp, live)\n  from store: ") && shown.contains("\n  2 tools\n"),
        "{shown}"
    );
    drop(far);
    let list = wait_until("the failure", Duration::from_secs(20), async || {
        let list = tools(&["list", "another"]).await.ok()?.stdout;
        list.contains("fails: could not connect to ").then_some(list)
    })
    .await?;
    assert!(list.contains("\nfar   mcp   failing  store   fails: "), "{list}");
    let shown = tools(&["show", "far"]).await?.stdout;
    assert_eq!(shown.matches("could not connect to").count(), 1, "{shown}");
    let problems = tools(&["problems"]).await?.stdout;
    assert!(problems.contains("warning   far ") && problems.contains("the upstream fails: "), "{problems}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_slow_or_broken_is_told_of_at_the_start() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = |name: &str, script: &str| {
        let definition = json!({"name": name, "mcp": {"command": "sh", "args": ["-c", script]}});
        std::fs::write(folder.path().join(format!("{name}.json")), definition.to_string())
    };
    program("slow", "cat > /dev/null")?;
    program("broken", "echo MY_KEY is not set >&2; exit 3")?;
    let gateway = gateway().arg("--tools").arg(folder.path()).start().await?;
    let banner = gateway.banner().await?;
    assert!(banner.contains("\n  1 upstream server is still connecting\n"), "{banner}");
    assert!(banner.contains("\n  1 upstream server cannot be used; `"), "{banner}");
    assert!(!banner.contains("no tools yet"), "{banner}");
    let list = run_in(Path::new("."), &["tools", "list", "--url", gateway.url()]).await?.stdout;
    assert!(list.contains("slow    mcp   connecting  files   offers nothing yet"), "{list}");
    let broken = "broken  mcp   failing     files   fails: \"sh\" ended with status 3: MY_KEY is not set";
    assert!(list.contains(broken), "{list}");
    let log = gateway.said("MY_KEY is not set").await?;
    assert_eq!(log.matches("MY_KEY is not set").count(), 1, "{log}");
    Ok(())
}

#[tokio::test]
async fn what_has_no_effect_on_an_upstream_server_is_told_once() -> Result<()> {
    let (gateway, _service) = started().await;
    let mapping = json!({"type": "jsonPath", "path": "$"});
    let server = json!({"name": "far", "description": "d", "mcp": {"url": "http://127.0.0.1:1/mcp"}, "responseMapping": mapping});
    let checked = gateway.post_json("/admin/tools/validate", &server).await?.json()?;
    let places: Vec<&str> = checked["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|problem| problem["pointer"].as_str())
        .collect();
    assert_eq!(places, ["/responseMapping"], "{checked:#}");
    Ok(())
}

/// A server whose only tool ends as the argument `how` says.
const FAILING: &str = r#"while read -r line; do
  id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) said='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) said='"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *'"how":"says"'*) said='"result":{"content":[{"type":"text","text":"no luck"}],"isError":true}' ;;
    *'"how":"wrong"'*) said='"error":{"code":-32602,"message":"no such how"}' ;;
    *'"how":"needs"'*) said='"error":{"code":-32021,"message":"needs sampling"}' ;;
    *'"how":"breaks"'*) said='"error":{"code":-32050,"message":"broken"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done"#;

/// R91: whose fault it is can be told from the code.
#[tokio::test]
async fn the_code_over_rest_tells_why_an_upstream_servers_tool_failed() -> Result<()> {
    let gateway = gateway().arg("--allow-commands").start().await?;
    let settings = json!({"command": "sh", "args": ["-c", FAILING], "protocol": "legacy"});
    register(&gateway, &json!({"name": "far", "description": "d", "mcp": settings})).await;
    wait_until("the tool", Duration::from_secs(20), async || {
        (listed(&gateway).await.ok()? == ["far_t"]).then_some(())
    })
    .await?;
    for (how, status, code, message) in [
        ("says", 502, "TOOL_FAILED", "no luck"),
        ("wrong", 400, "INVALID_ARGUMENTS", "no such how"),
        ("needs", 400, "INVALID_REQUEST", "needs sampling"),
        ("breaks", 502, "UPSTREAM_INVALID", "broken"),
    ] {
        assert_failed(&call(&gateway, "far_t", json!({"how": how})).await?, status, code, message);
    }
    Ok(())
}

#[tokio::test]
async fn a_name_that_nothing_has_is_no_definition() -> Result<()> {
    let gateway = gateway().start().await?;
    let shown = run_in(Path::new("."), &["tools", "show", "nope", "--url", gateway.url()]).await?;
    assert!(shown.stderr.starts_with("error: there is no definition named \"nope\""), "{}", shown.stderr);
    Ok(())
}
