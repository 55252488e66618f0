//! The official clients, as people use them. `cargo xtask test` installs them and says where.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;
use toolrail_testkit::Upstream;

use crate::support::{BINARY, gateway, register, weather};

/// How a client is started.
#[derive(Clone, Copy)]
enum Client {
    Python,
    TypeScript,
}

impl Client {
    /// Runs one exchange; the script prints one line of JSON.
    async fn run(self, mode: Option<&str>, target: &[&str]) -> Value {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
        let (program, script) = match self {
            Self::Python => (installed("TOOLRAIL_TEST_PYTHON"), scripts.join("python/one_call.py")),
            Self::TypeScript => (installed("TOOLRAIL_TEST_NODE"), scripts.join("typescript/one_call.mjs")),
        };
        let mut command = Command::new(program);
        command.arg(script).args(["--tool", "weather.search", "--args", r#"{"city":"上海"}"#]);
        if let Some(mode) = mode {
            command.args(["--mode", mode]);
        }
        let output = command.args(target).stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{target:?}: {told}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn installed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| unreachable!("{variable} is not set; run the tests with `cargo xtask test`"))
}

/// Connects with both transports and checks the whole exchange.
async fn check(client: Client, mode: Option<&str>, revision: &str) {
    let (gateway, upstream) = (gateway().start().await.unwrap(), Upstream::start().await.unwrap());
    register(&gateway, &weather("weather.search", &upstream.url("/echo"))).await;
    let url = format!("{}/mcp", gateway.url());
    let data = gateway.data().to_str().unwrap().to_owned();
    let targets: [&[&str]; 3] = [
        &["http", &url],
        &["stdio", BINARY, "stdio", "--url", gateway.url()],
        &["stdio", BINARY, "stdio", "--data", &data],
    ];
    for target in targets {
        let told = client.run(mode, target).await;
        assert_eq!(told["protocolVersion"], revision, "{target:?} {told}");
        assert_eq!(told["tools"], json!(["weather.search"]), "{target:?} {told}");
        assert_eq!(told["result"]["structuredContent"]["query"], "q=%E4%B8%8A%E6%B5%B7", "{target:?} {told}");
        assert_eq!(told["unknownTool"]["code"], -32602, "{target:?} {told}");
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
async fn the_typescript_client_works_as_it_is() {
    check(Client::TypeScript, None, "2025-11-25").await;
}

#[tokio::test]
async fn the_typescript_client_works_with_the_newest_revision() {
    check(Client::TypeScript, Some("2026-07-28"), "2026-07-28").await;
}
