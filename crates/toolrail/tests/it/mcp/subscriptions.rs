//! Thousands of clients that only listen: what they cost, and how soon they are told.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::task::JoinSet;
use toolrail_testkit::{Gateway, RawConnection};

use crate::support::{gateway, plain, register};

const LISTENERS: usize = 5000;
/// How many are opened at once: fewer than wait in the backlog of a listening socket.
const AT_ONCE: usize = 100;
/// 22 KB each, in a build without optimisation, where what waits takes more room.
const MOST_MEMORY: u64 = 110 * 1024 * 1024;
/// The aim is one second; this machine may have other work.
const TOLD_WITHIN: Duration = Duration::from_secs(20);

const META: &str = "io.modelcontextprotocol/";

/// Opens a stream and waits until the server has acknowledged it.
async fn listen(url: String, id: usize) -> Result<RawConnection> {
    let meta =
        json!({format!("{META}protocolVersion"): "2026-07-28", format!("{META}clientCapabilities"): {}});
    let request = json!({
        "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
        "params": {"_meta": meta, "notifications": {"toolsListChanged": true}},
    });
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let mut connection = RawConnection::open(&url).await?;
    connection.post("/mcp", &headers, request.to_string().as_bytes()).await?;
    let head = connection.head().await?;
    anyhow::ensure!(head.starts_with("http/1.1 200") && head.contains("text/event-stream"), "{head}");
    connection.until(b"notifications/subscriptions/acknowledged").await?;
    connection.until(b"\n\n").await?;
    Ok(connection)
}

async fn open_all(url: &str) -> Result<Vec<RawConnection>> {
    let mut listeners = Vec::with_capacity(LISTENERS);
    for first in (0..LISTENERS).step_by(AT_ONCE) {
        let mut opening = JoinSet::new();
        for id in first..first + AT_ONCE {
            opening.spawn(listen(url.to_owned(), id));
        }
        while let Some(listener) = opening.join_next().await {
            listeners.push(listener?.context("a stream was not opened")?);
        }
    }
    Ok(listeners)
}

/// Every stream is a file here too.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::try_from(LISTENERS).unwrap() + 500;
    assert!(
        limit.maximum.is_none_or(|most| most >= needed),
        "raise the hard limit of open files to {needed}"
    );
    if limit.current.is_some_and(|now| now < needed) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limit }).unwrap();
    }
}

/// The memory that a process has in use, in bytes.
fn memory_of(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid().unwrap())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_idle_listeners_are_cheap_and_soon_told() {
    raise_file_limit();
    let gateway = gateway().start().await.unwrap();
    register(&gateway, &plain("first", "http://127.0.0.1:1/")).await;
    let before = memory_of(&gateway);
    let listeners = open_all(gateway.url()).await.unwrap();
    let grown = memory_of(&gateway).saturating_sub(before);

    let mut telling = JoinSet::new();
    for mut listener in listeners {
        telling.spawn(async move {
            listener.until(b"notifications/tools/list_changed").await.map(|_| (Instant::now(), listener))
        });
    }
    register(&gateway, &plain("second", "http://127.0.0.1:1/")).await;
    let registered = Instant::now();
    // Comments keep the streams alive, so that a listener by itself would wait for ever.
    let told = tokio::time::timeout(TOLD_WITHIN * 4, telling.join_all()).await;
    let told = told.unwrap_or_else(|_| unreachable!("not every listener was told; {} MB more", grown >> 20));
    let told: Vec<_> = told.into_iter().collect::<Result<_>>().unwrap();
    let last = told.iter().map(|(at, _)| at.saturating_duration_since(registered)).max().unwrap();
    let megabytes = grown / 1024 / 1024;
    eprintln!("{LISTENERS} listeners: {megabytes} MB more, the last one told after {last:?}");
    assert_eq!(told.len(), LISTENERS);
    assert!(grown < MOST_MEMORY, "{LISTENERS} listeners cost {megabytes} MB");
    assert!(last < TOLD_WITHIN, "the last of {LISTENERS} listeners was told after {last:?}");

    // The server lives on without them.
    drop(told);
    let answer = gateway.mcp("ping", json!({})).await.unwrap().json().unwrap();
    assert_eq!(answer["result"], json!({}));
}
