//! Two replicas on one store behind a proxy without stickiness: sessions, calls and lists do not care which one answers.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;
use toolrail_testkit::{Balancer, Gateway, RawConnection, Upstream, wait_until};

use crate::mcp::clients::Client;
use crate::support::{gateway, listed, plain, register, weather};

const CALLS: usize = 50;
/// When one replica goes away: after this many calls.
const CUT_AFTER: usize = 15;
const DONE_WITHIN: Duration = Duration::from_secs(90);

/// Two replicas, what they call, and the proxy before them.
struct Pair {
    replicas: [Gateway; 2],
    balancer: Balancer,
    upstream: Upstream,
    _data: tempfile::TempDir,
}

impl Pair {
    async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let upstream = Upstream::start().await.unwrap();
        let first = gateway().data(data.path()).args(["--poll-ms", "250"]).start().await.unwrap();
        let second = gateway().data(data.path()).args(["--poll-ms", "250"]).start().await.unwrap();
        register(&first, &weather("weather.search", &upstream.url("/echo"))).await;
        let pair = Self {
            balancer: Balancer::start(&[first.url(), second.url()]).await.unwrap(),
            replicas: [first, second],
            upstream,
            _data: data,
        };
        pair.both_list("weather.search", Duration::from_secs(5)).await;
        pair
    }

    async fn both_list(&self, name: &str, within: Duration) {
        wait_until("both replicas to list a tool", within, async || {
            for replica in &self.replicas {
                listed(replica).await.ok()?.iter().find(|listed| *listed == name)?;
            }
            Some(())
        })
        .await
        .unwrap();
    }
}

/// A client at work: it tells on stderr how far it is.
struct AtWork {
    child: tokio::process::Child,
    progress: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
    told: Vec<String>,
}

impl AtWork {
    fn start(mut command: Command, url: &str) -> Self {
        command.args(["--tool", "weather.search", "--args", r#"{"city":"x"}"#]);
        command.args(["--count", &CALLS.to_string(), "http", &format!("{url}/mcp")]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let progress = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, progress, told: Vec::new() }
    }

    /// Waits until that many calls have been answered.
    async fn reaches(&mut self, count: usize) {
        let reached = async {
            while let Some(line) = self.progress.next_line().await.unwrap() {
                let done = line == format!("answered {count}");
                self.told.push(line);
                if done {
                    return true;
                }
            }
            false
        };
        let reached = tokio::time::timeout(DONE_WITHIN, reached).await.unwrap();
        assert!(reached, "the client ended early: {:?}", self.told);
    }

    /// What it says at its end.
    async fn finish(mut self) -> Value {
        let rest = async {
            while let Some(line) = self.progress.next_line().await.unwrap() {
                self.told.push(line);
            }
            let mut said = Vec::new();
            self.child.stdout.take().unwrap().read_to_end(&mut said).await.unwrap();
            (self.child.wait().await.unwrap(), said)
        };
        let (status, said) = tokio::time::timeout(DONE_WITHIN, rest).await.unwrap();
        assert!(status.success(), "{status}: {:?}", self.told.last());
        serde_json::from_slice(&said).unwrap()
    }
}

/// A client makes its calls while one replica is killed and started again.
async fn check(client: Client, mode: &str, revision: &str) {
    let mut pair = Pair::start().await;
    let mut work = AtWork::start(client.script("many_calls", Some(mode)), pair.balancer.url());
    work.reaches(CUT_AFTER).await;
    pair.replicas[1].kill().await.unwrap();
    work.reaches(2 * CUT_AFTER).await;
    pair.replicas[1].restart().await.unwrap();
    pair.balancer.moved(1, pair.replicas[1].url());
    let told = work.finish().await;
    assert_eq!(told["protocolVersion"], revision, "{told}");
    assert_eq!(told["answered"], CALLS, "{told}");
    // Only calls that were under way when their replica died, or that it still took while dying, may have been made again.
    assert!(told["again"].as_u64() <= Some(3), "{told}");
    let served = pair.balancer.served();
    assert!(served.iter().all(|count| *count >= CUT_AFTER / 2), "both replicas answered: {served:?}");
    assert!(pair.upstream.total() >= CALLS);
}

#[tokio::test]
async fn a_session_goes_on_whichever_replica_answers() {
    check(Client::TypeScript, "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn a_python_session_goes_on_whichever_replica_answers() {
    check(Client::Python, "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn calls_without_a_session_go_on_whichever_replica_answers() {
    check(Client::Python, "auto", "2026-07-28").await;
}

#[tokio::test]
async fn a_registration_on_one_replica_is_listed_by_both_within_a_second() {
    let pair = Pair::start().await;
    for (replica, name) in pair.replicas.iter().zip(["of-the-first", "of-the-second"]) {
        register(replica, &plain(name, &pair.upstream.url("/echo"))).await;
        pair.both_list(name, Duration::from_millis(1_500)).await;
    }
}

/// A session of one replica is a session of the other, and one that nobody signed is none.
#[tokio::test]
async fn a_session_is_known_to_both_replicas() {
    let pair = Pair::start().await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}});
    let headers = [("accept", "application/json, text/event-stream")];
    let mut connection = RawConnection::open(pair.replicas[0].url()).await.unwrap();
    // Header values come back in lower case from `answer`, and session ids may have capitals.
    connection.post("/mcp", &headers, initialize.to_string().as_bytes()).await.unwrap();
    let head = String::from_utf8(connection.until(b"\r\n\r\n").await.unwrap()).unwrap();
    let session = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find_map(|(name, value)| name.eq_ignore_ascii_case("mcp-session-id").then_some(value))
        .unwrap_or_else(|| unreachable!("no session: {head}"));
    let ping = br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let forged = format!("{session}x");
    for (session, status) in [(session, 200), (&*forged, 404)] {
        for replica in &pair.replicas {
            let mut connection = RawConnection::open(replica.url()).await.unwrap();
            let version = ("mcp-protocol-version", "2025-11-25");
            connection.post("/mcp", &[headers[0], version, ("mcp-session-id", session)], ping).await.unwrap();
            let answer = connection.answer().await.unwrap();
            assert_eq!(answer.status, status, "{} {}", answer.head, answer.text());
        }
    }
}
