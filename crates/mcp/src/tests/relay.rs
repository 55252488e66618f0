//! Two servers on one store, as two replicas are.

use futures_util::FutureExt;
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;

use super::tasks::{call, of_task, until};
use super::*;

struct Replicas {
    servers: [Arc<Server>; 2],
    _relaying: [AbortOnDropHandle<()>; 2],
    _data: TempDir,
}

async fn replicas() -> Replicas {
    let data = tempfile::tempdir().unwrap();
    let start = async || {
        let store = toolrail_store::open_sqlite(data.path()).await.unwrap();
        let server = server_on(Some(Arc::new(store))).await;
        let relaying = Arc::clone(&server);
        (server, AbortOnDropHandle::new(tokio::spawn(async move { relaying.relay().await })))
    };
    let ((one, relaying_one), (other, relaying_other)) = (start().await, start().await);
    Replicas { servers: [one, other], _relaying: [relaying_one, relaying_other], _data: data }
}

/// Larger than what a store takes at once.
const LARGE: usize = 5 * 1024 * 1024 / 2;

#[tokio::test]
async fn answers_and_results_of_any_size_reach_a_task_elsewhere() {
    let replicas = replicas().await;
    let [working, other] = &replicas.servers;
    let id = call(working, "confirms").await.unwrap()["taskId"].take();
    until(other, &id, "input_required").await;
    let large = "x".repeat(LARGE);
    let answers = json!({"one": {"action": large}, "two": {"action": "2"}});
    of_task(other, "tasks/update", &id, json!({"inputResponses": answers})).await.unwrap();
    let again = until(other, &id, "input_required").await;
    let (key, _) = again["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let answers = json!({key: {"action": "3"}});
    of_task(other, "tasks/update", &id, json!({"inputResponses": answers})).await.unwrap();
    let done = until(other, &id, "completed").await;
    let said = &done["result"]["structuredContent"];
    assert!(said[0]["action"] == large && said[2]["action"] == "3");
}

#[tokio::test]
async fn nobody_looks_for_letters_unless_something_waits_for_one() {
    let server = server().await;
    let looks = || server.relay.until_held().now_or_never().is_some();
    assert!(!looks());
    let id = call(&server, "slow").await.unwrap()["taskId"].take();
    assert!(looks(), "others may ask for the task");
    server.tasks.discard(&server.tasks.find(id.as_str().unwrap(), &Principal::Anonymous).unwrap());
    assert!(!looks());
}

#[tokio::test]
async fn a_server_without_a_store_asks_nobody() {
    let server = server().await;
    let id = json!("00000000-AAAAAAAAAAAAAAAAAAAAAAAA");
    let asked = of_task(&server, "tasks/get", &id, json!({})).now_or_never().expect("an answer at once");
    assert_eq!(asked.unwrap_err()["code"], -32602);
}
