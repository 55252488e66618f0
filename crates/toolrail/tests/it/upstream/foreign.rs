//! Servers that others made, direct and through a gateway: whatever check of the conformance suite passes direct passes
//! through, and lists and results are the same JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use toolrail_testkit::{Gateway, wait_until};

use crate::support::{gateway, installed, register};
use crate::upstream::session::Session;

const DONE_WITHIN: Duration = Duration::from_mins(4);
const STARTED_WITHIN: Duration = Duration::from_mins(1);

/// A server that others made.
struct Foreign {
    url: String,
    _child: Child,
}

impl Foreign {
    async fn everything() -> Self {
        Self::everything_over("streamableHttp", "/mcp").await
    }

    async fn everything_over(transport: &str, path: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let modules = PathBuf::from(installed("TOOLRAIL_TEST_NODE_MODULES"));
        let child = Command::new(installed("TOOLRAIL_TEST_NODE"))
            .arg(modules.join("@modelcontextprotocol/server-everything/dist/index.js"))
            .arg(transport)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        wait_until("server-everything to listen", STARTED_WITHIN, async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()
        })
        .await
        .unwrap();
        Self { url: format!("http://127.0.0.1:{port}{path}"), _child: child }
    }

    async fn fastmcp(release: &str) -> Self {
        let python = Path::new(&installed("TOOLRAIL_TEST_FASTMCP")).join(release).join("bin/python");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/fastmcp/server.py");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = tokio::time::timeout(STARTED_WITHIN, lines.next_line()).await.unwrap().unwrap().unwrap();
        // It listens only a moment after it has printed where.
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        wait_until("the server to listen", STARTED_WITHIN, async || {
            tokio::net::TcpStream::connect(&address).await.ok()
        })
        .await
        .unwrap();
        Self { url, _child: child }
    }

    /// A gateway that offers what the server does, under the same names.
    async fn behind_a_gateway(&self) -> Gateway {
        let gateway = gateway().start().await.unwrap();
        let definition = json!({"name": "foreign", "description": "A server of others", "type": "mcp",
            "mcp": {"url": self.url, "prefix": ""}});
        register(&gateway, &definition).await;
        wait_until("the gateway to know the server", STARTED_WITHIN, async || {
            let tools = gateway.get("/admin/tools/foreign").await.ok()?.json().ok()?;
            let known = gateway.mcp("tools/list", json!({})).await.ok()?.json().ok()?;
            (!known["result"]["tools"].as_array()?.is_empty()).then_some(tools)
        })
        .await
        .unwrap_or_else(|error| unreachable!("{error:#}; stderr: {}", gateway.stderr()));
        gateway
    }
}

fn endpoint(gateway: &Gateway) -> String {
    format!("{}/mcp", gateway.url())
}

/// The checks of the newest suite, by scenario and id: whether all of that id passed, and why not.
async fn checks(url: &str) -> BTreeMap<(String, String), Result<(), String>> {
    let results = tempfile::tempdir().unwrap();
    let modules = PathBuf::from(installed("TOOLRAIL_TEST_NODE_MODULES"));
    let running = Command::new(installed("TOOLRAIL_TEST_NODE"))
        .arg(modules.join("conformance02/dist/index.js"))
        .args(["server", "--url", url, "--suite", "all", "--output-dir"])
        .arg(results.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    // Scenarios for which a server has no fixtures fail, so how the suite ends says nothing.
    tokio::time::timeout(DONE_WITHIN, running).await.unwrap().unwrap();
    let mut checks = BTreeMap::new();
    for folder in std::fs::read_dir(results.path()).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().to_string_lossy().into_owned();
        // What follows is when it was run.
        let scenario = name.split_once("-20").map_or(&*name, |(scenario, _)| scenario).to_owned();
        let Ok(text) = std::fs::read(folder.path().join("checks.json")) else { continue };
        for check in serde_json::from_slice::<Vec<Value>>(&text).unwrap() {
            let key = (scenario.clone(), check["id"].as_str().unwrap_or_default().to_owned());
            let passed = match check["status"].as_str() {
                Some("FAILURE") => Err(check["errorMessage"].to_string()),
                Some("SUCCESS") => Ok(()),
                _ => continue,
            };
            let before = checks.entry(key).or_insert(Ok(()));
            if before.is_ok() {
                *before = passed;
            }
        }
    }
    checks
}

/// What these servers answer about tools that they do not have passes as if it were the answer of a tool; the gateway refuses
/// such calls, as the standard asks. Nothing is tested by either.
fn is_vacuous(why: &str) -> bool {
    why.contains("unknown tool") || why.contains("Not testable: server does not list")
}

async fn check_the_suite(server: Foreign, floor: usize) {
    let gateway = server.behind_a_gateway().await;
    let direct = checks(&server.url).await;
    let through = checks(&endpoint(&gateway)).await;
    let passed: Vec<_> = direct.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(key, _)| key).collect();
    assert!(passed.len() >= floor, "only {} checks passed direct", passed.len());
    let lost: Vec<String> = passed
        .into_iter()
        // A check that is not made through the gateway is one of streams, where the gateway answers with JSON.
        .filter_map(|key| Some((key, through.get(key)?.as_ref().err()?)))
        .filter(|(_, why)| !is_vacuous(why))
        .map(|((scenario, id), why)| format!("{scenario} {id}: {why}"))
        .collect();
    assert!(lost.is_empty(), "pass direct and not through the gateway:\n{}", lost.join("\n"));
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// The lists of the server, then what it answers to those requests.
async fn check_the_answers(server: Foreign, requests: &[(&str, Value)]) {
    let gateway = server.behind_a_gateway().await;
    let mut direct = Session::open(&server.url, json!({})).await;
    let mut through = Session::open(&endpoint(&gateway), json!({})).await;
    for list in LISTS {
        let (mut wanted, listed) = (direct.list(list).await, through.list(list).await);
        let own: BTreeSet<_> = listed.keys().filter(|key| !wanted.contains_key(*key)).cloned().collect();
        let foreign: BTreeMap<_, _> = listed.into_iter().filter(|(key, _)| !own.contains(key)).collect();
        let lost: Vec<_> = wanted.keys().filter(|key| !foreign.contains_key(*key)).collect();
        assert!(lost.is_empty(), "{}: not through the gateway: {lost:?}", list.0);
        for (key, entry) in foreign {
            assert_eq!(wanted.remove(&key), Some(entry), "{} {key}", list.0);
        }
    }
    for (method, params) in requests {
        let wanted = direct.ask(method, params.clone()).await;
        assert!(wanted.get("code").is_none(), "{method} {params} fails direct: {wanted}");
        assert_eq!(through.ask(method, params.clone()).await, wanted, "{method} {params}");
    }
}

fn call(name: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": name, "arguments": arguments}))
}

fn requests_of_fastmcp() -> Vec<(&'static str, Value)> {
    vec![
        call("test_simple_text", json!({})),
        call("test_error_handling", json!({})),
        call("structured", json!({"city": "Oslo", "days": 7})),
        call("structured", json!({})),
        call("linked", json!({})),
        ("resources/read", json!({"uri": "test://static-text"})),
        ("resources/read", json!({"uri": "test://static-binary"})),
        ("resources/read", json!({"uri": "test://template/7/data"})),
        ("prompts/get", json!({"name": "test_simple_prompt"})),
        (
            "prompts/get",
            json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
        ),
    ]
}

#[tokio::test]
async fn the_suite_passes_with_server_everything_as_it_does_direct() {
    check_the_suite(Foreign::everything().await, 40).await;
}

#[tokio::test]
async fn the_suite_passes_with_fastmcp_2_as_it_does_direct() {
    check_the_suite(Foreign::fastmcp("2").await, 60).await;
}

#[tokio::test]
async fn the_suite_passes_with_fastmcp_3_as_it_does_direct() {
    check_the_suite(Foreign::fastmcp("3").await, 60).await;
}

#[tokio::test]
async fn the_suite_passes_with_fastmcp_4_as_it_does_direct() {
    check_the_suite(Foreign::fastmcp("4").await, 100).await;
}

#[tokio::test]
async fn fastmcp_answers_the_same_through_a_gateway() {
    for release in ["2", "3", "4"] {
        check_the_answers(Foreign::fastmcp(release).await, &requests_of_fastmcp()).await;
    }
}

#[tokio::test]
async fn server_everything_answers_the_same_through_a_gateway() {
    let document = json!({"uri": "demo://resource/static/document/architecture.md"});
    let requests = [
        call("echo", json!({"message": "é"})),
        call("get-sum", json!({"a": 1.5, "b": 2})),
        call("get-tiny-image", json!({})),
        call("get-structured-content", json!({"location": "New York"})),
        call("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        call("get-resource-links", json!({"count": 2})),
        ("resources/read", document),
        ("prompts/get", json!({"name": "simple-prompt"})),
        ("prompts/get", json!({"name": "args-prompt", "arguments": {"city": "Oslo"}})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}}),
        ),
    ];
    check_the_answers(Foreign::everything().await, &requests).await;
}

#[tokio::test]
async fn a_resource_that_a_server_links_but_does_not_list_is_read_and_followed() {
    let server = Foreign::everything().await;
    let gateway = server.behind_a_gateway().await;
    let mut session = Session::open(&endpoint(&gateway), json!({})).await;
    let data = "data:text/plain;base64,aGVsbG8=";
    let arguments = json!({"name": "hello.txt", "data": data, "outputType": "resourceLink"});
    let result =
        session.ask("tools/call", json!({"name": "gzip-file-as-resource", "arguments": arguments})).await;
    let uri = result["content"][0]["uri"].as_str().unwrap_or_else(|| unreachable!("{result}")).to_owned();
    assert!(!session.list(LISTS[2]).await.contains_key(&uri), "it is in no list");
    let read = session.ask("resources/read", json!({"uri": uri})).await;
    assert!(read["contents"][0]["blob"].is_string(), "{read}");
    assert_eq!(session.ask("resources/subscribe", json!({"uri": uri})).await, json!({}));
    let unknown = session.ask("resources/read", json!({"uri": "demo://resource/nothing"})).await;
    assert!(unknown["code"].is_i64(), "{unknown}");
}

#[tokio::test]
async fn tools_that_a_server_has_only_for_clients_that_can_be_asked_are_listed() {
    let server = Foreign::everything().await;
    let gateway = server.behind_a_gateway().await;
    let mut direct =
        Session::open(&server.url, json!({"elicitation": {}, "sampling": {}, "roots": {}})).await;
    let direct = direct.list(LISTS[0]).await;
    assert!(direct.contains_key("trigger-sampling-request"), "{:?}", direct.keys());
    let mut through = Session::open(&endpoint(&gateway), json!({"sampling": {}})).await;
    let through = through.list(LISTS[0]).await;
    let lost: Vec<_> = direct.keys().filter(|name| !through.contains_key(*name)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_what_a_tool_needs() {
    let server = Foreign::everything().await;
    let gateway = server.behind_a_gateway().await;
    let mut session = Session::open(&endpoint(&gateway), json!({})).await;
    for (tool, capability) in [
        ("trigger-sampling-request", "sampling"),
        ("trigger-elicitation-request", "elicitation"),
        ("get-roots-list", "roots"),
    ] {
        let result = session.ask("tools/call", json!({"name": tool, "arguments": {"prompt": "x"}})).await;
        let told = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(told.contains(&format!("declare the capability \"{capability}\"")), "{tool}: {result}");
    }
}

#[tokio::test]
async fn what_a_client_subscribed_to_is_told_to_it_and_nobody_else() {
    let server = Foreign::everything().await;
    let gateway = server.behind_a_gateway().await;
    let uri = "demo://resource/static/document/architecture.md";
    let (mut first, mut second) = (
        Session::open(&endpoint(&gateway), json!({})).await,
        Session::open(&endpoint(&gateway), json!({})).await,
    );
    let (mut to_first, mut to_second) = (first.stream().await, second.stream().await);
    for session in [&mut first, &mut second] {
        assert_eq!(session.ask("resources/subscribe", json!({"uri": uri})).await, json!({}));
    }
    // The server tells only those who have asked for that, in the same session.
    first.ask("tools/call", json!({"name": "toggle-subscriber-updates", "arguments": {}})).await;
    let told = to_first.until(b"notifications/resources/updated").await.unwrap();
    assert!(String::from_utf8_lossy(&told).contains("notifications/resources/updated"));
    register(
        &gateway,
        &json!({"name": "later", "description": "Later", "type": "http",
        "http": {"method": "GET", "url": "http://127.0.0.1:9/"}}),
    )
    .await;
    let heard = to_second.until(b"tools/list_changed").await.unwrap();
    assert!(!String::from_utf8_lossy(&heard).contains("resources/updated"), "the second was told as well");
}

#[tokio::test]
async fn a_server_that_speaks_only_http_sse_is_told_from_a_wrong_address() {
    let server = Foreign::everything_over("sse", "/sse").await;
    let gateway = gateway().start().await.unwrap();
    for (name, url) in [("old", server.url.clone()), ("wrong", server.url.replace("/sse", "/nothing"))] {
        let definition = json!({"name": name, "description": "A server", "type": "mcp", "mcp": {"url": url}});
        register(&gateway, &definition).await;
    }
    let told = wait_until("both to have failed", STARTED_WITHIN, async || {
        let problems = gateway.get("/admin/problems").await.ok()?.text();
        (problems.contains("/sse") && problems.contains("/nothing")).then_some(problems)
    });
    let told = told.await.unwrap();
    assert!(told.contains("/sse speaks HTTP+SSE, the transport of 2024-11-05"), "{told}");
    assert!(told.contains("/nothing answered 404 Not Found; check that the URL"), "{told}");
}

#[tokio::test]
async fn what_a_server_says_about_its_use_reaches_models_under_its_name() {
    let server = Foreign::fastmcp("3").await;
    let gateway = server.behind_a_gateway().await;
    let session = Session::open(&endpoint(&gateway), json!({})).await;
    let instructions = session.initialized["result"]["instructions"].as_str().unwrap_or_default();
    assert!(instructions.contains("Ask for the weather before"), "{instructions:?}");
    assert!(instructions.contains("The upstream server \"foreign\""), "{instructions:?}");
}

#[tokio::test]
async fn a_call_that_is_a_task_at_a_server_is_one_through_a_gateway() {
    let server = Foreign::everything().await;
    let gateway = server.behind_a_gateway().await;
    let mut session = Session::open(&endpoint(&gateway), json!({})).await;
    let announced = &session.initialized["result"]["capabilities"]["tasks"];
    assert_eq!(*announced, json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}));
    let mut to_client = session.stream().await;
    let call = |name: &str| json!({"name": name, "arguments": {"topic": "rails", "message": "x"}, "task": {"ttl": 60000}});
    let created = session.ask("tools/call", call("simulate-research-query")).await;
    let id = created["task"]["taskId"].as_str().unwrap_or_else(|| unreachable!("{created}")).to_owned();
    assert!(id.starts_with("foreign~"), "{id}");
    let by_id = || json!({"taskId": id});
    assert_eq!(session.ask("tasks/get", by_id()).await["taskId"], *id);
    assert_eq!(session.ask("tasks/list", json!({})).await["tasks"][0]["taskId"], *id);
    assert_eq!(session.ask("tasks/list", json!({"cursor": "made up"})).await["code"], -32602);
    let told = to_client.until(b"notifications/tasks/status").await.unwrap();
    assert!(!String::from_utf8_lossy(&told).contains("unknown"));
    let result = session.ask("tasks/result", by_id()).await;
    assert!(result["content"][0]["text"].as_str().unwrap_or_default().contains("rails"), "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], *id);
    assert_eq!(session.ask("tasks/get", by_id()).await["status"], "completed");
    let own = id.trim_start_matches("foreign~");
    for unknown in [own, "foreign~x", "x~y", ""] {
        let refused = session.ask("tasks/get", json!({"taskId": unknown})).await;
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    assert_eq!(session.ask("tools/call", call("echo")).await["code"], -32601, "it is no task");
}
