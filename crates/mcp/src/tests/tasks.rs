//! The life of a task.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolrail_core::{Questions, Unanswered, async_trait};

use super::*;
use crate::tasks::elsewhere;

pub(super) async fn call(server: &Server, tool: &str) -> Result<Value, Value> {
    ask(server, Dialect::Modern, "tools/call", json!({"name": tool, "_meta": with_tasks()})).await
}

pub(super) async fn of_task(
    server: &Server,
    method: &str,
    id: &Value,
    mut more: Value,
) -> Result<Value, Value> {
    more["taskId"] = id.clone();
    more["_meta"] = with_tasks();
    ask(server, Dialect::Modern, method, more).await
}

/// Asks for the task until it is in that status.
pub(super) async fn until(server: &Server, id: &Value, status: &str) -> Value {
    let look = async {
        loop {
            let task = of_task(server, "tasks/get", id, json!({})).await.unwrap();
            if task["status"] == status {
                return task;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), look).await.expect("it comes to that status")
}

async fn ended(tool: &str, status: &str) -> Value {
    let server = server().await;
    let id = call(&server, tool).await.unwrap()["taskId"].take();
    until(&server, &id, status).await
}

#[tokio::test]
async fn a_call_becomes_a_task_that_ends_with_its_result() {
    let server = server().await;
    let created = call(&server, "quick").await.unwrap();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert!(created["createdAt"].as_str().unwrap().ends_with('Z'));
    assert!(created["ttlMs"].as_u64().unwrap() >= 600_000);
    for absent in ["result", "error", "inputRequests", "requestState", "task"] {
        assert_eq!(created.get(absent), None);
    }
    let task = until(&server, &created["taskId"], "completed").await;
    assert_eq!(task["resultType"], "complete");
    assert_eq!(task["result"]["structuredContent"], json!([1]));
    assert_eq!(task["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_client_without_the_extension_gets_a_result_or_an_error_but_no_task() {
    let server = server().await;
    let params = |tool: &str| json!({"name": tool, "_meta": modern(json!({}))});
    let at_once = ask(&server, Dialect::Modern, "tools/call", params("fails")).await.unwrap();
    assert_eq!((&at_once["isError"], at_once.get("taskId")), (&json!(true), None));
    for (dialect, status) in [(Dialect::Modern, 400), (Dialect::Legacy, 200)] {
        let refused = ask(&server, dialect, "tools/call", params("quick")).await.unwrap_err();
        assert_eq!((&refused["code"], &refused["status"]), (&json!(-32021), &json!(status)));
        assert_eq!(refused["data"]["requiredCapabilities"]["extensions"], json!({TASKS: {}}));
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": "x", "inputResponses": {}, "_meta": modern(json!({}))});
        let refused = ask(&server, Dialect::Modern, method, params.clone()).await.unwrap_err();
        assert_eq!(refused["code"], -32021);
        let unknown = ask(&server, Dialect::Legacy, method, params).await.unwrap_err();
        assert_eq!(unknown["code"], -32601);
    }
}

#[tokio::test]
async fn failures_of_the_tool_complete_a_task_and_errors_of_the_protocol_fail_it() {
    let failed = ended("fails", "completed").await;
    assert_eq!(failed["result"]["isError"], true);
    let refused = ended("refuses_later", "failed").await;
    assert_eq!(refused["error"], json!({"code": -32050, "message": "no", "data": {"why": "so"}}));
    assert_eq!(refused.get("result"), None);
    let panicked = ended("panics", "failed").await;
    assert_eq!(panicked["error"]["code"], -32603);
}

#[tokio::test]
async fn a_task_can_be_cancelled_more_than_once() {
    let server = server().await;
    let id = call(&server, "slow").await.unwrap()["taskId"].take();
    assert_eq!(until(&server, &id, "working").await["statusMessage"], "thinking");
    for _ in 0..2 {
        let done = of_task(&server, "tasks/cancel", &id, json!({})).await.unwrap();
        assert_eq!((&done["resultType"], done.get("taskId")), (&json!("complete"), None));
        until(&server, &id, "cancelled").await;
    }
}

#[tokio::test]
async fn unknown_tasks_are_refused_wherever_they_might_be() {
    let server = server().await;
    for id in ["nope", "upstream~7", ""] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"inputResponses": {}});
            assert_eq!(of_task(&server, method, &json!(id), params).await.unwrap_err()["code"], -32602);
        }
    }
}

#[tokio::test]
async fn a_task_of_an_upstream_is_asked_for_there() {
    let server = server().await;
    let id =
        elsewhere::seal(&server.signer, "fixture~7~a", (&Principal::Anonymous, Dialect::Modern)).unwrap();
    let id = json!(id);
    let task = of_task(&server, "tasks/update", &id, json!({"inputResponses": {"k": 1.0}})).await.unwrap();
    assert_eq!(task["asked"], r#"tasks/update {"inputResponses":{"k":1.0}}"#);
    assert_eq!((&task["taskId"], &task["ttlMs"]), (&json!("fixture~7~a"), &json!(5)));
    assert_eq!(task["resultType"], "complete");
    for made_up in ["fixture~7~a", "fixture~7", "fixture~"] {
        let refused = of_task(&server, "tasks/get", &json!(made_up), json!({})).await.unwrap_err();
        assert_eq!(refused["code"], -32602, "{refused}");
    }
}

#[tokio::test]
async fn questions_of_a_task_are_answered_one_by_one_and_no_key_is_used_twice() {
    let server = server().await;
    let id = call(&server, "confirms").await.unwrap()["taskId"].take();
    let keys = |task: &Value| -> Vec<String> {
        task["inputRequests"].as_object().unwrap().keys().cloned().collect()
    };
    let update = async |answers: Value| {
        let done = of_task(&server, "tasks/update", &id, json!({"inputResponses": answers})).await.unwrap();
        assert_eq!(done["resultType"], "complete");
    };
    let asks = until(&server, &id, "input_required").await;
    assert_eq!(keys(&asks), ["one", "two"]);
    assert_eq!(asks["inputRequests"]["one"]["method"], "elicitation/create");
    update(json!({"one": {"action": "1"}, "two": {}, "other": {}})).await;
    assert_eq!(keys(&until(&server, &id, "input_required").await), ["two"]);
    update(json!({"one": {"action": "9"}, "two": {"action": "2"}})).await;
    let again = until(&server, &id, "input_required").await;
    let key = keys(&again).remove(0);
    assert_ne!(key, "one");
    update(json!({key: {"action": "3"}})).await;
    let task = until(&server, &id, "completed").await;
    assert_eq!(
        task["result"]["structuredContent"],
        json!([{"action": "1"}, {"action": "2"}, {"action": "3"}])
    );
}

/// A client of 2026-07-28: it answers by asking again.
struct ComesAgain {
    brings: bool,
}

#[async_trait]
impl Caller for ComesAgain {
    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        assert_eq!(*questions, fixture::questions(&["name"]));
        if self.brings {
            return Ok(Map::from_iter([("name".to_owned(), json!({"action": "accept"}))]));
        }
        Err(Unanswered::Later(fixture::needed()))
    }
}

#[tokio::test]
async fn what_is_asked_first_is_asked_before_there_is_a_task() {
    let server = server().await;
    let call = async |brings| {
        let client = Client { caller: &ComesAgain { brings }, ..Client::of(Dialect::Modern) };
        let params = json!({"name": "asks_first", "_meta": with_tasks()});
        ask_as(&client, &server, "tools/call", params).await.unwrap()
    };
    let first = call(false).await;
    assert_eq!((&first["resultType"], first.get("taskId")), (&json!("input_required"), None));
    assert_eq!(first["requestState"], "sealed");
    let created = call(true).await;
    assert_eq!((&created["resultType"], created.get("requestState")), (&json!("task"), None));
    let task = until(&server, &created["taskId"], "completed").await;
    assert_eq!(task["result"]["structuredContent"], json!({"action": "accept"}));
}

#[tokio::test]
async fn whoever_follows_a_task_hears_where_it_stands_and_of_its_end() {
    let server = server().await;
    let id = call(&server, "slow").await.unwrap()["taskId"].take();
    let ids = [id.as_str().unwrap().to_owned(), "nope".to_owned()];
    let mut followed = server.tasks.follow(&ids, &Principal::Anonymous);
    assert_eq!(followed.ids(), [&ids[0]]);
    for status in ["working", "cancelled"] {
        let mut params = followed.next(&server.me).await;
        params.push(b'}');
        let params: Value = serde_json::from_slice(&params).unwrap();
        assert_eq!((&params["taskId"], &params["status"]), (&id, &json!(status)));
        assert_eq!(params.get("resultType"), None);
        of_task(&server, "tasks/cancel", &id, json!({})).await.unwrap();
    }
    assert!(followed.ids().is_empty());
}

#[tokio::test]
async fn a_subscription_hears_of_the_tasks_it_names() {
    let server = server().await;
    let id = call(&server, "slow").await.unwrap()["taskId"].take();
    let outbox = Outbox::default();
    let client = Client { outbox: Some(&outbox), ..Client::of(Dialect::Modern) };
    let listen = |meta| {
        let notifications = json!({"taskIds": [id, "nope"]});
        ask_as(
            &client,
            &server,
            "subscriptions/listen",
            json!({"notifications": notifications, "_meta": meta}),
        )
    };
    assert_eq!(listen(modern(json!({}))).await.unwrap_err()["code"], -32021);
    let read = async {
        let heard = async || loop {
            match outbox.take() {
                Some(message) => return serde_json::from_slice::<Value>(&message).unwrap(),
                None => tokio::task::yield_now().await,
            }
        };
        let accepted = heard().await;
        assert_eq!(accepted["params"]["notifications"], json!({"taskIds": [id]}));
        for status in ["working", "cancelled"] {
            let told = heard().await;
            assert_eq!(
                (&told["method"], &told["params"]["status"]),
                (&json!("notifications/tasks"), &json!(status))
            );
            assert_eq!(told["params"]["_meta"][format!("{META}/subscriptionId")], 1);
            of_task(&server, "tasks/cancel", &id, json!({})).await.unwrap();
        }
        server.close();
    };
    let both = async { tokio::join!(listen(with_tasks()), read) };
    let (ended, ()) = tokio::time::timeout(Duration::from_secs(10), both).await.expect("it ends");
    assert_eq!(ended.unwrap()["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_forgotten_ten_minutes_after_its_end() {
    let server = server().await;
    let id = call(&server, "quick").await.unwrap()["taskId"].take();
    until(&server, &id, "completed").await;
    tokio::time::advance(Duration::from_secs(599)).await;
    assert!(of_task(&server, "tasks/get", &id, json!({})).await.is_ok());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(of_task(&server, "tasks/get", &id, json!({})).await.unwrap_err()["code"], -32602);
}
