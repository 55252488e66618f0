//! What was acknowledged is not lost, and what other programs write is seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolrail_testkit::{Gateway, HttpClient, wait_until};

use crate::support::{gateway, plain, register, started};

/// R108: registered tools survive a restart.
#[tokio::test]
async fn tools_survive_a_restart() {
    let (mut gateway, upstream) = started().await;
    register(&gateway, &plain("a", &upstream.url("/echo"))).await;
    register(&gateway, &plain("b", &upstream.url("/echo"))).await;
    gateway.delete("/admin/tools/b").await.unwrap();
    gateway.stop().await.unwrap();
    gateway.restart().await.unwrap();
    assert_eq!(names(&gateway).await, ["a"]);
    let call = gateway.post_json("/mcp/tools/call", &json!({"tool": "a", "arguments": {}})).await.unwrap();
    assert_eq!(call.json().unwrap()["ok"], true);
    let state = gateway.get("/admin/tools/b").await.unwrap().json().unwrap();
    assert_eq!(state["enabled"], false, "{state}");
}

/// Killed in the middle of a burst of registrations, the gateway has every one that it acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_nothing_that_was_acknowledged() {
    let mut gateway = gateway().start().await.unwrap();
    let url = Arc::new(format!("{}/admin/tools", gateway.url()));
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (url, stop) = (Arc::clone(&url), Arc::clone(&stop));
            tokio::spawn(async move {
                let client = HttpClient::new();
                let mut acknowledged = Vec::new();
                for number in 0..10_000 {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("w{writer}.{number}");
                    let definition = plain(&name, "http://127.0.0.1:1/");
                    match client.send_json(http::Method::POST, &url, Some(&definition)).await {
                        Ok(reply) if reply.status.is_success() => acknowledged.push(name),
                        _ => break,
                    }
                }
                acknowledged
            })
        })
        .collect();
    wait_until("some registrations", Duration::from_secs(20), async || (names(&gateway).await.len() >= 100).then_some(()))
        .await
        .unwrap();
    gateway.kill().await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    assert!(acknowledged.len() >= 50, "only {} were acknowledged", acknowledged.len());
    gateway.restart().await.unwrap();
    let kept = names(&gateway).await;
    let lost: Vec<_> = acknowledged.iter().filter(|name| !kept.contains(name)).collect();
    assert!(lost.is_empty(), "lost {} of {}: {lost:?}", lost.len(), acknowledged.len());
}

/// R75: calls are counted in the store.
#[tokio::test]
async fn calls_are_counted() {
    let (gateway, upstream) = started().await;
    register(&gateway, &plain("a", &upstream.url("/echo"))).await;
    for _ in 0..3 {
        gateway.post_json("/mcp/tools/call", &json!({"tool": "a"})).await.unwrap();
    }
    wait_until("the count to be written", Duration::from_secs(5), async || {
        let shown = gateway.get("/admin/tools/a").await.ok()?.json().ok()?;
        (shown["useFrequency"] == 3 && shown["lastUsed"].is_string()).then_some(())
    })
    .await
    .unwrap();
}

async fn names(gateway: &Gateway) -> Vec<String> {
    let listed = gateway.get("/mcp/tools").await.unwrap().json().unwrap();
    let tools: Vec<Value> = listed["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
