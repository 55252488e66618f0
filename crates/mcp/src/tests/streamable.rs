//! Facts about Streamable HTTP, asked of the endpoint itself: sessions, streams, questions, cancellation, batches.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::*;
use crate::transport::Body;

pub(super) type Headers<'a> = &'a [(&'a str, &'a str)];

async fn send(server: &Arc<Server>, method: &str, headers: Headers<'_>, body: String) -> Response<Body> {
    let mut request = Request::builder().method(method).uri("/mcp");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.answer_http(request.body(Full::new(Bytes::from(body))).unwrap(), None).await
}

pub(super) async fn post(server: &Arc<Server>, headers: Headers<'_>, body: Value) -> Response<Body> {
    send(server, "POST", headers, body.to_string()).await
}

pub(super) fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u32, tool: &str) -> Value {
    request(id, "tools/call", json!({"name": tool, "_meta": {"progressToken": "p"}}))
}

/// Opens a session of that revision and returns its id.
pub(super) async fn initialize(server: &Arc<Server>, revision: &str) -> String {
    let params = json!({"protocolVersion": revision, "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}});
    let response = post(server, &[], request(1, "initialize", params)).await;
    assert_eq!(response.status(), 200);
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

pub(super) async fn json_of(response: Response<Body>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// A stream of events, read one at a time.
pub(super) struct Events {
    body: Body,
    last_id: Option<String>,
}

impl Events {
    pub(super) fn of(response: Response<Body>) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), last_id: None }
    }

    /// The next message; null for an event without content, nothing at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            let waited = tokio::time::timeout(Duration::from_secs(5), self.body.frame()).await;
            let frame = waited.expect("an event in time")?;
            let event = String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap();
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            if let Some(id) = field("id: ") {
                self.last_id = Some(id.to_owned());
            }
            match field("data: ") {
                Some("") => return Some(Value::Null),
                Some(data) => return Some(serde_json::from_str(data).unwrap()),
                None => {}
            }
        }
    }
}

#[tokio::test]
async fn a_session_is_known_to_every_replica_and_ends_with_delete() {
    let (one, other) = (server().await, server().await);
    let id = initialize(&one, "2025-06-18").await;
    let session: Headers<'_> = &[("mcp-session-id", &id), ("mcp-protocol-version", "2025-06-18")];
    let listed = json_of(post(&other, session, request(2, "tools/list", json!({}))).await).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert_eq!(send(&one, "DELETE", session, String::new()).await.status(), 204);
    let refused = post(&one, session, request(3, "tools/list", json!({}))).await;
    assert_eq!(refused.status(), 404);
    let refused = json_of(refused).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(3), &json!(-32600)));
    let made_up = post(&one, &[("mcp-session-id", "made-up")], request(4, "ping", json!({}))).await;
    assert_eq!(made_up.status(), 404);
}

#[tokio::test]
async fn a_legacy_call_streams_what_it_says_and_its_question_is_answered_by_another_post() {
    let server = server().await;
    let id = initialize(&server, "2025-06-18").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    let mut events = Events::of(post(&server, session, call(2, "talks")).await);
    let progress = events.next().await.unwrap();
    assert_eq!(progress["params"], json!({"progress": 1, "progressToken": "p", "total": 2}));
    let log = events.next().await.unwrap();
    assert_eq!(log["params"], json!({"level": "warning", "logger": "test", "data": "careful"}));
    let question = events.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
    assert_eq!(post(&server, session, answer.clone()).await.status(), 202);
    let result = events.next().await.unwrap();
    assert_eq!(result["result"]["structuredContent"]["name"]["action"], "accept", "{result}");
    assert_eq!(events.next().await, None);
    assert_eq!(post(&server, session, answer).await.status(), 404, "nobody asks any more");
}

#[tokio::test]
async fn whoever_asked_gets_the_error_with_which_a_client_answered() {
    let server = server().await;
    let id = initialize(&server, "2025-06-18").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    let error = json!({"code": -1, "message": "User rejected", "data": {"why": "busy"}});
    let mut events = Events::of(post(&server, session, call(2, "talks")).await);
    let mut question = json!({});
    while question.get("id").is_none() {
        question = events.next().await.unwrap();
    }
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "error": error});
    assert_eq!(post(&server, session, answer).await.status(), 202);
    let result = events.next().await.unwrap();
    assert_eq!(result["result"]["structuredContent"], error, "{result}");
}

#[tokio::test]
async fn the_log_level_of_a_session_is_kept() {
    let server = server().await;
    let id = initialize(&server, "2025-06-18").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    json_of(post(&server, session, request(2, "logging/setLevel", json!({"level": "emergency"}))).await)
        .await;
    let mut events = Events::of(post(&server, session, call(3, "talks")).await);
    assert_eq!(events.next().await.unwrap()["method"], "notifications/progress");
    assert_eq!(events.next().await.unwrap()["method"], "elicitation/create");
}

#[tokio::test]
async fn a_client_that_lost_its_stream_comes_back_for_the_rest() {
    let server = server().await;
    let id = initialize(&server, "2025-11-25").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    let mut events = Events::of(post(&server, session, call(2, "hangs_up")).await);
    assert_eq!(events.next().await, Some(Value::Null), "an event to come back to");
    assert_eq!(events.next().await, None, "the stream is closed before the answer");
    let last = events.last_id.unwrap();
    let again: Headers<'_> = &[("mcp-session-id", &id), ("last-event-id", &last)];
    let mut rest = Events::of(send(&server, "GET", again, String::new()).await);
    assert_eq!(rest.next().await.unwrap()["result"]["content"][0]["text"], "done");
    // Everything can be had once more, but not from a stream that never was, nor on another replica.
    let mut rest = Events::of(send(&server, "GET", again, String::new()).await);
    assert_eq!(rest.next().await.unwrap()["id"], 2);
    let unknown: Headers<'_> = &[("mcp-session-id", &id), ("last-event-id", "00000000-7-1")];
    assert_eq!(send(&server, "GET", unknown, String::new()).await.status(), 404);
}

#[tokio::test]
async fn the_stream_of_a_session_says_when_to_come_back_to_clients_that_know_what_that_is() {
    let server = server().await;
    for (revision, says) in [("2025-11-25", true), ("2025-06-18", false)] {
        let id = initialize(&server, revision).await;
        let mut stream = send(&server, "GET", &[("mcp-session-id", &id)], String::new()).await.into_body();
        let first = stream.frame().await.unwrap().unwrap().into_data().unwrap();
        let first = String::from_utf8(first.to_vec()).unwrap();
        assert_eq!(first.contains("retry: 3000\n"), says, "{revision}: {first}");
    }
}

#[tokio::test]
async fn an_event_id_that_cannot_be_read_is_refused() {
    let server = server().await;
    let id = initialize(&server, "2025-11-25").await;
    for last in ["junk", "", "00000000-7", "00000000-0-1-1", "18446744073709551616/-1"] {
        let headers: Headers<'_> = &[("mcp-session-id", &id), ("last-event-id", last)];
        let refused = send(&server, "GET", headers, String::new()).await;
        assert_eq!(refused.status(), 400, "{last}");
        let told = json_of(refused).await;
        assert!(told["error"]["message"].as_str().unwrap().contains("Last-Event-ID"), "{told}");
    }
    // The session's own stream is reopened wherever it was read before.
    let elsewhere: Headers<'_> = &[("mcp-session-id", &id), ("last-event-id", "ffffffff-0-3")];
    assert_eq!(send(&server, "GET", elsewhere, String::new()).await.status(), 200);
}

#[tokio::test]
async fn a_legacy_call_goes_on_without_its_connection_until_it_is_cancelled() {
    let server = server().await;
    let id = initialize(&server, "2025-11-25").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    let mut events = Events::of(post(&server, session, call(2, "waits")).await);
    assert_eq!(events.next().await, Some(Value::Null));
    assert_eq!(events.next().await.unwrap()["method"], "notifications/progress");
    drop(events.body);
    assert_eq!(server.tracker.len(), 1);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    assert_eq!(post(&server, session, cancel).await.status(), 202);
    server.tracker.close();
    tokio::time::timeout(Duration::from_secs(5), server.tracker.wait()).await.expect("the call ends");
}

#[tokio::test]
async fn a_modern_call_ends_with_its_stream_and_asks_by_its_result() {
    let server = server().await;
    let headers: Headers<'_> =
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "talks")];
    let mut body = call(2, "talks");
    body["params"]["_meta"] = modern(json!({"elicitation": {}}));
    let asked = json_of(post(&server, headers, body.clone()).await).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(asked["result"]["inputRequests"]["name"]["method"], "elicitation/create");
    body["params"]["_meta"]["progressToken"] = "p".into();
    body["params"]["_meta"][format!("{META}/logLevel")] = "debug".into();
    body["params"]["inputResponses"] = json!({"name": {"action": "accept"}, "more": 1});
    let mut events = Events::of(post(&server, headers, body).await);
    let said: Vec<Value> =
        [events.next().await, events.next().await, events.next().await].into_iter().flatten().collect();
    assert_eq!(said[0]["method"], "notifications/progress");
    assert_eq!(
        (&said[1]["params"]["level"], &said[2]["params"]["level"]),
        (&json!("warning"), &json!("debug"))
    );
    let result = events.next().await.unwrap();
    assert_eq!(result["result"]["structuredContent"]["name"]["action"], "accept", "{result}");
    let missing = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "talks", "_meta": modern(json!({}))}});
    let refused = post(&server, headers, missing).await;
    assert_eq!(refused.status(), 400);
    let refused = json_of(refused).await;
    assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}), "{refused}");
    assert_eq!(refused["error"]["code"], -32021);
}

#[tokio::test]
async fn a_session_hears_of_changes_on_one_stream_and_a_subscription_on_its_own() {
    let server = server().await;
    let id = initialize(&server, "2025-11-25").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    let subscribed = request(2, "resources/subscribe", json!({"uri": "test://text"}));
    assert_eq!(json_of(post(&server, session, subscribed).await).await["result"], json!({}));
    let mut silent = Events::of(send(&server, "GET", session, String::new()).await);
    assert_eq!(silent.next().await, Some(Value::Null));
    let mut heard = Events::of(send(&server, "GET", session, String::new()).await);
    assert_eq!(heard.next().await, Some(Value::Null));
    let headers: Headers<'_> =
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let filter = json!({"resourceSubscriptions": ["test://json"]});
    let params = json!({"notifications": filter, "_meta": modern(json!({}))});
    let mut listening = Events::of(post(&server, headers, request(7, "subscriptions/listen", params)).await);
    let acknowledged = listening.next().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], filter);
    // Both streams are polled once so that they have begun to follow.
    let (nothing, still_nothing) =
        tokio::join!(tokio::time::timeout(Duration::from_millis(20), heard.next()), async {
            tokio::time::timeout(Duration::from_millis(20), listening.next()).await
        });
    assert!(nothing.is_err() && still_nothing.is_err());
    server.registry.feed().resource_changed("test://text");
    server.registry.feed().resource_changed("test://json");
    let updated = heard.next().await.unwrap();
    assert_eq!(updated["params"], json!({"uri": "test://text"}));
    let updated = listening.next().await.unwrap();
    let id = json!({format!("{META}/subscriptionId"): 7});
    assert_eq!(updated["params"], json!({"_meta": id, "uri": "test://json"}));
    assert_eq!(silent.next().await, None, "only the newest stream speaks");
    server.close();
    assert_eq!(heard.next().await, None);
    let end = listening.next().await.unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(7), &json!("complete")));
}

#[tokio::test]
async fn batches_are_for_the_revision_that_has_them() {
    let server = server().await;
    let batch = json!([
        request(1, "ping", json!({})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "nothing", json!({})),
        5
    ]);
    let id = initialize(&server, "2025-03-26").await;
    let answers = json_of(post(&server, &[("mcp-session-id", &id)], batch.clone()).await).await;
    let codes: Vec<Value> =
        answers.as_array().unwrap().iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes, [Value::Null, json!(-32601), json!(-32600)], "{answers}");
    let told = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(post(&server, &[("mcp-session-id", &id)], told).await.status(), 202);
    let id = initialize(&server, "2025-06-18").await;
    let refused = post(&server, &[("mcp-session-id", &id)], batch).await;
    assert_eq!((refused.status().as_u16(), &json_of(refused).await["error"]["code"]), (400, &json!(-32600)));
    let endless = format!("[{}1]", "1,".repeat(100_000));
    let refused = send(&server, "POST", &[], endless).await;
    assert!(json_of(refused).await["error"]["message"].as_str().unwrap().contains("at most"));
}

#[tokio::test]
async fn a_client_that_takes_no_streams_gets_its_answer_as_json() {
    let server = server().await;
    let id = initialize(&server, "2025-11-25").await;
    let headers: Headers<'_> = &[("mcp-session-id", &id), ("accept", "application/json")];
    let answer = json_of(post(&server, headers, call(2, "hangs_up")).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    let answer = json_of(post(&server, headers, call(3, "talks")).await).await;
    assert_eq!(answer["result"]["isError"], true, "it cannot be asked: {answer}");
}

#[tokio::test]
async fn answers_of_earlier_rounds_are_kept_in_the_state() {
    let server = server().await;
    let headers: Headers<'_> =
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "asks_twice")];
    let mut body = call(2, "asks_twice");
    body["params"]["_meta"] = modern(json!({"elicitation": {}}));
    for key in ["one", "two"] {
        let asked = json_of(post(&server, headers, body.clone()).await).await;
        let requests = asked["result"]["inputRequests"].as_object().expect("questions");
        assert_eq!(requests.keys().collect::<Vec<_>>(), [key], "{asked}");
        body["params"]["inputResponses"] = json!({key: {"action": "accept", "content": {"said": key}}});
        body["params"]["requestState"] = asked["result"]["requestState"].clone();
    }
    let told = json_of(post(&server, headers, body).await).await;
    let told = &told["result"]["structuredContent"];
    assert_eq!(
        (&told["one"]["content"]["said"], &told["two"]["content"]["said"]),
        (&json!("one"), &json!("two"))
    );
}
