//! The account of bytes in flight: what is too much together is refused, said and counted, and everything else goes on.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, Upstream, wait_until};

use crate::support::{call, gateway, plain, register};

/// A gateway that may have 16 MB in flight, with a tool whose answers have one.
async fn small() -> (Gateway, Upstream) {
    let (gateway, upstream) =
        (gateway().args(["--memory", "16MB"]).start().await.unwrap(), Upstream::start().await.unwrap());
    register(&gateway, &plain("large", &upstream.url("/json/1000000"))).await;
    register(&gateway, &plain("little", &upstream.url("/echo"))).await;
    (gateway, upstream)
}

async fn figure(gateway: &Gateway, name: &str) -> f64 {
    let page = gateway.get("/metrics").await.unwrap().text();
    let line = page.lines().find(|line| line.starts_with(name) && line.as_bytes()[name.len()] == b' ');
    line.unwrap_or_else(|| unreachable!("no {name} in {page}"))[name.len()..].trim().parse().unwrap()
}

async fn nothing_is_in_flight(gateway: &Gateway) {
    wait_until("nothing to be in flight", Duration::from_secs(10), async || {
        (figure(gateway, "toolrail_inflight_bytes").await < 1.0).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn answers_that_are_too_much_together_are_refused_one_by_one() {
    let (gateway, _upstream) = small().await;
    let calls: Vec<Value> = (0..100)
        .map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "large"}}))
        .collect();
    let request = Request::post("/mcp")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(Value::from(calls).to_string())))
        .unwrap();
    let reply = gateway.request(request).await.unwrap();
    let answers = reply.json().unwrap();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 100);
    let refused = |answer: &&Value| answer.to_string().contains("OVERLOADED");
    let count = answers.iter().filter(refused).count();
    assert!((50..100).contains(&count), "{count} of 100 were refused");
    let told = answers.iter().find(refused).unwrap();
    assert!(told.to_string().contains("--memory"), "{told}");
    assert!(figure(&gateway, "toolrail_inflight_refused_total").await > 0.0);
    assert!((figure(&gateway, "toolrail_inflight_limit_bytes").await - 16.0 * 1024.0 * 1024.0).abs() < 1.0);
    nothing_is_in_flight(&gateway).await;
    assert_eq!(call(&gateway, "large", json!({})).await.unwrap().status, 200);
}

#[tokio::test]
async fn clients_that_do_not_read_cannot_fill_the_memory_and_small_calls_go_on() {
    let (gateway, _upstream) = small().await;
    let body = json!({"tool": "large", "arguments": {}}).to_string();
    let mut silent = Vec::new();
    for _ in 0..60 {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        // Several at once, so that more is to be sent than the operating system takes.
        for _ in 0..6 {
            connection.post("/mcp/tools/call", &[], body.as_bytes()).await.unwrap();
        }
        silent.push(connection);
    }
    wait_until("somebody to be refused", Duration::from_secs(20), async || {
        (figure(&gateway, "toolrail_inflight_refused_total").await > 0.0).then_some(())
    })
    .await
    .unwrap();
    assert!(figure(&gateway, "toolrail_inflight_bytes").await <= 16.0 * 1024.0 * 1024.0);
    assert_eq!(call(&gateway, "little", json!({})).await.unwrap().status, 200);
    drop(silent);
    nothing_is_in_flight(&gateway).await;
}

/// Pings are answered, but no faster than the answers are read.
#[tokio::test]
async fn a_client_that_pings_and_never_reads_is_not_read_any_more() {
    let (gateway, _upstream) = small().await;
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    let key = BASE64_STANDARD.encode([7; 16]);
    let upgrade = format!(
        "GET /mcp/ws HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n",
        connection.host()
    );
    connection.send(upgrade.as_bytes()).await.unwrap();
    assert_eq!(connection.answer().await.unwrap().status, 101);
    let ping = [&[0x89, 0xfd, 0, 0, 0, 0][..], &[b'x'; 125]].concat();
    let many = ping.repeat(8192);
    let before = figure(&gateway, "process_resident_memory_bytes").await;
    let mut sent = 0;
    while sent < 200
        && matches!(tokio::time::timeout(Duration::from_secs(3), connection.send(&many)).await, Ok(Ok(())))
    {
        sent += 1;
    }
    assert!(sent < 200, "{sent} MB were read although nothing was");
    let grown = figure(&gateway, "process_resident_memory_bytes").await - before;
    assert!(grown < 50e6, "{grown} bytes more are in use");
}
