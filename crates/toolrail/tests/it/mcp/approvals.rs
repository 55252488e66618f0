//! Calls that a person must approve of, by every way of MCP: the client's own user is asked where that is possible, and the call
//! waits for somebody else where it is not.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, RawConnection, Upstream, wait_until};

use crate::support::{gateway, register};

const WITHIN: Duration = Duration::from_secs(20);
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const META: &str = "io.modelcontextprotocol/";

/// A gateway with a tool that pays, and whom it pays.
async fn started(approval: Value) -> (Gateway, Upstream) {
    let (gateway, upstream) =
        (gateway().discovery().start().await.unwrap(), Upstream::start().await.unwrap());
    let definition = json!({
        "name": "pay",
        "description": "Sends money",
        "inputSchema": {
            "type": "object",
            "properties": {"to": {"type": "string", "description": "Whom"}},
            "required": ["to"]
        },
        "http": {"url": upstream.url("/echo"), "query": {"to": "{{args.to}}"}},
        "approval": approval
    });
    register(&gateway, &definition).await;
    (gateway, upstream)
}

/// Decides about the only call that waits, as soon as one does.
async fn decide(gateway: &Gateway, decision: &str) -> Value {
    let waiting = async || {
        let listed = gateway.get("/admin/approvals").await.ok()?.json().ok()?;
        let pending = listed["approvals"].as_array()?.iter().find(|one| one["status"] == "pending")?;
        Some(pending["id"].as_str()?.to_owned())
    };
    let id = wait_until("a call that waits", WITHIN, waiting).await.unwrap();
    let body = json!({"decision": decision, "reason": "by a test"});
    let decided = gateway.post_json(&format!("/admin/approvals/{id}"), &body).await.unwrap();
    assert_eq!(decided.status, 200, "{}", decided.text());
    decided.json().unwrap()
}

async fn audit(gateway: &Gateway) -> String {
    gateway.get("/admin/audit").await.unwrap().text()
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// A legacy session.
struct Legacy<'g> {
    gateway: &'g Gateway,
    session: String,
}

impl<'g> Legacy<'g> {
    async fn begin(gateway: &'g Gateway, capabilities: Value) -> Self {
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "0"}}});
        let mut connection = RawConnection::open(gateway.url()).await.unwrap();
        connection.post("/mcp", &[ACCEPT], initialize.to_string().as_bytes()).await.unwrap();
        let head = String::from_utf8(connection.until(b"\r\n\r\n").await.unwrap()).unwrap();
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        let session = headers.find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id")).unwrap().1;
        Self { gateway, session: session.to_owned() }
    }

    async fn post(&self, message: &Value) -> RawConnection {
        let mut connection = RawConnection::open(self.gateway.url()).await.unwrap();
        let headers = [ACCEPT, ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &self.session)];
        connection.post("/mcp", &headers, message.to_string().as_bytes()).await.unwrap();
        connection
    }

    /// Makes a call, answers the question it leads to, and gives the question and the result.
    async fn call_and_answer(&self, answer: Value) -> (Value, Value) {
        let mut stream = self.post(&call("pay", &json!({"to": "anna"}))).await;
        let question = event_of(&mut stream).await.unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let told = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer});
        assert_eq!(self.post(&told).await.answer().await.unwrap().status, 202);
        let result = event_of(&mut stream).await.unwrap();
        (question["params"].clone(), result["result"].clone())
    }
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

/// A call of 2026-07-28; the result, or the error.
async fn modern(gateway: &Gateway, capabilities: Value, mut params: Value) -> Result<Value, Value> {
    params["_meta"] = json!({
        format!("{META}protocolVersion"): "2026-07-28",
        format!("{META}clientCapabilities"): capabilities,
    });
    let name = params["name"].as_str().unwrap().to_owned();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut connection = RawConnection::open(gateway.url()).await.unwrap();
    let version = ("mcp-protocol-version", "2026-07-28");
    let headers = [ACCEPT, version, ("mcp-method", "tools/call"), ("mcp-name", &name)];
    connection.post("/mcp", &headers, request.to_string().as_bytes()).await.unwrap();
    let answer = connection.answer().await.unwrap();
    let mut answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer.get_mut("result").map(Value::take).ok_or_else(|| answer["error"].take())
}

fn code(result: &Value) -> &str {
    result["_meta"]["toolrail/code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_user_of_a_legacy_client_is_asked() {
    let (gateway, upstream) = started(json!({"message": "Sends real money"})).await;
    let session = Legacy::begin(&gateway, json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"approve": true, "reason": "it is due"}});
    let (question, result) = session.call_and_answer(yes).await;
    let text = question["message"].as_str().unwrap();
    assert!(text.starts_with("Sends real money") && text.contains("/echo?to=anna"), "{text}");
    assert_eq!(question["requestedSchema"]["required"], json!(["approve"]));
    assert!(result["isError"] != true, "{result}");
    assert_eq!(upstream.count("/echo"), 1);
    for no in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"approve": false, "reason": "too much"}}),
    ] {
        let (_, result) = session.call_and_answer(no).await;
        assert_eq!(code(&result), "APPROVAL_DENIED", "{result}");
    }
    assert_eq!(upstream.count("/echo"), 1);
    let record = audit(&gateway).await;
    for entry in ["approval.approve", "it is due", "approval.deny", "too much"] {
        assert!(record.contains(entry), "{entry}: {record}");
    }
    assert_eq!(gateway.get("/admin/approvals").await.unwrap().json().unwrap()["approvals"], json!([]));
}

#[tokio::test]
async fn the_user_of_a_modern_client_is_asked_for_exactly_this_call() {
    let (gateway, upstream) = started(json!("required")).await;
    let can = json!({"elicitation": {"form": {}}});
    let anna = json!({"name": "pay", "arguments": {"to": "anna"}});
    let asked = modern(&gateway, can.clone(), anna.clone()).await.unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(question["params"]["message"].as_str().unwrap().contains("to=anna"), "{question}");
    let answers = json!({key: {"action": "accept", "content": {"approve": true}}});
    let with = |to: &str, state: bool| {
        let mut again = json!({"name": "pay", "arguments": {"to": to}, "inputResponses": answers});
        if state {
            again["requestState"] = asked["requestState"].clone();
        }
        again
    };
    let swapped = modern(&gateway, can.clone(), with("mallory", true)).await.unwrap_err();
    assert!(swapped["message"].as_str().unwrap().contains("another request"), "{swapped}");
    let stateless = modern(&gateway, can.clone(), with("mallory", false)).await.unwrap();
    assert_eq!(stateless["resultType"], "input_required", "the answer is for another call: {stateless}");
    assert_eq!(upstream.total(), 0);
    let made = modern(&gateway, can.clone(), with("anna", true)).await.unwrap();
    assert!(made["isError"] != true && made["resultType"] == "complete", "{made}");
    assert_eq!(upstream.count("/echo"), 1);
    let refused = json!({key: {"action": "decline"}});
    let mut no = with("anna", true);
    no["inputResponses"] = refused;
    assert_eq!(code(&modern(&gateway, can, no).await.unwrap()), "APPROVAL_DENIED");
    assert_eq!(upstream.count("/echo"), 1);
}

#[tokio::test]
async fn somebody_else_decides_where_the_client_cannot_ask() {
    let (gateway, upstream) = started(json!("required")).await;
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let made = modern(&gateway, capabilities, json!({"name": "pay", "arguments": {"to": "anna"}}));
        let (made, _) = tokio::join!(made, decide(&gateway, "approve"));
        assert!(made.as_ref().is_ok_and(|made| made["isError"] != true), "{made:?}");
    }
    let session = Legacy::begin(&gateway, json!({})).await;
    let mut asked = call("pay", &json!({"to": "anna"}));
    asked["params"]["_meta"] = json!({"progressToken": "p"});
    let mut stream = session.post(&asked).await;
    let progress = event_of(&mut stream).await.unwrap();
    let told = progress["params"]["message"].as_str().unwrap_or_default();
    assert!(told.starts_with("waiting for approval ap_"), "{progress}");
    decide(&gateway, "approve").await;
    let result = loop {
        let event = event_of(&mut stream).await.unwrap();
        if event.get("result").is_some() {
            break event;
        }
    };
    assert!(result["result"]["isError"] != true, "{result}");
    assert_eq!(upstream.count("/echo"), 3);
}

#[tokio::test]
async fn where_somebody_is_named_the_client_is_not_asked() {
    let (gateway, upstream) = started(json!({"by": ["boss"], "waitSecs": 0})).await;
    let can = json!({"elicitation": {}});
    let result = modern(&gateway, can, json!({"name": "pay", "arguments": {"to": "anna"}})).await.unwrap();
    assert_eq!(code(&result), "APPROVAL_PENDING", "{result}");
    assert_eq!(upstream.total(), 0);
}

#[tokio::test]
async fn no_way_in_leads_around_it() {
    let (gateway, upstream) = started(json!({"waitSecs": 0})).await;
    let named = json!({"name": "call_tool", "arguments": {"name": "pay", "arguments": {"to": "anna"}}});
    let through = gateway.mcp("tools/call", named).await.unwrap().text();
    assert!(through.contains("APPROVAL_PENDING"), "{through}");
    let batch = json!([call("pay", &json!({"to": "1"})), call("pay", &json!({"to": "2"}))]);
    let batched = gateway.post_json("/mcp", &batch).await.unwrap().text();
    assert_eq!(batched.matches("\"APPROVAL_PENDING\"").count(), 2, "{batched}");
    let plain = gateway.mcp("pay", json!({"to": "anna"})).await.unwrap().text();
    assert!(plain.contains("error"), "{plain}");
    let rest = json!({"tool": "PAY", "arguments": {"to": "anna"}});
    let rest = gateway.post_json("/mcp/tools/call", &rest).await.unwrap();
    assert!(rest.status == 409 || rest.status == 404, "{}", rest.text());
    assert_eq!(upstream.total(), 0);
}

#[tokio::test]
async fn the_tools_of_a_server_need_approval_if_its_definition_says_so() {
    let (server, upstream) = started(json!("none")).await;
    let front = gateway().start().await.unwrap();
    let definition = json!({
        "name": "bank", "description": "A bank", "type": "mcp", "mcp": {"url": format!("{}/mcp", server.url())},
        "approval": {"waitSecs": 0}
    });
    register(&front, &definition).await;
    let name = wait_until("the tool of the server", WITHIN, async || {
        let listed = front.mcp("tools/list", json!({})).await.ok()?.json().ok()?;
        let tools = listed["result"]["tools"].as_array()?;
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.into_iter().find(|name| name.ends_with("pay")).map(str::to_owned)
    });
    let name = name.await.unwrap();
    let pay = || front.mcp("tools/call", json!({"name": name, "arguments": {"to": "anna"}}));
    let pending = pay().await.unwrap().text();
    assert!(pending.contains("APPROVAL_PENDING") && upstream.total() == 0, "{pending}");
    let decided = decide(&front, "approve").await;
    let shown = decided["approval"]["call"]["request"].to_string();
    assert!(shown.contains("tools/call") && shown.contains("anna"), "{decided:#}");
    let made = pay().await.unwrap().text();
    assert!(!made.contains("APPROVAL") && upstream.count("/echo") == 1, "{made}");
}
