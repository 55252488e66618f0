//! How long a newly started gateway takes to answer, with tools already in its store.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::Bytes;
use tokio::net::TcpListener;

use super::super::gateway::{Gateway, log_of, spawn};
use super::super::load::Connection;
use super::super::report::{Cell, Column, Section, number};
use super::super::requests::{Dialect, list_tools};
use super::{Scene, data_folder, median};

const COUNTS: [usize; 2] = [1_000, 10_000];
const STARTS: usize = 7;
const DEADLINE: Duration = Duration::from_secs(30);
/// Small against what is measured, and long enough not to take the processor from the one who starts.
const RETRY: Duration = Duration::from_micros(500);

const COLUMNS: &[Column] = &[number("tools", 0), number("first answer ms", 1), number("slowest ms", 1)];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    let mut rows = Vec::new();
    for count in COUNTS {
        eprintln!("start: {count} tools in the store");
        let data = data_folder()?;
        let gateway = Gateway::start_with(scene.toolrail, data.path(), count, scene.upstream).await?;
        gateway.process.kill().await?;
        let mut milliseconds = Vec::new();
        for _ in 0..STARTS {
            milliseconds.push(time_one_start(scene, data.path()).await?.as_secs_f64() * 1e3);
        }
        let slowest = milliseconds.iter().copied().fold(0.0, f64::max);
        rows.push(vec![Cell::from(count), Cell::from(median(milliseconds)), Cell::from(slowest)]);
    }
    let title = "From the start of the process to the first answered tools/list".to_owned();
    Ok(Section { title, columns: COLUMNS, rows })
}

async fn time_one_start(scene: &Scene<'_>, data: &std::path::Path) -> Result<Duration> {
    let address = free_address().await?;
    let request = list_tools(address, Dialect::Modern, None);
    let started = Instant::now();
    let mut process = spawn(scene.toolrail, data, &address.to_string(), &[])?;
    // Until the tools are there, the gateway says that it is starting, and hangs up.
    loop {
        if let Some(elapsed) = first_answer(&request, address, started).await {
            process.kill().await?;
            return Ok(elapsed);
        }
        if let Err(error) = process.check_alive() {
            return Err(error.context(log_of(data)));
        }
        ensure!(started.elapsed() < DEADLINE, "no tools within {DEADLINE:?}; {}", log_of(data));
        tokio::time::sleep(RETRY).await;
    }
}

/// How long it took until the tools were there; nothing if they are not yet.
async fn first_answer(request: &Bytes, address: SocketAddr, started: Instant) -> Option<Duration> {
    let mut connection = Connection::open(address).await.ok()?;
    let answer = connection.ask_anyway(request).await.ok()?;
    let elapsed = started.elapsed();
    String::from_utf8_lossy(answer).contains("\"bench.").then_some(elapsed)
}

/// A port that was free a moment ago: the address must be known before the process is started.
async fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}
