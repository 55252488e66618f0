//! What operators see: metrics, readiness, the revision in answers and log lines, and the webhook that has the sources
//! looked at (R128, R132, R133).

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use toolrail_testkit::{Gateway, Reply, wait_until};

use crate::support::{assert_failed, gateway, get_tool, listed, register, started};

async fn post(gateway: &Gateway, path: &str, body: impl Into<Bytes>) -> Reply {
    let request = Request::builder().method(Method::POST).uri(path);
    gateway.request(request.body(Full::new(body.into())).unwrap()).await.unwrap()
}

#[tokio::test]
async fn prometheus_can_read_the_page_of_metrics() {
    let (gateway, upstream) = started().await;
    register(&gateway, &get_tool("one", &upstream.url("/echo"))).await;
    let page = gateway.get("/metrics").await.unwrap();
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = page.text();
    assert!(text.contains("# HELP toolrail_build_info Always 1"), "{text}");
    assert!(text.contains("toolrail_build_info{version=\""), "{text}");
    let memory = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    assert!(memory.unwrap().parse::<f64>().unwrap() > 1e6, "{text}");
}

#[tokio::test]
async fn every_answer_names_its_revision() {
    let (gateway, upstream) = started().await;
    let revision =
        |reply: &Reply| reply.header("toolrail-revision").and_then(|text| text.parse::<i64>().ok());
    let before = revision(&gateway.get("/mcp/tools").await.unwrap()).unwrap();
    let registered =
        gateway.post_json("/admin/tools", &get_tool("one", &upstream.url("/echo"))).await.unwrap();
    let after = revision(&registered).unwrap();
    assert!(after > before);
    assert_eq!(registered.json().unwrap()["revision"], json!(after));
    for reply in [
        gateway.get("/readyz").await.unwrap(),
        gateway.get("/nowhere").await.unwrap(),
        gateway.mcp("tools/list", json!({})).await.unwrap(),
        gateway.mcp("tools/call", json!({"name": "one"})).await.unwrap(),
        gateway.post_json("/mcp/tools/call", &json!({"tool": "one"})).await.unwrap(),
    ] {
        assert_eq!(revision(&reply), Some(after), "{}", reply.text());
    }
    assert_eq!(gateway.get("/readyz").await.unwrap().json().unwrap()["revision"], json!(after));
}

#[tokio::test]
async fn a_call_under_way_does_not_claim_a_later_revision() {
    let (gateway, upstream) = started().await;
    register(&gateway, &get_tool("slow", &upstream.url("/slow/2000"))).await;
    let before = gateway.get("/readyz").await.unwrap().json().unwrap()["revision"].clone();
    let call = gateway.mcp("tools/call", json!({"name": "slow"}));
    let change = async {
        wait_until("the call to arrive", Duration::from_secs(10), async || {
            (!upstream.received("/slow/2000").is_empty()).then_some(())
        })
        .await
        .unwrap();
        register(&gateway, &get_tool("other", &upstream.url("/echo"))).await;
    };
    let (reply, ()) = tokio::join!(call, change);
    assert_eq!(reply.unwrap().header("toolrail-revision"), Some(before.to_string().as_str()));
}

#[tokio::test]
async fn log_lines_name_their_revision() {
    let gateway = gateway().args(["--log-format", "json", "--log-level", "debug"]).start().await.unwrap();
    let upstream = toolrail_testkit::Upstream::start().await.unwrap();
    register(&gateway, &get_tool("one", &upstream.url("/echo"))).await;
    let revision = gateway.get("/readyz").await.unwrap().json().unwrap()["revision"].clone();
    gateway.mcp("tools/call", json!({"name": "one"})).await.unwrap();
    let line = wait_until("the line of the call", Duration::from_secs(10), async || {
        let text = gateway.stderr();
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find(|line| line["message"] == "tool called")
    });
    let line = line.await.unwrap();
    assert_eq!((&line["name"], &line["revision"]), (&json!("one"), &revision), "{line}");
    let text = gateway.said("\"listening\"").await.unwrap();
    let listening = text.lines().find(|line| line.contains("\"listening\"")).unwrap();
    assert!(serde_json::from_str::<Value>(listening).unwrap()["revision"].is_i64(), "{listening}");
}

#[tokio::test]
async fn anything_may_be_sent_to_have_the_sources_looked_at() {
    let (gateway, _upstream) = started().await;
    let debezium =
        json!({"schema": {}, "payload": {"op": "u", "source": {"table": "mcp_tool"}, "before": null}});
    for body in [String::new(), "not JSON".into(), "{}".into(), "[1]".into(), debezium.to_string()] {
        let reply = post(&gateway, "/admin/refresh", body.clone()).await;
        let told = reply.json().unwrap();
        assert_eq!(
            (reply.status, &told["ok"], &told["changed"]),
            (200, &json!(true), &json!(0)),
            "{body}: {told}"
        );
        assert!(told["tookMs"].is_f64() && told["revision"].is_i64(), "{told}");
    }
    let large = post(&gateway, "/admin/refresh", vec![b'x'; 1024 * 1024 + 1]).await;
    assert_failed(&large, 413, "TOO_LARGE", "larger than 1 MiB");
    assert_failed(
        &post(&gateway, "/admin/refresh?all=1", "").await,
        400,
        "INVALID_REQUEST",
        "full=true|false",
    );
}

#[tokio::test]
async fn a_webhook_brings_a_change_of_another_program_at_once() {
    let gateway = gateway().args(["--poll-ms", "60000"]).start().await.unwrap();
    let file = gateway.data().join("toolrail.db");
    let database = sqlx::SqlitePool::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    let insert = "INSERT INTO mcp_tool(name, enabled, config_json) VALUES ('other', 1, \
                  '{\"description\": \"d\", \"http\": {\"url\": \"http://127.0.0.1:1/\"}}')";
    sqlx::query(insert).execute(&database).await.unwrap();
    let both = tokio::join!(post(&gateway, "/admin/refresh", ""), post(&gateway, "/admin/refresh", "{}"));
    // Whichever came first has brought it.
    let changed = |reply: &Reply| reply.json().unwrap()["changed"].as_u64();
    assert_eq!(changed(&both.0).max(changed(&both.1)), Some(1));
    assert_eq!(listed(&gateway).await.unwrap(), ["other"]);
    for path in ["/admin/refresh?full=true", "/admin/refresh"] {
        let told = post(&gateway, path, "{\"full\": true}").await.json().unwrap();
        assert_eq!((&told["ok"], &told["changed"]), (&json!(true), &json!(0)), "{told}");
    }
    assert_eq!(listed(&gateway).await.unwrap(), ["other"]);
}

#[tokio::test]
async fn readiness_tells_whether_the_store_can_be_reached() {
    let (gateway, _upstream) = started().await;
    let ready = gateway.get("/readyz").await.unwrap().json().unwrap();
    assert_eq!((&ready["status"], &ready["store"]["reachable"]), (&json!("ready"), &json!(true)), "{ready}");
    assert!(ready["store"]["description"].as_str().unwrap().starts_with("sqlite "), "{ready}");
    assert!(ready["revision"].is_i64() && ready["tools"].is_u64(), "{ready}");
}
