//! The load generator: keep-alive HTTP/1.1 connections that send the same bytes again as soon as the answer is in.
//! It reads just enough of an answer to know where it ends and that it is the right one.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::process::Process;

const ANSWER_DEADLINE: Duration = Duration::from_secs(30);
const MOST_ANSWER_BYTES: usize = 256 * 1024 * 1024;
/// Answers of one kind may differ by a counter or a duration, not by more.
const LENGTH_TOLERANCE: usize = 64;

/// What to send where, and how to know the answer.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    pub(super) request: Bytes,
    pub(super) marker: &'static str,
}

/// What one window of load gave.
pub(super) struct LoadMeasure {
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) calls_per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) cpu_us_per_call: f64,
    pub(super) resident_bytes: u64,
}

/// Loads a target for one window and reads what that cost the process under test.
pub(super) async fn measure(
    target: &Target,
    connections: usize,
    window: Duration,
    process: &Process,
) -> Result<LoadMeasure> {
    let opened = open_all(target, connections).await?;
    let (opened, _) = drive(opened, window / 8).await?;
    let cpu_before = process.cpu()?;
    let started = Instant::now();
    let (_, mut tally) = drive(opened, window).await?;
    let elapsed = started.elapsed();
    let cpu = process.cpu()?.since(&cpu_before);
    tally.latencies.sort_unstable();
    let calls = tally.latencies.len() as u64;
    ensure!(calls > 0, "no call to {} was answered in {window:?}", target.address);
    Ok(LoadMeasure {
        calls,
        errors: tally.errors,
        calls_per_second: as_float(calls) / elapsed.as_secs_f64(),
        p50_us: percentile(&tally.latencies, 50),
        p99_us: percentile(&tally.latencies, 99),
        cpu_us_per_call: cpu.as_secs_f64() * 1e6 / as_float(calls),
        resident_bytes: process.memory()?.resident,
    })
}

/// One keep-alive connection that knows what a good answer looks like.
pub(super) struct Connection {
    stream: TcpStream,
    request: Bytes,
    buffer: Vec<u8>,
    body_length: usize,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let stream =
            TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: Bytes::new(), buffer: Vec::with_capacity(16 * 1024), body_length: 0 })
    }

    /// Sends a request and returns the body of a 200 answer.
    pub(super) async fn ask(&mut self, request: &Bytes) -> Result<&[u8]> {
        let answer = self.bounded_exchange(request).await?;
        let body = &self.buffer[answer.head_length..answer.end];
        if !answer.is_ok {
            let head = String::from_utf8_lossy(&self.buffer[..answer.head_length]);
            let excerpt = String::from_utf8_lossy(&body[..body.len().min(400)]);
            bail!("answer is not 200: {} {excerpt}", head.lines().next().unwrap_or_default());
        }
        Ok(body)
    }

    /// Sends a request and returns the body of the answer, whatever its status.
    pub(super) async fn ask_anyway(&mut self, request: &Bytes) -> Result<&[u8]> {
        let answer = self.bounded_exchange(request).await?;
        Ok(&self.buffer[answer.head_length..answer.end])
    }

    async fn bounded_exchange(&mut self, request: &Bytes) -> Result<LoadAnswer> {
        let answer = tokio::time::timeout(ANSWER_DEADLINE, self.exchange(request)).await;
        answer.with_context(|| format!("no answer within {ANSWER_DEADLINE:?}"))?
    }

    /// Opens a connection and checks one whole answer, so that an error cannot be counted as speed.
    async fn open_checked(target: Target) -> Result<Self> {
        let mut connection = Self::open(target.address).await?;
        let body = connection.ask(&target.request).await?;
        let text = String::from_utf8_lossy(body);
        let is_right = text.contains(target.marker) && !text.contains(r#""isError":true"#);
        ensure!(is_right, "unexpected answer: {}", text.chars().take(400).collect::<String>());
        connection.body_length = body.len();
        connection.request = target.request;
        Ok(connection)
    }

    /// One call under load: false when the answer is not like the checked one.
    async fn repeat(&mut self) -> Result<bool> {
        let request = self.request.clone();
        let answer = self.exchange(&request).await?;
        let length = answer.end - answer.head_length;
        Ok(answer.is_ok && length.abs_diff(self.body_length) <= LENGTH_TOLERANCE)
    }

    async fn exchange(&mut self, request: &Bytes) -> Result<LoadAnswer> {
        self.stream.write_all(request).await.context("cannot send")?;
        self.buffer.clear();
        let mut framing = None;
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.context("cannot receive")?;
            ensure!(read > 0, "the server closed the connection");
            ensure!(
                self.buffer.len() <= MOST_ANSWER_BYTES,
                "answer is larger than {MOST_ANSWER_BYTES} bytes"
            );
            if framing.is_none() {
                framing = Framing::read(&self.buffer)?;
                if let Some(Framing { head_length, body: Body::Length(length), .. }) = framing {
                    self.buffer.reserve((head_length + length).saturating_sub(self.buffer.len()));
                }
            }
            if let Some(answer) = framing.as_ref().and_then(|framing| framing.whole_answer(&self.buffer)) {
                return Ok(answer);
            }
        }
    }
}

/// Where an answer lies in the buffer.
struct LoadAnswer {
    is_ok: bool,
    head_length: usize,
    end: usize,
}

struct Framing {
    is_ok: bool,
    head_length: usize,
    body: Body,
}

enum Body {
    Length(usize),
    Chunked,
}

impl Framing {
    /// Nothing as long as the head is incomplete.
    fn read(buffer: &[u8]) -> Result<Option<Self>> {
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let head = str::from_utf8(&buffer[..end]).context("the answer's head is not text")?;
        let header = |wanted: &str| {
            let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
        };
        let body = match header("content-length") {
            Some(length) => {
                Body::Length(length.parse().with_context(|| format!("bad content-length {length}"))?)
            }
            None if header("transfer-encoding") == Some("chunked") => Body::Chunked,
            None => Body::Length(0),
        };
        Ok(Some(Self { is_ok: head.starts_with("HTTP/1.1 200"), head_length: end + 4, body }))
    }

    fn whole_answer(&self, buffer: &[u8]) -> Option<LoadAnswer> {
        let is_whole = match self.body {
            Body::Length(length) => buffer.len() >= self.head_length + length,
            // The answers are JSON, in which a line of its own with a zero cannot stand.
            Body::Chunked => buffer[self.head_length - 2..].ends_with(b"\r\n0\r\n\r\n"),
        };
        is_whole.then_some(LoadAnswer { is_ok: self.is_ok, head_length: self.head_length, end: buffer.len() })
    }
}

/// Calls that were answered rightly, by how long each took, and the others.
#[derive(Default)]
struct Tally {
    latencies: Vec<u32>,
    errors: u64,
}

async fn open_all(target: &Target, connections: usize) -> Result<Vec<Connection>> {
    let mut opening = JoinSet::new();
    for _ in 0..connections {
        opening.spawn(Connection::open_checked(target.clone()));
    }
    opening.join_all().await.into_iter().collect()
}

async fn drive(connections: Vec<Connection>, window: Duration) -> Result<(Vec<Connection>, Tally)> {
    let stop = Instant::now() + window;
    let mut driving = JoinSet::new();
    for connection in connections {
        driving.spawn(drive_one(connection, stop));
    }
    let whole = tokio::time::timeout(window + ANSWER_DEADLINE, driving.join_all()).await;
    let mut total = Tally::default();
    let mut survivors = Vec::new();
    for (connection, tally) in whole.with_context(|| format!("calls hang for {ANSWER_DEADLINE:?}"))? {
        total.latencies.extend(tally.latencies);
        total.errors += tally.errors;
        survivors.extend(connection);
    }
    Ok((survivors, total))
}

async fn drive_one(mut connection: Connection, stop: Instant) -> (Option<Connection>, Tally) {
    let mut tally = Tally::default();
    let mut started = Instant::now();
    while started < stop {
        let Ok(is_right) = connection.repeat().await else {
            tally.errors += 1;
            return (None, tally);
        };
        let now = Instant::now();
        if is_right {
            tally.latencies.push(u32::try_from((now - started).as_nanos()).unwrap_or(u32::MAX));
        } else {
            tally.errors += 1;
        }
        started = now;
    }
    (Some(connection), tally)
}

/// In microseconds, of sorted nanoseconds.
fn percentile(sorted: &[u32], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    f64::from(sorted.get(index).copied().unwrap_or(0)) / 1e3
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run are far below 2^52")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_an_answer_is_found_by_length_and_by_chunks() {
        let cases: [(&str, Option<(bool, usize)>); 6] = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Some((true, 2))),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no", None),
            ("HTTP/1.1 200 OK\r\ncontent-le", None),
            ("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", Some((false, 0))),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", None),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Some((true, 12))),
        ];
        for (bytes, expected) in cases {
            let framing = Framing::read(bytes.as_bytes()).unwrap();
            let answer = framing.and_then(|framing| framing.whole_answer(bytes.as_bytes()));
            assert_eq!(
                answer.map(|answer| (answer.is_ok, answer.end - answer.head_length)),
                expected,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn percentiles_are_in_microseconds() {
        let sorted: Vec<u32> = (1..=100).map(|millisecond| millisecond * 1_000_000).collect();
        assert!((percentile(&sorted, 50) - 51_000.0).abs() < 1e-6);
        assert!((percentile(&sorted, 99) - 100_000.0).abs() < 1e-6);
        assert!(percentile(&[], 50).abs() < 1e-6);
    }
}
