//! What the tests of this binary share: starting it, tools to register, running the command line.

use std::path::Path;
use std::process::Stdio;

use anyhow::Result;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::process::Command;
use toolrail_testkit::{Gateway, GatewayBuilder, Reply, Upstream};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_toolrail");

/// A gateway yet to be started.
pub(crate) fn gateway() -> GatewayBuilder {
    Gateway::builder(BINARY)
}

/// A gateway without tools or secrets, and an upstream.
pub(crate) async fn started() -> (Gateway, Upstream) {
    (gateway().start().await.unwrap(), Upstream::start().await.unwrap())
}

/// A definition that sends `city` as `q` and needs it.
pub(crate) fn weather(name: &str, url: &str) -> Value {
    json!({
        "name": name,
        "description": "查询天气",
        "type": "http",
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "城市"}},
            "required": ["city"]
        },
        "http": {"method": "GET", "url": url, "query": {"q": "{{args.city}}"}, "timeoutMs": 20_000}
    })
}

/// A definition that gets `url`, slow or not, and takes no arguments.
pub(crate) fn plain(name: &str, url: &str) -> Value {
    let mut definition = get_tool(name, url);
    definition["http"]["timeoutMs"] = json!(20_000);
    definition
}

/// Registers one definition and sees that it is accepted.
pub(crate) async fn register(gateway: &Gateway, definition: &Value) {
    let reply = gateway.post_json("/admin/tools", definition).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// A gateway without tools and an upstream for them.
pub(crate) async fn gateway_and_upstream() -> Result<(Gateway, Upstream)> {
    let upstream = Upstream::start().await?;
    let gateway = Gateway::builder(BINARY).env("TOOLRAIL_SECRET_TOKEN", "s3cr3t-value").start().await?;
    Ok((gateway, upstream))
}

/// A good definition that sends `q` to the upstream's echo.
pub(crate) fn echo_tool(name: &str, upstream: &Upstream) -> Value {
    json!({
        "name": name,
        "description": "Sends a text to a service that sends it back",
        "type": "http",
        "inputSchema": {
            "type": "object",
            "properties": {"q": {"type": "string", "description": "Any text"}},
            "required": ["q"]
        },
        "http": {"url": upstream.url("/echo"), "query": {"q": "{{args.q}}"}}
    })
}

/// A definition that gets `path` of the upstream and takes no arguments.
pub(crate) fn get_tool(name: &str, url: &str) -> Value {
    json!({
        "name": name,
        "description": "Gets something",
        "inputSchema": {"type": "object", "properties": {}},
        "http": {"url": url}
    })
}

/// Registers definitions and sees that they go live without a problem.
pub(crate) async fn register_all(gateway: &Gateway, definitions: &[Value]) -> Result<()> {
    let reply = gateway.post_json("/admin/tools/batch", &json!({"tools": definitions})).await?;
    let body = reply.json()?;
    assert_eq!((reply.status, &body["ok"]), (200, &json!(true)), "{body:#}");
    Ok(())
}

/// What a client of standard MCP is answered.
pub(crate) async fn standard(gateway: &Gateway, method: &str, params: Value) -> Result<Value> {
    gateway.standard_mcp(method, params).await?.json()
}

pub(crate) async fn call(gateway: &Gateway, tool: &str, arguments: Value) -> Result<Reply> {
    gateway.post_json("/mcp/tools/call", &json!({"tool": tool, "arguments": arguments})).await
}

/// Sends a request such as `PUT /admin/tools` with headers.
pub(crate) async fn send(
    gateway: &Gateway,
    line: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<Reply> {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    gateway.request(request.body(Full::new(Bytes::from(body)))?).await
}

/// The names in `GET /mcp/tools`.
pub(crate) async fn listed(gateway: &Gateway) -> Result<Vec<String>> {
    let body = gateway.get("/mcp/tools").await?.json()?;
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    Ok(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect())
}

#[track_caller]
pub(crate) fn assert_failed(reply: &Reply, status: u16, code: &str, part: &str) {
    let body = reply.json().unwrap();
    assert_eq!((reply.status, body["error"]["code"].as_str()), (status, Some(code)), "{body:#}");
    assert_eq!(body["ok"], json!(false));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains(part), "{part:?} is not in {message:?}");
}

/// How a run of the command line ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary in `folder`, without the environment of the test.
pub(crate) async fn run_in(folder: &Path, arguments: &[&str]) -> Result<Ran> {
    run_with_input(folder, arguments, "").await
}

/// The same, with something on standard input.
pub(crate) async fn run_with_input(folder: &Path, arguments: &[&str], input: &str) -> Result<Ran> {
    run_as(folder, arguments, &[], input).await
}

/// The same, with variables in its environment.
pub(crate) async fn run_with(folder: &Path, arguments: &[&str], variables: &[(&str, String)]) -> Result<Ran> {
    run_as(folder, arguments, variables, "").await
}

async fn run_as(folder: &Path, arguments: &[&str], variables: &[(&str, String)], input: &str) -> Result<Ran> {
    use tokio::io::AsyncWriteExt;
    let mut command = Command::new(BINARY);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TOOLRAIL_")) {
        command.env_remove(name);
    }
    command.env("TOOLRAIL_DISCOVERY", "off");
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.args(arguments).current_dir(folder).kill_on_drop(true);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await?;
    }
    let output = tokio::time::timeout(std::time::Duration::from_secs(30), child.wait_with_output()).await??;
    Ok(Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

/// What `cargo xtask test` installed or built, by the variable that says where it is.
pub(crate) fn installed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| unreachable!("{variable} is not set; run the tests with `cargo xtask test`"))
}
