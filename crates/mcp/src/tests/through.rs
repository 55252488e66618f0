//! Progress, questions and tasks of a tool that is called through `call_tool`: as if it had been called by its name.

use serde_json::{Value, json};

use super::streamable::{Events, Headers, initialize, json_of, post, request};
use super::tasks::{of_task, until};
use super::*;

async fn server_through() -> Arc<Server> {
    serving(registry_with(away(), Endpoints::default()).with_built_ins(&fixture::call_tool()).build()).await
}

/// The parameters of a call of that tool through `call_tool`.
fn through(tool: &str, meta: Value) -> Value {
    json!({"name": "call_tool", "arguments": {"name": tool, "arguments": {}}, "_meta": meta})
}

#[tokio::test]
async fn a_legacy_client_hears_of_progress_and_is_asked() {
    let server = server_through().await;
    let id = initialize(&server, "2025-06-18").await;
    let session: Headers<'_> = &[("mcp-session-id", &id)];
    let call = request(2, "tools/call", through("talks", json!({"progressToken": "p"})));
    let mut events = Events::of(post(&server, session, call).await);
    let progress = events.next().await.unwrap();
    assert_eq!(progress["params"], json!({"progress": 1, "progressToken": "p", "total": 2}));
    assert_eq!(events.next().await.unwrap()["method"], "notifications/message");
    let question = events.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(post(&server, session, answer).await.status(), 202);
    let result = events.next().await.unwrap();
    assert_eq!(result["result"]["structuredContent"]["name"]["action"], "accept", "{result}");
}

#[tokio::test]
async fn a_modern_client_is_asked_by_the_result_round_after_round() {
    let server = server_through().await;
    let headers: Headers<'_> =
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "call_tool")];
    let mut params = through("asks_twice", modern(json!({"elicitation": {}})));
    for key in ["one", "two"] {
        let asked = json_of(post(&server, headers, request(2, "tools/call", params.clone())).await).await;
        let asked = &asked["result"];
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert!(asked["inputRequests"][key].is_object(), "{asked}");
        params["inputResponses"] = json!({key: {"action": key}});
        if let Some(state) = asked.get("requestState") {
            params["requestState"] = state.clone();
        }
    }
    let done = json_of(post(&server, headers, request(3, "tools/call", params.clone())).await).await;
    let said = &done["result"]["structuredContent"];
    assert_eq!(*said, json!({"one": {"action": "one"}, "two": {"action": "two"}}), "{done}");
    // What was sealed for one tool is no good for another, though both are called through the same.
    params["arguments"]["name"] = "talks".into();
    let refused = json_of(post(&server, headers, request(4, "tools/call", params)).await).await;
    assert_ne!(refused["result"]["structuredContent"], *said, "{refused}");
}

#[tokio::test]
async fn a_call_becomes_a_task_of_the_real_tool() {
    let server = server_through().await;
    let call = async |tool: &str| {
        ask(&server, Dialect::Modern, "tools/call", through(tool, with_tasks())).await.unwrap()
    };
    let created = call("quick").await;
    assert_eq!(created["resultType"], "task", "{created}");
    let task = until(&server, &created["taskId"], "completed").await;
    assert_eq!(task["result"]["structuredContent"], json!([1]), "{task}");
    let id = call("confirms").await["taskId"].take();
    let asks = until(&server, &id, "input_required").await;
    assert_eq!(asks["inputRequests"].as_object().unwrap().len(), 2, "{asks}");
    of_task(&server, "tasks/cancel", &id, json!({})).await.unwrap();
    until(&server, &id, "cancelled").await;
}
