//! The official conformance suites, against the example server that has their fixtures and against a gateway that
//! fronts that server. `cargo xtask test` installs the suites, builds the server and says where they are.
//! There is no list of expected failures.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use toolrail_testkit::{Gateway, wait_until};

use crate::support::{gateway, installed, listed, register};

/// One way of running one release of the suite.
struct Suite {
    package: &'static str,
    arguments: [&'static str; 2],
    /// How many checks must pass at least, so that an empty run proves nothing.
    floor: usize,
}

// Where an answer is JSON and not a stream, the checks of streams are remarks, which do not count.
const NEWEST_REVISION: Suite =
    Suite { package: "conformance02", arguments: ["--requirements", "2026-07-28"], floor: 196 };
const SESSION_REVISION: Suite =
    Suite { package: "conformance02", arguments: ["--requirements", "2025-11-25"], floor: 83 };
const EVERYTHING: Suite = Suite { package: "conformance02", arguments: ["--suite", "all"], floor: 233 };
const OLDER_SUITE: Suite = Suite { package: "conformance01", arguments: ["--suite", "all"], floor: 46 };

const DONE_WITHIN: Duration = Duration::from_mins(5);
const OFFERED_WITHIN: Duration = Duration::from_secs(20);

/// The server with the fixtures.
pub(crate) async fn fixtures() -> Gateway {
    Gateway::builder(installed("TOOLRAIL_TEST_CONFORMANCE")).start().await.unwrap()
}

/// A gateway that offers what the server with the fixtures offers, under the same names.
pub(crate) async fn in_front_of(settings: Value) -> Gateway {
    let gateway = gateway().arg("--allow-commands").start().await.unwrap();
    let definition =
        json!({"name": "fixtures", "description": "The suite's fixtures", "type": "mcp", "mcp": settings});
    register(&gateway, &definition).await;
    wait_until("the gateway to list the fixtures", OFFERED_WITHIN, async || {
        let names = listed(&gateway).await.ok()?;
        names.iter().any(|name| name == "test_simple_text").then_some(())
    })
    .await
    .unwrap_or_else(|error| unreachable!("{error:#}; stderr: {}", gateway.stderr()));
    gateway
}

/// Hanging up on a client, to be polled, is between the server and that client: a gateway before it answers at once.
const CHECKS_OF_POLLING: usize = 3;

async fn check_direct(suite: Suite) {
    let server = fixtures().await;
    check(&suite, &server).await;
}

async fn check_through_a_gateway(mut suite: Suite) {
    suite.floor -= CHECKS_OF_POLLING;
    let server = fixtures().await;
    let gateway = in_front_of(json!({"url": format!("{}/mcp", server.url()), "prefix": ""})).await;
    check(&suite, &gateway).await;
}

async fn check_through_a_gateway_over_stdio(mut suite: Suite) {
    suite.floor -= CHECKS_OF_POLLING;
    let data = tempfile::tempdir().unwrap();
    let command = installed("TOOLRAIL_TEST_CONFORMANCE");
    let settings = json!({"command": command, "args": ["stdio", "--data", data.path()], "prefix": ""});
    let gateway = in_front_of(settings).await;
    check(&suite, &gateway).await;
}

/// Runs the suite and reads the results that it wrote, check by check.
async fn check(suite: &Suite, server: &Gateway) {
    let results = tempfile::tempdir().unwrap();
    let modules = PathBuf::from(installed("TOOLRAIL_TEST_NODE_MODULES"));
    let running = Command::new(installed("TOOLRAIL_TEST_NODE"))
        .arg(modules.join(suite.package).join("dist/index.js"))
        .args(["server", "--url", &format!("{}/mcp", server.url()), "--output-dir"])
        .arg(results.path())
        .args(suite.arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(DONE_WITHIN, running).await.unwrap().unwrap();
    let tally = Tally::of(results.path());
    let failed = tally.failed.join("\n");
    let log = String::from_utf8_lossy(&output.stdout);
    let summary = log.split_once("=== SUMMARY ===").map_or(&*log, |(_, summary)| summary);
    assert!(tally.failed.is_empty(), "{} checks failed:\n{failed}\n{summary}", tally.failed.len());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the suite ended with {}: {summary}\n{told}", output.status);
    assert!(
        tally.passed >= suite.floor,
        "only {} checks passed, not {}: {summary}",
        tally.passed,
        suite.floor
    );
}

/// What the suite found.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
}

impl Tally {
    /// Each scenario has a folder with a file of its checks.
    fn of(results: &Path) -> Self {
        let mut tally = Self::default();
        for scenario in std::fs::read_dir(results).unwrap() {
            let scenario = scenario.unwrap();
            let text = std::fs::read(scenario.path().join("checks.json")).unwrap();
            for check in serde_json::from_slice::<Vec<Value>>(&text).unwrap() {
                tally.add(&scenario.file_name().to_string_lossy(), &check);
            }
        }
        tally
    }

    fn add(&mut self, scenario: &str, check: &Value) {
        match check["status"].as_str() {
            Some("SUCCESS") => self.passed += 1,
            Some("FAILURE") => {
                let details = check["details"].to_string();
                let details: String = details.chars().take(600).collect();
                self.failed.push(format!("{scenario} {}: {} {details}", check["id"], check["errorMessage"]));
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn the_newest_revision_is_served() {
    check_direct(NEWEST_REVISION).await;
}

#[tokio::test]
async fn the_revision_with_sessions_is_served() {
    check_direct(SESSION_REVISION).await;
}

#[tokio::test]
async fn every_scenario_of_the_suite_passes() {
    check_direct(EVERYTHING).await;
}

#[tokio::test]
async fn every_scenario_of_the_older_suite_passes() {
    check_direct(OLDER_SUITE).await;
}

#[tokio::test]
async fn the_newest_revision_is_served_through_a_gateway() {
    check_through_a_gateway(NEWEST_REVISION).await;
}

#[tokio::test]
async fn the_revision_with_sessions_is_served_through_a_gateway() {
    check_through_a_gateway(SESSION_REVISION).await;
}

#[tokio::test]
async fn every_scenario_of_the_suite_passes_through_a_gateway() {
    check_through_a_gateway(EVERYTHING).await;
}

#[tokio::test]
async fn every_scenario_of_the_older_suite_passes_through_a_gateway() {
    check_through_a_gateway(OLDER_SUITE).await;
}

#[tokio::test]
async fn the_newest_revision_is_served_through_a_gateway_over_stdio() {
    check_through_a_gateway_over_stdio(NEWEST_REVISION).await;
}

#[tokio::test]
async fn the_revision_with_sessions_is_served_through_a_gateway_over_stdio() {
    check_through_a_gateway_over_stdio(SESSION_REVISION).await;
}
