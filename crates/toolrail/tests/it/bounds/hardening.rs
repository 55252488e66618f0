//! Input that means harm, over bare sockets: each gets a bounded, correct answer, and the server lives on.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawAnswer, RawConnection, Stdio, wait_until};

use crate::support::{BINARY, gateway, plain, register, started};

/// No answer to bad input may take longer, not even on a busy machine.
const ANSWERED_WITHIN: Duration = Duration::from_secs(15);

/// What a session of 2025-03-26 sends; it alone has batches.
const BATCHING: (&str, &str) = ("mcp-protocol-version", "2025-03-26");

/// Posts one body on a connection of its own.
async fn post(gateway: &Gateway, headers: &[(&str, &str)], body: &[u8]) -> RawAnswer {
    let started = Instant::now();
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    connection.post("/mcp", headers, body).await.unwrap();
    let answer = connection.answer().await.unwrap();
    assert!(started.elapsed() < ANSWERED_WITHIN, "answered after {:?}: {}", started.elapsed(), answer.text());
    answer
}

/// The error of an answer that is one JSON-RPC error and nothing else.
fn error_of(answer: &RawAnswer) -> Value {
    let body: Value = serde_json::from_slice(&answer.body)
        .unwrap_or_else(|error| unreachable!("{error}: {} {}", answer.head, answer.text()));
    assert_eq!(body["jsonrpc"], "2.0", "{body}");
    assert!(body.get("result").is_none(), "{body}");
    assert!(answer.status < 500, "{} {body}", answer.status);
    body["error"].clone()
}

async fn assert_refused(gateway: &Gateway, headers: &[(&str, &str)], body: &[u8], code: i64) {
    let answer = post(gateway, headers, body).await;
    let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
    assert_eq!(error_of(&answer)["code"], code, "{shown} -> {} {}", answer.status, answer.text());
    assert!(answer.body.len() < 4096, "{shown} -> an answer of {} bytes", answer.body.len());
}

async fn assert_lives(gateway: &Gateway) {
    let answer = gateway.mcp("ping", json!({})).await.unwrap().json().unwrap();
    assert_eq!(answer["result"], json!({}), "{answer}");
}

fn nested(open: &str, middle: &str, close: &str) -> String {
    const LEVELS: usize = 100_000;
    format!("{}{middle}{}", open.repeat(LEVELS), close.repeat(LEVELS))
}

fn request(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

#[tokio::test]
async fn deep_nesting_is_refused() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("echo", &upstream.url("/echo"))).await;
    let (arrays, objects) = (nested("[", "", "]"), nested(r#"{"a":"#, "1", "}"));
    assert_refused(&gateway, &[], "[".repeat(100_000).as_bytes(), -32700).await;
    assert_refused(&gateway, &[], r#"{"a":"#.repeat(100_000).as_bytes(), -32700).await;
    assert_refused(&gateway, &[], objects.as_bytes(), -32600).await;
    for deep in [&arrays, &objects] {
        // Where the arguments are, they are read; a place that nothing reads may hold anything.
        let answer =
            post(&gateway, &[], request(&format!(r#"{{"name":"echo","arguments":{deep}}}"#)).as_bytes())
                .await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let failed = body["error"]["code"] == -32602 || body["result"]["isError"] == true;
        assert!(failed && answer.body.len() < 4096, "{body}");
        for params in [format!(r#"{{"name":{deep}}}"#), format!(r#"{{"_meta":{deep},"name":"echo"}}"#)] {
            let answer = post(&gateway, &[], request(&params).as_bytes()).await;
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert!(body.get("error").is_some() || body.get("result").is_some(), "{body}");
        }
    }
    assert_lives(&gateway).await;
}

#[tokio::test]
async fn a_huge_id_is_refused_and_not_echoed() {
    let gateway = gateway().start().await.unwrap();
    for id in [format!("\"{}\"", "x".repeat(1024 * 1024)), "9".repeat(1024 * 1024)] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_refused(&gateway, &[], body.as_bytes(), -32600).await;
    }
    assert_lives(&gateway).await;
}

#[tokio::test]
async fn huge_names_are_not_echoed() {
    let gateway = gateway().start().await.unwrap();
    let long = "x".repeat(1024 * 1024);
    let method = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{long}"}}"#);
    assert_refused(&gateway, &[], method.as_bytes(), -32601).await;
    let tool = request(&format!(r#"{{"name":"{long}"}}"#));
    let answer = post(&gateway, &[], tool.as_bytes()).await;
    assert!(answer.body.len() < 4096, "an answer of {} bytes", answer.body.len());
    assert_lives(&gateway).await;
}

/// Readers that take the first and readers that take the last must not be played off against each other.
#[tokio::test]
async fn duplicate_keys_are_refused() {
    let gateway = gateway().start().await.unwrap();
    for (body, code) in [
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{}}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{},"_meta":{}}}"#, -32602),
    ] {
        assert_refused(&gateway, &[], body.as_bytes(), code).await;
    }
    assert_lives(&gateway).await;
}

#[tokio::test]
async fn invalid_utf8_is_a_parse_error_wherever_it_is() {
    let gateway = gateway().start().await.unwrap();
    for (before, after) in [
        (r#"{"jsonrpc":"2.0","id":"#, r#","method":"ping"}"#),
        (r#"{"jsonrpc":"2.0","id":1,"method":"#, "}"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":"#, "}}}"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"unknown":"#, "}}"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","unknown":"#, "}"),
    ] {
        // A lone byte, an overlong slash, half a surrogate pair and an unfinished character.
        for bad in [&b"\"\xff\""[..], b"\"\xc0\xaf\"", b"\"\xed\xa0\x80\"", b"\"\xe4\xb8\""] {
            let body = [before.as_bytes(), bad, after.as_bytes()].concat();
            assert_refused(&gateway, &[], &body, -32700).await;
        }
    }
    assert_lives(&gateway).await;
}

#[tokio::test]
async fn a_huge_batch_is_refused_whole() {
    let gateway = gateway().start().await.unwrap();
    let small = vec!["1"; 100_000].join(",");
    let pings = vec![r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#; 90_000].join(",");
    for elements in [small, pings] {
        let batch = format!("[{elements}]");
        for headers in [&[][..], &[BATCHING]] {
            assert_refused(&gateway, headers, batch.as_bytes(), -32600).await;
        }
    }
    assert_lives(&gateway).await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused() {
    let gateway = gateway().start().await.unwrap();
    let body = request(&format!(r#"{{"name":"{}"}}"#, "x".repeat(4 * 1024 * 1024)));
    let answer = post(&gateway, &[], body.as_bytes()).await;
    assert_eq!((answer.status, &error_of(&answer)["code"]), (413, &json!(-32600)));
    assert_lives(&gateway).await;
}

/// Nobody has to send what will not be read.
#[tokio::test]
async fn a_body_that_is_said_to_be_far_too_large_is_refused_before_it_is_sent() {
    let gateway = gateway().start().await.unwrap();
    for path in ["/mcp", "/mcp/tools/call", "/admin/tools"] {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n",
            connection.host()
        );
        connection.send(head.as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(5), connection.answer()).await;
        assert_eq!(answer.expect(path).unwrap().status, 413, "{path}");
    }
    assert_lives(&gateway).await;
}

/// Heavy mappings wait for each other; that wait is part of the time that a call has.
#[tokio::test]
async fn a_call_that_waits_for_others_to_be_mapped_ends_at_its_limit() {
    let (gateway, upstream) = started().await;
    let mut heavy = plain("heavy", &upstream.url("/json/1000000"));
    let template =
        "{% for one in result['items'] %}{% for n in range(3) %}{{ one.name }}{% endfor %}{% endfor %}";
    heavy["responseMapping"] = json!({"type": "template", "template": template});
    heavy["policy"] = json!({"timeoutMs": 20_000});
    let mut hasty = heavy.clone();
    (hasty["name"], hasty["policy"]) = (json!("hasty"), json!({"timeoutMs": 100}));
    register(&gateway, &heavy).await;
    register(&gateway, &hasty).await;
    let call = async |tool: &str| {
        let reply = gateway.post_json("/mcp/tools/call", &json!({"tool": tool, "arguments": {}})).await;
        reply.unwrap().json().unwrap()
    };
    let (_, hasty) = tokio::join!(
        futures_util::future::join_all((0..20).map(|_| call("heavy"))),
        futures_util::future::join_all((0..20).map(|_| call("hasty")))
    );
    let late: Vec<&Value> = hasty.iter().filter(|body| body["error"]["code"] == "TIMEOUT").collect();
    assert!(!late.is_empty(), "{hasty:?}");
    for body in late {
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("hasty did not finish within 100 ms (policy.timeoutMs)"), "{message}");
    }
}

/// A client that sends a byte now and then holds up nobody but itself.
#[tokio::test]
async fn slow_senders_hold_up_nobody() {
    let gateway = gateway().start().await.unwrap();
    let mut slow = Vec::new();
    for number in 0..500 {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        let host = connection.host().to_owned();
        let head = format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
        // Half of them stop within the head, half within the body.
        let part = if number % 2 == 0 { head } else { format!("{head}content-length: 100\r\n\r\n{{\"json") };
        connection.send(part.as_bytes()).await.unwrap();
        slow.push(connection);
    }
    for _ in 0..20 {
        let started = Instant::now();
        assert_lives(&gateway).await;
        assert!(started.elapsed() < Duration::from_secs(5), "a ping took {:?}", started.elapsed());
    }
    // They are still welcome to finish.
    let rest = &br#"rpc":"2.0","id":1,"method":"ping"}"#[..];
    let padding = vec![b' '; 100 - 6 - rest.len()];
    slow[1].send(&[rest, &padding].concat()).await.unwrap();
    assert_eq!(slow[1].answer().await.unwrap().status, 200);
}

/// What is not HTTP, or not one message of it, is refused by the protocol's own means.
#[tokio::test]
async fn broken_http_is_refused() {
    let gateway = gateway().start().await.unwrap();
    let host = RawConnection::open(gateway.url()).await.unwrap().host().to_owned();
    let post = format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
    for junk in [
        "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        format!("{post}content-length: -1\r\n\r\n"),
        format!("{post}content-length: 5\r\ncontent-length: 6\r\n\r\n{{}}   "),
        format!("{post}transfer-encoding: chunked\r\n\r\nzz\r\n"),
        format!("{post}x-long: {}\r\n\r\n", "x".repeat(1024 * 1024)),
        format!("{post}{}\r\n", "x-many: 1\r\n".repeat(10_000)),
    ] {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        // The server may close before it has read everything, which is its right.
        drop(connection.send(junk.as_bytes()).await);
        let answer = connection.rest().await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        let shown: String = junk.chars().take(150).collect();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{shown:?} -> {answer:?}");
    }
    assert_lives(&gateway).await;
}

/// Headers that steer streams and sessions.
#[tokio::test]
async fn junk_in_the_headers_of_streams_and_sessions_is_refused() {
    let gateway = gateway().start().await.unwrap();
    let long = "x".repeat(6000);
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for session in ["nobody", "../../etc", "%00", "=?base64?AAAA?=", &long] {
        let version = ("mcp-protocol-version", "2025-11-25");
        let answer = post(&gateway, &[version, ("mcp-session-id", session)], ping).await;
        assert_eq!(answer.status, 404, "{session:.20} -> {}", answer.text());
        for headers in ["", "last-event-id: junk\r\n", "last-event-id: 18446744073709551616/-1\r\n"] {
            let mut connection = RawConnection::open(gateway.url()).await.unwrap();
            let get = format!(
                "GET /mcp HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n{headers}\r\n",
                connection.host()
            );
            connection.send(get.as_bytes()).await.unwrap();
            let answer = connection.answer().await.unwrap();
            assert!((400..500).contains(&answer.status), "{session:.20} {headers:?} -> {}", answer.head);
        }
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        connection.post(&format!("/messages?sessionId={session}"), &[], ping).await.unwrap();
        let answer = connection.answer().await.unwrap();
        assert!((400..500).contains(&answer.status), "{session:.20} -> {}", answer.head);
    }
    assert_lives(&gateway).await;
}

/// Opens a WebSocket by hand.
async fn upgraded(gateway: &Gateway) -> RawConnection {
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    let key = BASE64_STANDARD.encode([7; 16]);
    let upgrade = format!(
        "GET /mcp/ws HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n",
        connection.host()
    );
    connection.send(upgrade.as_bytes()).await.unwrap();
    assert_eq!(connection.answer().await.unwrap().status, 101);
    connection
}

/// RFC 6455: a frame that breaks the rules ends its connection, and only that.
#[tokio::test]
async fn broken_websocket_frames_end_their_connection_only() {
    let gateway = gateway().start().await.unwrap();
    for frame in [
        &[0x81, 0x02, b'{', b'}'][..],                                    // not masked
        &[0xf1, 0x80, 0, 0, 0, 0],                                        // reserved bits
        &[0x83, 0x80, 0, 0, 0, 0],                                        // an opcode that does not exist
        &[0x09, 0x80, 0, 0, 0, 0],                                        // a ping in pieces
        &[&[0x89, 0xfe, 0x00, 0x80, 0, 0, 0, 0][..], &[0; 128]].concat(), // a ping that is too long
        &[0x80, 0x80, 0, 0, 0, 0],                                        // a continuation of nothing
        &[0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], // endless
        &[0x81, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0],    // two gigabytes
        &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],                            // a text that is none
    ] {
        let mut connection = upgraded(&gateway).await;
        connection.send(frame).await.unwrap();
        // At most a close frame, then the end.
        let rest = connection.rest().await.unwrap_or_else(|error| unreachable!("{frame:x?} -> {error:#}"));
        assert!(
            rest.len() <= 127 && rest.first().is_none_or(|first| *first == 0x88),
            "{frame:?} -> {rest:?}"
        );
        assert_lives(&gateway).await;
    }
}

#[tokio::test]
async fn standard_streams_survive_junk() {
    let data = tempfile::tempdir().unwrap();
    let mut stdio =
        Stdio::spawn(BINARY, ["stdio".as_ref(), "--data".as_ref(), data.path().as_os_str()]).unwrap();
    for (line, code) in [
        ("{".repeat(100_000), -32700),
        ("[".repeat(100_000), -32700),
        (format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(1024 * 1024)), -32600),
        (format!("[{}]", vec!["1"; 100_000].join(",")), -32600),
        ("x".repeat(5 * 1024 * 1024), -32600),
        ("\u{0}".to_owned(), -32700),
    ] {
        stdio.send_line(&line).await.unwrap();
        let answer = stdio.receive().await.unwrap();
        let shown: String = line.chars().take(60).collect();
        assert_eq!(answer["error"]["code"], code, "{shown} -> {answer}");
    }
    assert_eq!(stdio.call("ping", json!({})).await.unwrap()["result"], json!({}));
}

/// What a server remembers of clients that are gone must not pile up.
#[tokio::test]
async fn connections_that_are_cut_leave_nothing_behind() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("slow", &upstream.url("/slow/20000"))).await;
    let mut connections = Vec::new();
    for _ in 0..100 {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        connection.post("/mcp", &[], request(r#"{"name":"slow"}"#).as_bytes()).await.unwrap();
        connections.push(connection);
    }
    let within = Duration::from_secs(10);
    wait_until("every call to be under way", within, async || (upstream.total() == 100).then_some(()))
        .await
        .unwrap();
    drop(connections);
    wait_until("every call to be cancelled", within, async || (upstream.abandoned() == 100).then_some(()))
        .await
        .unwrap();
    assert_lives(&gateway).await;
}
