//! The scenarios of the official conformance suite for authorisation servers, against the broker. The suite has two of them
//! (0.2.0-alpha.12): `authorization-server-metadata-endpoint` and `authorization-code-grant`. Its other scenarios about
//! authorisation (`auth/*`) test clients and play the server themselves; what they ask of a server that is not an authorisation
//! server, its protected resource metadata and its challenges, is in `identity/tokens.rs`.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use toolrail_testkit::{Balancer, HttpClient};

use super::{Browser, Stage, register};
use crate::support::installed;

const WITHIN: Duration = Duration::from_mins(1);
/// The suite's checks: two of the description, one of the way to a token.
const CHECKS: usize = 3;

#[tokio::test]
async fn the_broker_passes_the_suite_for_authorisation_servers() -> Result<()> {
    let balancer = Balancer::start(&["http://127.0.0.1:1"]).await?;
    let stage = Stage::at(balancer.url(), json!({})).await?;
    let gateway = stage.gateway().start().await?;
    balancer.moved(0, gateway.url());
    let port = free_port().await?;
    let client = register(&gateway, &[&format!("http://127.0.0.1:{port}/callback")]).await?;

    let results = tempfile::tempdir()?;
    let suite =
        std::path::Path::new(&installed("TOOLRAIL_TEST_NODE_MODULES")).join("conformance02/dist/index.js");
    let mut running = Command::new(installed("TOOLRAIL_TEST_NODE"))
        .arg(suite)
        .args(["authorization", "--url", balancer.url(), "--client-id", &client])
        .args(["--resource", &format!("{}/mcp", balancer.url()), "--port", &port.to_string(), "--output-dir"])
        .arg(results.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(running.stdout.take().context("no output")?).lines();
    let mut said = String::new();
    let whole = async {
        while let Some(line) = lines.next_line().await? {
            said.push_str(&line);
            said.push('\n');
            if let Some(path) = line.trim().strip_prefix(balancer.url()) {
                // What the suite asks a person to do.
                let mut browser = Browser { public: balancer.url().to_owned(), ..Browser::default() };
                let end = browser.whole_way(&gateway, path).await?;
                HttpClient::new().send_json(http::Method::GET, &end, None).await?;
            }
        }
        anyhow::Ok(running.wait().await?)
    };
    let status = tokio::time::timeout(WITHIN, whole).await.context("the suite does not end")??;
    let checks = checks_in(results.path())?;
    let failed: Vec<&Value> = checks.iter().filter(|check| check["status"] != "SUCCESS").collect();
    assert!(failed.is_empty() && status.success(), "{status} {failed:#?}\n{said}");
    assert!(checks.len() >= CHECKS, "only {} checks: {checks:#?}", checks.len());
    Ok(())
}

/// The checks of all scenarios, each of which has a folder.
fn checks_in(results: &std::path::Path) -> Result<Vec<Value>> {
    let mut checks = Vec::new();
    for scenario in std::fs::read_dir(results)? {
        let text = std::fs::read(scenario?.path().join("checks.json"))?;
        checks.extend(serde_json::from_slice::<Vec<Value>>(&text)?);
    }
    Ok(checks)
}

/// The suite is told a port, and cannot choose one itself.
async fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}
