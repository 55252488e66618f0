//! Servers that mean harm: what they may cost is bounded.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolrail_core::{CallError, Caller, Mute};

use super::client::{Client, Server, eventually};
use super::rogue::{Rogue, Said, event, proper, stream, whole};
use super::script::Eras;

/// Calls the tool of a server that answers calls with `said`.
async fn call(settings: &Value, said: impl Fn(&Value) -> Vec<Said> + Send + Sync + 'static) -> CallError {
    call_by(&Mute, settings, said).await
}

async fn call_by(
    caller: &dyn Caller,
    settings: &Value,
    said: impl Fn(&Value) -> Vec<Said> + Send + Sync + 'static,
) -> CallError {
    let rogue =
        Rogue::start(Eras::Modern, move |message| (message["method"] == "tools/call").then(|| said(message)))
            .await;
    let mut settings = settings.clone();
    settings["url"] = rogue.url().into();
    let server = Server::start(&settings);
    server.ready().await;
    server.call("up_t", "{}", caller).await.unwrap_err()
}

#[tokio::test]
async fn lines_without_end_and_without_a_message_are_refused() {
    for line in [": hi\n", "\n", "data:\n\n", "data: x\n\n", "id: 7\n"] {
        let flood = move |_: &Value| vec![stream(), Said::Again(line.repeat(10_000), Duration::ZERO)];
        let began = Instant::now();
        let refused = call(&json!({"timeoutMs": 15_000}), flood).await;
        assert_eq!(refused.code.word(), "UPSTREAM_INVALID", "{line:?}: {refused}");
        assert!(refused.message.contains("no message"), "{line:?}: {refused}");
        assert!(began.elapsed() < Duration::from_secs(10), "{line:?}");
    }
}

#[tokio::test]
async fn a_flood_of_notices_does_not_put_off_the_end_of_a_call() {
    let notice = event(&json!({"jsonrpc": "2.0", "method": "notifications/whatever"}));
    let flood = move |_: &Value| vec![stream(), Said::Again(notice.repeat(1000), Duration::ZERO)];
    let began = Instant::now();
    let late = call(&json!({"timeoutMs": 500}), flood).await;
    assert_eq!(late.code.word(), "TIMEOUT", "{late}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

/// Reports progress every 50 ms, under the token of the call or under another.
fn progress(message: &Value, token: Option<&Value>) -> Vec<Said> {
    let token = token.unwrap_or(&message["params"]["_meta"]["progressToken"]);
    let params = json!({"progressToken": token, "progress": 1});
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    vec![stream(), Said::Again(event(&notice), Duration::from_millis(50))]
}

#[tokio::test]
async fn only_progress_of_the_call_itself_gives_it_more_time() {
    let client = Client::default();
    let foreign = |message: &Value| progress(message, Some(&json!("another")));
    let late = call_by(&client, &json!({"timeoutMs": 300}), foreign).await;
    assert!(late.message.contains("within 300 ms"), "{late}");
    assert!(client.progress.lock().unwrap().is_empty());
}

/// A busy machine may hold a single report back for longer than the call waits for one; a longer wait then tells.
#[tokio::test]
async fn progress_without_end_does_not_give_a_call_time_without_end() {
    for wait in [300, 1000, 3000] {
        let client = Client::default();
        let settings = json!({"timeoutMs": wait});
        let late = call_by(&client, &settings, |message: &Value| progress(message, None)).await;
        assert_eq!(late.code.word(), "TIMEOUT", "{late}");
        if late.message.contains(&format!("within {} ms", 10 * wait)) {
            assert!(client.progress.lock().unwrap().len() > 10);
            return;
        }
    }
    panic!("no call was ended by the limit of all its time");
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_refused() {
    let question = event(&json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {}}));
    let refused = call(&json!({"timeoutMs": 15_000}), move |_: &Value| {
        vec![stream(), Said::Text(question.repeat(200)), Said::Hang]
    })
    .await;
    assert_eq!(refused.code.word(), "UPSTREAM_INVALID", "{refused}");
    assert!(refused.message.contains("more than 100 requests"), "{refused}");
}

#[tokio::test]
async fn an_answer_to_another_request_is_refused() {
    for id in [json!(999_999), json!("x"), json!(null)] {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
        let (alone, streamed) = (answer.clone(), event(&answer));
        let refusals = [
            call(&json!({}), move |_: &Value| whole(&alone)).await,
            call(&json!({}), move |_: &Value| vec![stream(), Said::Text(streamed.clone())]).await,
        ];
        for refused in refusals {
            assert_eq!(refused.code.word(), "UPSTREAM_INVALID", "{id}: {refused}");
            assert!(refused.message.contains("another request"), "{id}: {refused}");
        }
    }
}

#[tokio::test]
async fn content_that_is_no_list_is_refused_in_words() {
    for content in [json!({}), json!("text"), json!(null)] {
        let answer = move |message: &Value| {
            whole(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}))
        };
        let refused = call(&json!({}), answer).await;
        assert_eq!(refused.code.word(), "UPSTREAM_INVALID", "{refused}");
        assert!(refused.message.contains("\"content\" that is not a list"), "{refused}");
    }
}

#[tokio::test]
async fn a_result_that_is_nested_too_deep_is_told_at_once_however_it_comes() {
    let deep = |message: &Value| {
        let content = (0..125).fold(json!([]), |inner, _| json!([inner]));
        json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})
    };
    let refusals = [
        call(&json!({}), move |message: &Value| whole(&deep(message))).await,
        call(&json!({}), move |message: &Value| {
            vec![stream(), Said::Text(event(&deep(message))), Said::Hang]
        })
        .await,
    ];
    for refused in refusals {
        assert_eq!(refused.code.word(), "UPSTREAM_INVALID", "{refused}");
        assert!(refused.message.contains("nested deeper than 120 levels"), "{refused}");
    }
}

#[tokio::test]
async fn a_call_does_not_follow_a_redirect_to_another_origin() {
    let other = Rogue::start(Eras::Modern, |_| None).await;
    let head = format!("HTTP/1.1 307 x\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url());
    let refused = call(&json!({}), move |_: &Value| vec![Said::Text(head.clone())]).await;
    assert!(refused.message.contains("another origin"), "{refused}");
    assert!(other.times("tools/call").is_empty());
}

#[tokio::test]
async fn a_stream_that_ends_at_once_is_not_opened_again_at_once() {
    let rogue = Rogue::start(Eras::Legacy, |message| {
        let ends = || vec![stream(), Said::Text("retry: 0\nid: 1\ndata:\n\n".into())];
        (message["method"] == "GET").then(ends)
    })
    .await;
    let server = Server::start(&json!({"url": rogue.url()}));
    server.ready().await;
    eventually(|| rogue.times("GET").len() >= 3).await;
    let times = rogue.times("GET");
    assert!(times[1] - times[0] >= Duration::from_millis(490), "{times:?}");
    assert!(times[2] - times[1] >= Duration::from_millis(990), "{times:?}");
}

#[tokio::test]
async fn lists_that_change_without_end_are_looked_at_once_in_a_while() {
    let notice = event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let rogue = Rogue::start(Eras::Modern, move |message| {
        let flood = || vec![stream(), Said::Again(notice.repeat(10), Duration::from_millis(1))];
        (message["method"] == "subscriptions/listen").then(flood)
    })
    .await;
    let server = Server::start(&json!({"url": rogue.url()}));
    server.ready().await;
    // The first of all, the first change, and two more.
    eventually(|| rogue.times("tools/list").len() >= 4).await;
    let times = rogue.times("tools/list");
    assert!(times[1] - times[0] < Duration::from_secs(5), "{times:?}");
    assert!(times[2] - times[1] >= Duration::from_millis(90), "{times:?}");
    assert!(times[3] - times[2] >= Duration::from_millis(190), "{times:?}");
}

#[tokio::test]
async fn a_long_list_is_offered_like_a_short_one() {
    let rogue = Rogue::start(Eras::Modern, |message| {
        let tool =
            |n: usize| json!({"name": format!("t{n}"), "description": "x".repeat(200), "inputSchema": {}});
        let tools: Vec<Value> = (0..2000).map(tool).collect();
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}});
        Some(if message["method"] == "tools/list" { whole(&answer) } else { proper(Eras::Modern, message) })
    })
    .await;
    let server = Server::start(&json!({"url": rogue.url()}));
    assert_eq!(server.ready().await.tools.len(), 2000);
}
