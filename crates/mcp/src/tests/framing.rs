//! Facts about messages on the wire: bodies that come slowly or never, and answers whose JSON came in several lines.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fixture::PRETTY;
use super::*;
use crate::reply::Outcome;
use crate::transport::serve_stream;

/// The status and the body of the answer to a POST whose body comes bit by bit, and how long it took.
async fn post(bits: impl Stream<Item = Bytes> + Send + 'static) -> (u16, Value, Duration) {
    let server = server().await;
    let begun = Instant::now();
    let frames = bits.map(|bit| Ok::<_, std::convert::Infallible>(Frame::data(bit)));
    let response =
        server.answer_http(Request::post("/mcp").body(StreamBody::new(frames)).unwrap(), None).await;
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap(), took)
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_refused_after_half_a_minute() {
    let begun = stream::iter([Bytes::from_static(b"{\"jsonrpc\":")]);
    let (status, answer, took) = post(begun.chain(stream::pending())).await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(-32600)), "{answer}");
    assert_eq!(took.as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_refused_also_if_something_comes_now_and_then() {
    let drips = stream::repeat(Bytes::from_static(b" ")).then(|bit| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bit
    });
    let (status, answer, took) = post(drips).await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(-32600)), "{answer}");
    assert_eq!(took.as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_in_drips_is_fine_within_the_time() {
    let message = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let pause = Duration::from_secs(29) / u32::try_from(message.len()).unwrap();
    let drips = stream::iter(message.chunks(1)).then(move |bit| async move {
        tokio::time::sleep(pause).await;
        Bytes::from_static(bit)
    });
    let (status, answer, took) = post(drips).await;
    assert_eq!((status, &answer), (200, &json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
    assert!(took > Duration::from_secs(28), "{took:?}");
}

fn pretty() -> Value {
    serde_json::from_str(PRETTY).unwrap()
}

/// A call, with a token so that the tool's progress is told before its answer.
fn call(tool: &str) -> Value {
    let params = json!({"name": tool, "_meta": {"progressToken": "p"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

#[test]
fn all_pieces_of_an_answer_become_one_line() {
    let mut outcome = Outcome::whole(&b"{\"small\":[\n1,\r\n2],\"large\":"[..]);
    let large = format!("[\n\t{}\r\n]", "1,\n".repeat(10_000) + "1");
    outcome.share(&Bytes::from(large));
    outcome.out.extend_from_slice(b"\n}");
    let answer = Answer::write(None, Ok(outcome)).body;
    assert!(answer.iter().count() > 1, "a large part is not copied");
    let line = answer.into_line();
    assert!(!line.iter().any(|byte| matches!(byte, b'\n' | b'\r')));
    let answer: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(answer["result"]["small"], json!([1, 2]));
    assert_eq!(answer["result"]["large"].as_array().unwrap().len(), 10_001);
}

#[tokio::test]
async fn json_of_several_lines_is_one_line_on_a_stream() {
    for tool in ["pretty", "pretty_whole", "pretty_large"] {
        let mut output = Vec::new();
        let input = format!("{}\n", call(tool));
        let server = server().await;
        let endpoint = Arc::clone(server.registry.endpoints().main());
        serve_stream((server, endpoint), Principal::Anonymous, input.as_bytes(), &mut output).await.unwrap();
        let output = String::from_utf8(output).unwrap();
        let messages: Vec<Value> =
            output.lines().map(|line| serde_json::from_str(line).expect("a line is a message")).collect();
        let answer = messages.last().expect("an answer");
        let found = &answer["result"]["structuredContent"];
        let found = if tool == "pretty_large" { &found["rows"][0] } else { found };
        assert_eq!(*found, pretty(), "{tool}");
    }
}

#[tokio::test]
async fn json_of_several_lines_is_one_event_on_a_stream_of_events() {
    let server = server().await;
    for tool in ["pretty", "pretty_whole", "pretty_large"] {
        let mut body = call(tool);
        body["params"]["_meta"] = modern(json!({}));
        body["params"]["_meta"]["progressToken"] = "p".into();
        let request = Request::post("/mcp")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .body(http_body_util::Full::new(Bytes::from(body.to_string())))
            .unwrap();
        let response = server.answer_http(request, None).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{tool}");
        let events = response.into_body().collect().await.unwrap().to_bytes();
        let events = String::from_utf8(events.to_vec()).unwrap();
        assert!(!events.contains('\r'), "a return would end the line for a reader of events");
        let events: Vec<&str> = events.split_terminator("\n\n").collect();
        let [_, last] = events.as_slice() else { panic!("{tool}: {events:#?}") };
        let data = last.strip_prefix("event: message\ndata: ").expect("an event with a message");
        let answer: Value = serde_json::from_str(data).expect("one line of data is the message");
        assert_eq!(answer["id"], 1, "{tool}");
    }
}
