//! Properties of the whole server under input that nobody would send: whatever comes in, what goes out is well formed,
//! and the server still answers. A few cases in every run of the tests; `cargo xtask fuzz` goes on for longer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolrail_testkit::{Gateway, RawAnswer, RawConnection, WebSocket};

use crate::bounds::fuzz_inputs::{message, raw_bytes, sse_stream};
use crate::bounds::fuzz_upstream::JunkServer;
use crate::support::{gateway, listed, plain, register};

const CASES: u32 = 48;
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

type Outcome = Result<(), TestCaseError>;

/// Runs a property over a strategy, within a runtime.
fn check<S: Strategy>(
    strategy: &S,
    runtime: &Runtime,
    property: impl AsyncFn(S::Value) -> anyhow::Result<Outcome>,
) {
    let mut config = Config { failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    let case = |value| {
        let judged = async { tokio::time::timeout(ANSWERED_WITHIN, property(value)).await };
        match runtime.block_on(judged) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Err(TestCaseError::fail(format!("{error:#}"))),
            Err(_) => Err(TestCaseError::fail("no end within the deadline")),
        }
    };
    if let Err(error) = TestRunner::new(config).run(strategy, case) {
        unreachable!("{error}");
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn server() -> Gateway {
    let gateway = gateway().start().await.unwrap();
    register(&gateway, &plain("nowhere", "http://127.0.0.1:1/")).await;
    gateway
}

/// One answer, or a batch of them: `jsonrpc`, an id, and either a result or an error with its two members.
fn well_formed(message: &Value) -> bool {
    if let Some(batch) = message.as_array() {
        return !batch.is_empty() && batch.iter().all(|message| !message.is_array() && well_formed(message));
    }
    let error_is_good = |error: &Value| error["code"].is_i64() && error["message"].is_string();
    let either = match (message.get("result"), message.get("error")) {
        (Some(result), None) => result.is_object(),
        (None, Some(error)) => error_is_good(error),
        _ => false,
    };
    let id = message.get("id").is_some_and(|id| id.is_null() || id.is_string() || id.is_number());
    message["jsonrpc"] == "2.0" && either && id
}

/// What came as server-sent events, each with its data.
fn events(body: &str) -> Vec<Value> {
    let data = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    };
    let data = body.split("\n\n").map(data).filter(|data| !data.trim().is_empty());
    data.map(|data| serde_json::from_str(&data).unwrap_or_else(|_| json!({"not JSON": data}))).collect()
}

/// The rules for an answer over HTTP.
fn judge(answer: &RawAnswer) -> Outcome {
    let shown = format!("{} {}", answer.head, answer.text());
    prop_assert!((200..500).contains(&answer.status), "{shown}");
    if answer.status == 202 {
        prop_assert!(answer.body.is_empty(), "{shown}");
        return Ok(());
    }
    if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
        let events = events(&answer.text());
        prop_assert!(events.last().is_some_and(well_formed), "{shown}");
        prop_assert!(events.iter().all(|event| event["jsonrpc"] == "2.0"), "{shown}");
        return Ok(());
    }
    let message = serde_json::from_slice::<Value>(&answer.body);
    prop_assert!(message.as_ref().is_ok_and(well_formed), "{shown}");
    Ok(())
}

const LEGACY: &[(&str, &str)] =
    &[("mcp-protocol-version", "2025-11-25"), ("accept", "application/json, text/event-stream")];
const BATCHING: &[(&str, &str)] = &[("mcp-protocol-version", "2025-03-26"), ("accept", "*/*")];
const MODERN: &[(&str, &str)] = &[
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "nowhere"),
    ("accept", "application/json, text/event-stream"),
];

/// Any body, in any era, gets exactly one answer that is well formed.
#[test]
fn any_body_gets_one_answer() {
    let runtime = runtime();
    let server = runtime.block_on(server());
    let headers = prop::sample::select(vec![&[][..], LEGACY, BATCHING, MODERN]);
    check(&(message(), headers), &runtime, async |(body, headers)| {
        let mut connection = RawConnection::open(server.url()).await?;
        connection.post("/mcp", headers, &body).await?;
        let judged = judge(&connection.answer().await?);
        if judged.is_err() {
            return Ok(judged);
        }
        // The same connection is good for another message, and nothing is left over on it.
        connection.post("/mcp", &[], br#"{"jsonrpc":"2.0","id":"end","method":"ping"}"#).await?;
        let answer = connection.answer().await?;
        let end: Value = serde_json::from_slice(&answer.body)?;
        Ok(if end["id"] == "end" { judge(&answer) } else { Err(TestCaseError::fail(answer.text())) })
    });
}

/// Any message over a WebSocket gets at most one answer, which is well formed, and the next message gets its own.
#[test]
fn any_websocket_message_leaves_the_connection_usable() {
    let runtime = runtime();
    let server = runtime.block_on(server());
    let url = format!("{}/mcp/ws", server.url());
    let numbers = AtomicU64::new(0);
    check(&vec(message(), 1..8), &runtime, async |messages| {
        let mut socket = WebSocket::connect(&url, &[]).await?;
        for message in &messages {
            socket.send_text(&String::from_utf8_lossy(message)).await?;
        }
        let end = format!("end-{}", numbers.fetch_add(1, Ordering::Relaxed));
        socket.send(&json!({"jsonrpc": "2.0", "id": end, "method": "ping"})).await?;
        let mut answers = 0;
        loop {
            let answer = socket.receive().await?;
            if answer["id"] == end.as_str() {
                return Ok(Ok(()));
            }
            answers += 1;
            let asks = answer.get("method").is_some();
            if !(asks || well_formed(&answer)) || answers > messages.len() {
                return Ok(Err(TestCaseError::fail(format!("answer {answers}: {answer}"))));
            }
        }
    });
}

/// Any bytes at all on an open WebSocket end that connection at worst.
#[test]
fn any_websocket_bytes_harm_nobody_else() {
    let runtime = runtime();
    let server = runtime.block_on(server());
    check(&vec(raw_bytes(), 1..4), &runtime, async |pieces| {
        let mut connection = RawConnection::open(server.url()).await?;
        let upgrade = format!(
            "GET /mcp/ws HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            connection.host()
        );
        connection.send(upgrade.as_bytes()).await?;
        anyhow::ensure!(connection.answer().await?.status == 101, "no upgrade");
        for piece in pieces {
            // The server may have closed by now, which is its right.
            if connection.send(&piece).await.is_err() {
                break;
            }
        }
        drop(connection.finish().await);
        connection.rest().await?;
        let answer = server.mcp("ping", json!({})).await?.json()?;
        Ok(if answer["result"] == json!({}) { Ok(()) } else { Err(TestCaseError::fail(answer.to_string())) })
    });
}

/// Whatever an upstream server sends as events, a call of its tool ends with one answer that is well formed.
#[test]
fn any_events_of_an_upstream_end_the_call() {
    let runtime = runtime();
    let (server, upstream) = runtime.block_on(async {
        let upstream = JunkServer::start().await;
        let server = gateway().start().await.unwrap();
        let settings = json!({"url": upstream.url(), "prefix": "", "protocol": "modern", "timeoutMs": 3000});
        let definition =
            json!({"name": "upstream", "description": "Sends junk", "type": "mcp", "mcp": settings});
        register(&server, &definition).await;
        toolrail_testkit::wait_until("its tool", Duration::from_secs(10), async || {
            listed(&server).await.ok()?.contains(&"junk".to_owned()).then_some(())
        })
        .await
        .unwrap_or_else(|error| unreachable!("{error:#}: {}", server.stderr()));
        (server, upstream)
    });
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/logLevel": "debug"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "junk", "arguments": {}, "_meta": meta}});
    let mut headers = MODERN.to_vec();
    headers[2] = ("mcp-name", "junk");
    check(&sse_stream(), &runtime, async |stream| {
        upstream.will_send(stream);
        let mut connection = RawConnection::open(server.url()).await?;
        connection.post("/mcp", &headers, call.to_string().as_bytes()).await?;
        Ok(judge(&connection.answer().await?))
    });
}
