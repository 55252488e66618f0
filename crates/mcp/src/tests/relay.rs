//! Two servers on one store, as two replicas are.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;
use toolrail_core::{MailLimits, NewsKind, ReplicaStore as _};

use super::tasks::{call, of_task, until};
use super::*;
use crate::questions::QuestionOrigin;
use crate::relay::Errand;
use crate::relay::{ErrandOutcome, Report};
use crate::sign::Signer;

struct Replicas {
    servers: [Arc<Server>; 2],
    _relaying: [AbortOnDropHandle<()>; 2],
    data: TempDir,
}

async fn replicas() -> Replicas {
    let data = tempfile::tempdir().unwrap();
    let start = async || {
        let store = toolrail_store::open_sqlite(data.path()).await.unwrap();
        let server = server_on(Arc::new(store)).await;
        let relaying = Arc::clone(&server);
        (server, AbortOnDropHandle::new(tokio::spawn(async move { relaying.relay().await })))
    };
    let ((one, relaying_one), (other, relaying_other)) = (start().await, start().await);
    Replicas { servers: [one, other], _relaying: [relaying_one, relaying_other], data }
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
async fn a_task_is_unknown_to_another_tenant_here_and_elsewhere() {
    let replicas = replicas().await;
    let [working, other] = &replicas.servers;
    let id = call(working, "slow").await.unwrap()["taskId"].take();
    let id = id.as_str().unwrap();
    let acme = Principal::of_tenant("acme").unwrap();
    assert!(working.tasks.find(id, &Principal::Anonymous).is_some());
    assert!(working.tasks.find(id, &acme).is_none());
    assert!(working.tasks.follow(&[id.to_owned()], &acme).ids().is_empty());
    let heard = other.relay.errand((working.replica(), id), &acme, Errand::Cancel).await;
    assert!(matches!(heard, ErrandOutcome::NoSuchTask));
    assert!(working.tasks.find(id, &Principal::Anonymous).is_some());
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
    let id = json!(server.signer.seal("task", &[0; 4]));
    let asked = of_task(&server, "tasks/get", &id, json!({})).now_or_never().expect("an answer at once");
    assert_eq!(asked.unwrap_err()["code"], -32602);
}

/// A replica that nobody is.
const NOBODY: u32 = 0xdead_0001;

/// What lies there for that replica.
async fn letters(replicas: &Replicas) -> usize {
    let store = toolrail_store::open_sqlite(replicas.data.path()).await.unwrap();
    store.collect(&format!("{NOBODY:08x}")).await.unwrap().len()
}

#[tokio::test]
async fn nothing_is_passed_on_for_ids_that_were_made_up() {
    let replicas = replicas().await;
    let [server, _] = &replicas.servers;
    let live = server.sessions.live("session").unwrap();
    let other = Signer::new(&[9; 32]).seal("task", &NOBODY.to_be_bytes()).unwrap();
    for made_up in ["dead0001-AAAAAAAAAAAAAAAAAAAAAAAA", "toolrail-dead0001-1", "", &other] {
        let refused = of_task(server, "tasks/get", &json!(made_up), json!({})).await.unwrap_err();
        assert_eq!(refused["code"], -32602, "{made_up}");
        assert!(!server.pass_on(&live, made_up, Ok(RawValue::NULL)).await, "{made_up}");
    }
    assert_eq!(letters(&replicas).await, 0);
}

#[tokio::test]
async fn a_question_is_answered_once_by_the_session_that_was_asked() {
    let replicas = replicas().await;
    let [server, _] = &replicas.servers;
    let [live, stranger] = ["session", "stranger"].map(|id| server.sessions.live(id).unwrap());
    let asker = QuestionOrigin { replica: NOBODY, ..server.asker(&live) };
    let id = live.questions.expect(asker).unwrap().id.clone();
    assert!(!server.pass_on(&stranger, &id, Ok(RawValue::NULL)).await);
    assert!(server.pass_on(&live, &id, Ok(RawValue::NULL)).await);
    assert!(!server.pass_on(&live, &id, Ok(RawValue::NULL)).await);
    assert_eq!(letters(&replicas).await, 1);
}

#[tokio::test]
async fn an_ended_session_stays_ended_however_much_is_cancelled() {
    let replicas = replicas().await;
    let [server, other] = &replicas.servers;
    // Before anybody can tell any of it.
    for number in 0..2_000 {
        server.relay.newsroom.tell(&Report::cancelled("another", &number.to_string()));
    }
    server.relay.newsroom.tell(&Report::Ended { session: "session".to_owned() });
    let told = async {
        while other.sessions.live("session").is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), told).await.unwrap();
    let store = toolrail_store::open_sqlite(replicas.data.path()).await.unwrap();
    let cancelled = serde_json::to_vec(&Report::cancelled("another", "1")).unwrap();
    let more = vec![cancelled; MailLimits::ALL.most_news as usize + 1];
    store.announce(NewsKind::Passing, &more).await.unwrap();
    let late = server_on(Arc::new(store)).await;
    late.catch_up().await;
    assert!(late.sessions.live("session").is_none());
    assert!(late.sessions.live("another").is_some());
}
