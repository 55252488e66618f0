//! The official clients, as people use them. `cargo xtask test` installs them and says where.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use toolrail_testkit::{Gateway, Upstream};

use crate::mcp::conformance::{fixtures, in_front_of};
use crate::support::{BINARY, gateway, installed, register, weather};

/// Longer than any script's own deadline, which tells more.
const DONE_WITHIN: Duration = Duration::from_secs(90);

/// How a client is started.
#[derive(Clone, Copy)]
pub(crate) enum Client {
    Python,
    TypeScript,
    /// The 1.x SDK, from before the client had a package of its own.
    OldTypeScript,
}

impl Client {
    /// A script of this client, yet to be given its arguments.
    pub(crate) fn script(self, name: &str, mode: Option<&str>) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
        let (program, script) = match self {
            Self::Python => (installed("TOOLRAIL_TEST_PYTHON"), scripts.join(format!("python/{name}.py"))),
            Self::TypeScript | Self::OldTypeScript => {
                (installed("TOOLRAIL_TEST_NODE"), scripts.join(format!("typescript/{name}.mjs")))
            }
        };
        let mut command = Command::new(program);
        command.arg(script).stdin(Stdio::null()).kill_on_drop(true);
        // What Python would cache lies beside the scripts, in the source tree.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        if matches!(self, Self::OldTypeScript) {
            command.args(["--client", "v1"]);
        }
        if let Some(mode) = mode {
            command.args(["--mode", mode]);
        }
        command
    }
}

/// Runs a command that prints one JSON value.
pub(crate) async fn told_by(command: &mut Command) -> Value {
    let output = tokio::time::timeout(DONE_WITHIN, command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A gateway with one tool, and what a client may be told to connect to.
struct Served {
    gateway: Gateway,
    _upstream: Upstream,
}

impl Served {
    async fn start() -> Self {
        let (gateway, upstream) = (gateway().start().await.unwrap(), Upstream::start().await.unwrap());
        register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
        Self { gateway, _upstream: upstream }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.gateway.url())
    }

    /// Streamable HTTP, a bridge from standard streams to it, and a server of its own on standard streams.
    fn targets(&self) -> [Vec<String>; 3] {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let data = self.gateway.data().to_str().unwrap();
        [
            words(&["http", &self.url("/mcp")]),
            words(&["stdio", BINARY, "stdio", "--url", self.gateway.url()]),
            words(&["stdio", BINARY, "stdio", "--data", data, "--discovery=false"]),
        ]
    }
}

/// One whole exchange. The 1.x SDK does not say which revision it speaks on every transport.
async fn exchange(client: Client, mode: Option<&str>, target: &[impl AsRef<OsStr>], revision: &str) {
    let mut command = client.script("one_call", mode);
    let told =
        told_by(command.args(["--tool", "weather.search", "--args", r#"{"city":"上海"}"#]).args(target))
            .await;
    let silent = matches!(client, Client::OldTypeScript) && told["protocolVersion"].is_null();
    assert!(silent || told["protocolVersion"] == revision, "{command:?} {told}");
    assert_eq!(told["tools"], json!(["weather.search"]), "{command:?} {told}");
    assert_eq!(told["result"]["structuredContent"]["query"], "q=%E4%B8%8A%E6%B5%B7", "{command:?} {told}");
    assert_eq!(told["unknownTool"]["code"], -32602, "{command:?} {told}");
}

/// Connects with every transport that all clients have.
async fn check(client: Client, mode: Option<&str>, revision: &str) {
    let served = Served::start().await;
    for target in served.targets() {
        exchange(client, mode, &target, revision).await;
    }
}

#[tokio::test]
async fn the_python_client_works_as_it_is() {
    check(Client::Python, None, "2026-07-28").await;
}

#[tokio::test]
async fn the_python_client_works_with_initialize() {
    check(Client::Python, Some("legacy"), "2025-11-25").await;
}

#[tokio::test]
async fn the_python_client_works_with_the_newest_revision() {
    check(Client::Python, Some("2026-07-28"), "2026-07-28").await;
}

#[tokio::test]
async fn the_typescript_client_works_as_it_is() {
    check(Client::TypeScript, None, "2025-11-25").await;
}

#[tokio::test]
async fn the_typescript_client_works_with_initialize() {
    check(Client::TypeScript, Some("legacy"), "2025-11-25").await;
}

#[tokio::test]
async fn the_typescript_client_works_when_it_negotiates() {
    check(Client::TypeScript, Some("auto"), "2026-07-28").await;
}

#[tokio::test]
async fn the_typescript_client_works_with_the_newest_revision() {
    check(Client::TypeScript, Some("2026-07-28"), "2026-07-28").await;
}

#[tokio::test]
async fn the_older_typescript_sdk_works() {
    check(Client::OldTypeScript, None, "2025-11-25").await;
}

/// The transport of 2024-11-05.
#[tokio::test]
async fn the_older_typescript_sdk_works_over_http_and_sse() {
    let served = Served::start().await;
    exchange(Client::OldTypeScript, None, &["sse", &served.url("/sse")], "2025-11-25").await;
}

/// Runs the inspector's command line with a home folder of its own, where it keeps what it knows.
async fn inspect(target: &[impl AsRef<OsStr>], method: &[&str]) -> Value {
    let home = tempfile::tempdir().unwrap();
    let modules = PathBuf::from(installed("TOOLRAIL_TEST_NODE_MODULES"));
    let launcher = modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let mut command = Command::new(installed("TOOLRAIL_TEST_NODE"));
    command.arg(launcher).arg("--cli").args(target).arg("--method").args(method);
    told_by(command.env("HOME", home.path()).stdin(Stdio::null()).kill_on_drop(true)).await
}

async fn check_inspector(target: &[impl AsRef<OsStr>]) {
    let list = inspect(target, &["tools/list"]).await;
    assert_eq!(list["tools"][0]["name"], "weather.search", "{list}");
    let call = ["tools/call", "--tool-name", "weather.search", "--tool-arg", "city=x"];
    let answer = inspect(target, &call).await;
    assert_eq!(answer["structuredContent"]["query"], "q=x", "{answer}");
}

#[tokio::test]
async fn the_inspector_works_over_streamable_http() {
    let served = Served::start().await;
    check_inspector(&[&*served.url("/mcp"), "--transport", "http"]).await;
}

#[tokio::test]
async fn the_inspector_works_over_http_and_sse() {
    let served = Served::start().await;
    check_inspector(&[&*served.url("/sse"), "--transport", "sse"]).await;
}

#[tokio::test]
async fn the_inspector_works_over_stdio() {
    let served = Served::start().await;
    // The inspector would take the options of the command for its own.
    let wrapper = served.gateway.data().join("serve-stdio");
    std::fs::write(&wrapper, format!("exec {BINARY} stdio --url {}\n", served.gateway.url())).unwrap();
    check_inspector(&["sh", wrapper.to_str().unwrap(), "--transport", "stdio"]).await;
}

/// Prompts, resources, completion, progress, logs, questions to the client and list changes.
async fn check_everything(client: Client, mode: &str, revision: &str) {
    let server = fixtures().await;
    everything(client, mode, &server, revision).await;
}

async fn check_everything_through_a_gateway(client: Client, mode: &str, revision: &str) {
    let server = fixtures().await;
    let gateway = in_front_of(json!({"url": format!("{}/mcp", server.url()), "prefix": ""})).await;
    everything(client, mode, &gateway, revision).await;
}

async fn everything(client: Client, mode: &str, server: &Gateway, revision: &str) {
    let mut command = client.script("extended", Some(mode));
    let told = told_by(command.args(["http", &format!("{}/mcp", server.url())])).await;
    assert_everything(&told, revision);
}

fn assert_everything(told: &Value, revision: &str) {
    assert_eq!(told["protocolVersion"], revision, "{told:#}");
    let has = |list: &str, item: &str| told[list].as_array().is_some_and(|list| list.contains(&json!(item)));
    assert!(has("prompts", "test_prompt_with_arguments"), "{told:#}");
    assert!(has("resources", "test://static-text"), "{told:#}");
    assert!(has("templates", "test://template/{id}/data"), "{told:#}");
    assert_eq!(told["read"]["uri"], "test://static-text", "{told:#}");
    let text = |pointer: &str| told.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    assert!(text("/filled/text").contains("42"), "{told:#}");
    assert!(text("/prompt/text").contains("one") && text("/prompt/text").contains("two"), "{told:#}");
    assert!(told["completion"].is_array(), "{told:#}");
    assert!(text("/elicitation/content/0/text").contains("ann@example.com"), "{told:#}");
    assert!(text("/sampling/content/0/text").contains("so be it"), "{told:#}");
    assert_eq!(told["asked"], json!(["elicitation", "sampling"]), "{told:#}");
    let progress: Vec<f64> = told["progress"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert_eq!(progress, [0.0, 50.0, 100.0], "{told:#}");
    assert!(told["logs"].as_u64() >= Some(3), "{told:#}");
    assert_eq!(told["toolsChanged"], true, "{told:#}");
}

#[tokio::test]
async fn the_python_client_has_everything_in_a_session() {
    check_everything(Client::Python, "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_python_client_has_everything_without_a_session() {
    check_everything(Client::Python, "auto", "2026-07-28").await;
}

#[tokio::test]
async fn the_typescript_client_has_everything_in_a_session() {
    check_everything(Client::TypeScript, "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_typescript_client_has_everything_without_a_session() {
    check_everything(Client::TypeScript, "2026-07-28", "2026-07-28").await;
}

#[tokio::test]
async fn the_python_client_has_everything_in_a_session_through_a_gateway() {
    check_everything_through_a_gateway(Client::Python, "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_python_client_has_everything_without_a_session_through_a_gateway() {
    check_everything_through_a_gateway(Client::Python, "auto", "2026-07-28").await;
}

#[tokio::test]
async fn the_typescript_client_has_everything_in_a_session_through_a_gateway() {
    check_everything_through_a_gateway(Client::TypeScript, "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_typescript_client_has_everything_without_a_session_through_a_gateway() {
    check_everything_through_a_gateway(Client::TypeScript, "2026-07-28", "2026-07-28").await;
}
