//! Toolrail as the process under test: started on a data folder of its own and filled over its admin interface.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::process::Command;

use super::load::Connection;
use super::process::Process;
use super::requests::{Dialect, list_tools, post_json};

pub(super) const SMALL_TOOL: &str = "bench.small";
pub(super) const LARGE_TOOL: &str = "bench.large";
pub(super) const SLOW_TOOL: &str = "bench.slow";

const START_DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(2);
const TOOLS_PER_BATCH: usize = 500;
const MOST_PAGES: usize = 10_000;

pub(super) struct Gateway {
    pub(super) process: Process,
    pub(super) address: SocketAddr,
}

impl Gateway {
    /// Starts on a free port and waits until `server.json` tells which.
    pub(super) async fn start(toolrail: &Path, data: &Path) -> Result<Self> {
        Self::start_as(toolrail, data, &[]).await
    }

    /// The same with more arguments.
    pub(super) async fn start_as(toolrail: &Path, data: &Path, more: &[String]) -> Result<Self> {
        let announcement = data.join("server.json");
        if announcement.exists() {
            fs::remove_file(&announcement).context("cannot remove an old server.json")?;
        }
        let mut process = spawn(toolrail, data, "127.0.0.1:0", more)?;
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if let Some(address) = read_address(&announcement) {
                return Ok(Self { process, address });
            }
            if let Err(error) = process.check_alive() {
                return Err(error.context(log_of(data)));
            }
            ensure!(
                Instant::now() < deadline,
                "toolrail wrote no server.json in {START_DEADLINE:?}; {}",
                log_of(data)
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Starts a gateway with the three benchmark tools and as many others as are needed for `count`.
    pub(super) async fn start_with(
        toolrail: &Path,
        data: &Path,
        count: usize,
        upstream: SocketAddr,
    ) -> Result<Self> {
        let gateway = Self::start(toolrail, data).await?;
        gateway.register(&definitions(count, upstream)).await?;
        let listed = gateway.pages(Dialect::Modern).await?.tools;
        ensure!(listed == count, "registered {count} tools, but tools/list shows {listed}");
        Ok(gateway)
    }

    async fn register(&self, tools: &[Value]) -> Result<()> {
        let mut connection = Connection::open(self.address).await?;
        for batch in tools.chunks(TOOLS_PER_BATCH) {
            let request = post_json(self.address, "/admin/tools/batch", &json!({ "tools": batch }));
            connection.ask(&request).await.context("cannot register the benchmark's tools")?;
        }
        Ok(())
    }

    /// Walks `tools/list` once, and keeps the requests so that the walk can be repeated cheaply.
    pub(super) async fn pages(&self, dialect: Dialect) -> Result<Pages> {
        let mut connection = Connection::open(self.address).await?;
        let mut pages = Pages { requests: Vec::new(), tools: 0, bytes: 0 };
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let request = list_tools(self.address, dialect, cursor.as_deref());
            let body = connection.ask(&request).await.context("cannot list the tools")?;
            let page: Value =
                serde_json::from_slice(body).context("tools/list answered something else than JSON")?;
            let tools = page["result"]["tools"].as_array().with_context(|| format!("no tools in {page}"))?;
            pages.tools += tools.len();
            pages.bytes += body.len();
            pages.requests.push(request);
            match page["result"]["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(pages),
            }
        }
        bail!("tools/list does not end after {MOST_PAGES} pages")
    }
}

/// One whole walk through `tools/list`.
pub(super) struct Pages {
    pub(super) requests: Vec<Bytes>,
    pub(super) tools: usize,
    pub(super) bytes: usize,
}

/// Starts the binary without waiting for it; its log goes into the data folder.
pub(super) fn spawn(toolrail: &Path, data: &Path, listen: &str, more: &[String]) -> Result<Process> {
    let log = File::create(data.join("bench.log")).context("cannot create the gateway's log")?;
    let mut command = Command::new(toolrail);
    command.arg("serve").arg("--data").arg(data).args(["--listen", listen]).args(more);
    // Whoever counts tools counts those that were registered.
    command.arg("--discovery=false");
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Process::spawn(&mut command)
}

/// A program that runs the gateway with one thread for calls, so that nobody steals work from another; in another program, if
/// one is named.
pub(super) fn with_one_thread(folder: &Path, toolrail: &Path, within: &str) -> Result<PathBuf> {
    let path = folder.join("toolrail");
    let script = format!("#!/bin/sh\nTOKIO_WORKER_THREADS=1 exec {within} '{}' \"$@\"\n", toolrail.display());
    fs::write(&path, script).context("cannot write the script that starts the gateway")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

pub(super) fn log_of(data: &Path) -> String {
    let log = fs::read_to_string(data.join("bench.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    format!("its last words:\n{}", lines[lines.len().saturating_sub(12)..].join("\n"))
}

fn read_address(announcement: &Path) -> Option<SocketAddr> {
    let text = fs::read_to_string(announcement).ok()?;
    let json: Value = serde_json::from_str(&text).ok()?;
    let authority = json["url"].as_str()?.strip_prefix("http://")?;
    authority.split('/').next()?.parse().ok()
}

fn definitions(count: usize, upstream: SocketAddr) -> Vec<Value> {
    let measured = [(SMALL_TOOL, "small"), (LARGE_TOOL, "large"), (SLOW_TOOL, "slow50")];
    let measured = measured.map(|(name, path)| definition(name, &format!("http://{upstream}/{path}")));
    let others = (0..count.saturating_sub(measured.len()))
        .map(|number| definition(&format!("bench.other_{number:05}"), &format!("http://{upstream}/small")));
    measured.into_iter().chain(others).collect()
}

pub(super) fn definition(name: &str, url: &str) -> Value {
    json!({
        "name": name,
        "description": "Current weather for a city: temperature, wind and a short summary of the next hours",
        "type": "http",
        "inputSchema": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string", "description": "Name of the city, in any language"}},
        },
        "http": {"method": "GET", "url": url, "query": {"q": "{{args.city}}"}},
    })
}
