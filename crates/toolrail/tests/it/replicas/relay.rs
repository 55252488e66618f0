//! Two replicas on one store, and clients whose messages reach the other one: answers to questions and requests about tasks
//! still find the replica that they concern.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, wait_until};

use crate::support::installed;

const WITHIN: Duration = Duration::from_secs(15);
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const META: &str = "io.modelcontextprotocol/";

/// Two replicas with the fixtures of the conformance suite.
async fn pair() -> ([Gateway; 2], tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let start = async || {
        let builder = Gateway::builder(installed("TOOLRAIL_TEST_CONFORMANCE"));
        builder.data(data.path()).start().await.unwrap()
    };
    ([start().await, start().await], data)
}

/// A legacy session, as any of the replicas knows it.
struct Session(String);

impl Session {
    async fn begin(gateway: &Gateway) -> Self {
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "t", "version": "0"}}});
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        connection.post("/mcp", &[ACCEPT], initialize.to_string().as_bytes()).await.unwrap();
        let head = String::from_utf8(connection.until(b"\r\n\r\n").await.unwrap()).unwrap();
        let headers = head.lines().filter_map(|line| line.split_once(": "));
        let id = headers.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
        Self(id.unwrap_or_else(|| unreachable!("no session: {head}")).1.to_owned())
    }

    async fn post(&self, gateway: &Gateway, message: &Value) -> RawConnection {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        let headers = [ACCEPT, ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &self.0)];
        connection.post("/mcp", &headers, message.to_string().as_bytes()).await.unwrap();
        connection
    }

    /// The status with which a message is taken that wants no answer.
    async fn tell(&self, gateway: &Gateway, message: &Value) -> u16 {
        self.post(gateway, message).await.answer().await.unwrap().status
    }

    /// The status with which a replica ends the session.
    async fn end(&self, gateway: &Gateway) -> u16 {
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        let head = format!(
            "DELETE /mcp HTTP/1.1\r\nhost: {}\r\nmcp-protocol-version: 2025-11-25\r\nmcp-session-id: {}\r\n\r\n",
            connection.host(),
            self.0
        );
        connection.send(head.as_bytes()).await.unwrap();
        connection.answer().await.unwrap().status
    }

    /// Calls a tool that asks; gives the stream and the id of the question.
    async fn call_that_asks(&self, gateway: &Gateway) -> (RawConnection, Value) {
        let mut stream = self.post(gateway, &call(1, "test_elicitation", &json!({"message": "Who?"}))).await;
        let question = event_of(&mut stream).await.unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        (stream, question["id"].clone())
    }
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn accepted(question: &Value) -> Value {
    let content = json!({"username": "ann", "email": "ann@example.com"});
    json!({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": content}})
}

/// The next message on a stream.
async fn event_of(stream: &mut RawConnection) -> Result<Value> {
    loop {
        stream.until(b"data: ").await?;
        let line = stream.until(b"\n").await?;
        if !line.trim_ascii().is_empty() {
            return serde_json::from_slice(&line).context("an event that is not JSON");
        }
    }
}

#[tokio::test]
async fn an_answer_reaches_the_call_that_waits_for_it_at_another_replica() {
    let ([asking, other], _data) = pair().await;
    let session = Session::begin(&other).await;
    let (mut stream, question) = session.call_that_asks(&asking).await;
    assert_eq!(session.tell(&other, &accepted(&question)).await, 202);
    let result = event_of(&mut stream).await.unwrap();
    let text = result["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("ann@example.com"), "{result}");
    // It has been answered, which only the replica that asked can know.
    assert_eq!(session.tell(&asking, &accepted(&question)).await, 404);
}

#[tokio::test]
async fn an_answer_of_another_session_is_not_taken() {
    let ([asking, other], _data) = pair().await;
    let [session, stranger] = [Session::begin(&asking).await, Session::begin(&asking).await];
    let (mut stream, question) = session.call_that_asks(&asking).await;
    let mut forged = accepted(&question);
    forged["result"]["content"]["email"] = "mallory@example.com".into();
    assert_eq!(stranger.tell(&asking, &forged).await, 404);
    stranger.tell(&other, &forged).await;
    // Letters are read in the order in which they were left.
    assert_eq!(session.tell(&other, &accepted(&question)).await, 202);
    let result = event_of(&mut stream).await.unwrap().to_string();
    assert!(result.contains("ann@example.com") && !result.contains("mallory"), "{result}");
}

/// The end of a stream that had begun.
const END: &[u8] = b"\r\n0\r\n\r\n";

#[tokio::test]
async fn a_call_is_cancelled_by_way_of_another_replica() {
    let ([calling, other], _data) = pair().await;
    let session = Session::begin(&other).await;
    let (mut stream, question) = session.call_that_asks(&calling).await;
    for (id, known) in [(7, false), (1, true)] {
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        assert_eq!(session.tell(&other, &cancel).await, 202);
        if known {
            stream.until(END).await.unwrap();
        }
    }
    assert_eq!(
        session.tell(&calling, &accepted(&question)).await,
        404,
        "nobody waits for an answer any more"
    );
}

#[tokio::test]
async fn a_session_ends_at_every_replica() {
    let ([calling, other], _data) = pair().await;
    let [session, lasting] = [Session::begin(&calling).await, Session::begin(&calling).await];
    let (mut stream, _) = session.call_that_asks(&calling).await;
    assert_eq!(session.end(&other).await, 204);
    stream.until(END).await.unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for gateway in [&calling, &other] {
        assert_eq!(session.tell(gateway, &ping).await, 404);
        assert_eq!(lasting.tell(gateway, &ping).await, 200);
    }
}

/// A request of 2026-07-28 from a client that handles tasks; the result, or the error.
async fn modern(gateway: &Gateway, method: &str, mut params: Value) -> Result<Value, Value> {
    let name = params.get("taskId").or(params.get("name")).and_then(Value::as_str).unwrap().to_owned();
    params["_meta"] = json!({
        format!("{META}protocolVersion"): "2026-07-28",
        format!("{META}clientCapabilities"): {"elicitation": {}, "extensions": {format!("{META}tasks"): {}}},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    let version = ("mcp-protocol-version", "2026-07-28");
    let headers = [ACCEPT, version, ("mcp-method", method), ("mcp-name", &name)];
    connection.post("/mcp", &headers, request.to_string().as_bytes()).await.unwrap();
    let answer = connection.answer().await.unwrap();
    let mut answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer.get_mut("result").map(Value::take).ok_or_else(|| answer["error"].take())
}

async fn begin_task(gateway: &Gateway, tool: &str, arguments: Value) -> Value {
    let created = modern(gateway, "tools/call", json!({"name": tool, "arguments": arguments})).await;
    let created = created.unwrap();
    assert_eq!(created["resultType"], "task", "{created}");
    created["taskId"].clone()
}

async fn until(gateway: &Gateway, task: &Value, status: &str) -> Value {
    wait_until(status, WITHIN, async || {
        let told = modern(gateway, "tasks/get", json!({"taskId": task})).await.unwrap();
        (told["status"] == status).then_some(told)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_task_is_watched_and_answered_by_way_of_another_replica() {
    let ([working, other], _data) = pair().await;
    let task = begin_task(&working, "confirm_delete", json!({"filename": "a.txt"})).await;
    let asks = until(&other, &task, "input_required").await;
    let (key, _) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let answers = json!({key: {"action": "accept", "content": {"confirm": true}}});
    let params = json!({"taskId": task, "inputResponses": answers});
    assert_eq!(modern(&other, "tasks/update", params).await.unwrap()["resultType"], "complete");
    let done = until(&other, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Deleted a.txt");
    // Word for word what the replica says that ran it.
    assert_eq!(done, until(&working, &task, "completed").await);
}

#[tokio::test]
async fn a_task_is_cancelled_by_way_of_another_replica() {
    let ([working, other], _data) = pair().await;
    let task = begin_task(&working, "slow_compute", json!({"seconds": 600})).await;
    modern(&other, "tasks/cancel", json!({"taskId": task})).await.unwrap();
    until(&working, &task, "cancelled").await;
}

#[tokio::test]
async fn a_task_is_unknown_when_its_replica_is_gone_or_never_had_it() {
    let ([mut working, other], _data) = pair().await;
    let task = begin_task(&working, "slow_compute", json!({"seconds": 600})).await;
    let made_up = format!("{}AAAAAAAA", task.as_str().unwrap());
    let unknown = modern(&other, "tasks/get", json!({"taskId": made_up})).await.unwrap_err();
    assert_eq!(unknown["code"], -32602, "{unknown}");
    assert!(unknown["message"].as_str().unwrap().contains("unknown task"), "{unknown}");
    working.kill().await.unwrap();
    let gone = modern(&other, "tasks/get", json!({"taskId": task})).await.unwrap_err();
    assert_eq!(gone["code"], -32602, "{gone}");
    assert!(gone["message"].as_str().unwrap().contains("may be gone"), "{gone}");
}
