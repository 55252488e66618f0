//! The upstream answers what its table says and remembers what it was asked.

use std::time::Duration;

use hyper::Method;
use serde_json::json;
use toolrail_testkit::{Canned, HttpClient, Reply, Upstream, wait_until};

async fn get(upstream: &Upstream, path: &str) -> Reply {
    HttpClient::new().send_json(Method::GET, &upstream.url(path), None).await.unwrap()
}

#[tokio::test]
async fn routes_answer_as_documented() {
    let upstream = Upstream::start().await.unwrap();
    for (path, status, content_type, length) in [
        ("/status/503", 503, "application/json", None),
        ("/bytes/1000", 200, "application/octet-stream", Some(1000)),
        ("/bytes/0", 200, "application/octet-stream", Some(0)),
        ("/slow/1", 200, "application/json", None),
        ("/image", 200, "image/png", None),
        ("/audio", 200, "audio/wav", None),
        ("/pdf", 200, "application/pdf", None),
        ("/text", 200, "text/plain; charset=utf-8", None),
        ("/redirect/2", 302, "text/plain", Some(0)),
        ("/redirect/0", 200, "application/json", None),
        ("/nothing", 404, "application/json", None),
        ("/status/abc", 404, "application/json", None),
    ] {
        let reply = get(&upstream, path).await;
        assert_eq!((reply.status, reply.header("content-type")), (status, Some(content_type)), "{path}");
        assert!(length.is_none_or(|length| reply.body.len() == length), "{path}");
    }
    for size in [0, 200, 65536] {
        let reply = get(&upstream, &format!("/json/{size}")).await;
        assert!(reply.json().unwrap()["items"].is_array());
        assert!(
            reply.body.len() <= size.max(12) && reply.body.len() + 80 > size,
            "{size}: {}",
            reply.body.len()
        );
    }
    assert_eq!(get(&upstream, "/redirect/2").await.header("location"), Some("/redirect/1"));
}

#[tokio::test]
async fn the_echo_shows_the_request_as_it_was_on_the_wire() {
    let upstream = Upstream::start().await.unwrap();
    let url = upstream.url("/echo/a%2Fb?x=1&x=%20");
    let reply = HttpClient::new().send_json(Method::PUT, &url, Some(&json!({ "名": 1 }))).await.unwrap();
    let seen = reply.json().unwrap();
    assert_eq!(seen["method"], "PUT");
    assert_eq!((&seen["path"], &seen["query"]), (&json!("/echo/a%2Fb"), &json!("x=1&x=%20")));
    assert_eq!(
        (&seen["headers"]["content-type"], &seen["body"]),
        (&json!("application/json"), &json!(r#"{"名":1}"#))
    );
    let received = upstream.received("/echo/a%2Fb");
    assert_eq!((received.len(), received[0].query.as_deref()), (1, Some("x=1&x=%20")));
}

#[tokio::test]
async fn canned_answers_and_counts_are_per_path() {
    let upstream = Upstream::start().await.unwrap();
    upstream.answer("/users", Canned::json(201, &json!([1])).with_header("x-page", "2"));
    for _ in 0..3 {
        let reply = get(&upstream, "/users?any=query").await;
        assert_eq!((reply.status, reply.header("x-page"), reply.text().as_str()), (201, Some("2"), "[1]"));
    }
    get(&upstream, "/text").await;
    assert_eq!((upstream.count("/users"), upstream.count("/text"), upstream.total()), (3, 1, 4));
}

#[tokio::test]
async fn a_stopped_upstream_refuses_and_a_restarted_one_answers_on_the_same_port() {
    let mut upstream = Upstream::start().await.unwrap();
    let client = HttpClient::new();
    let url = upstream.url("/text");
    assert_eq!(client.send_json(Method::GET, &url, None).await.unwrap().status, 200);
    upstream.stop().await;
    client.send_json(Method::GET, &url, None).await.unwrap_err();
    upstream.restart().await.unwrap();
    assert_eq!(client.send_json(Method::GET, &url, None).await.unwrap().status, 200);
    client.send_json(Method::GET, &upstream.url("/drop"), None).await.unwrap_err();
    assert_eq!(upstream.abandoned(), 0);
}

#[tokio::test]
async fn a_request_that_its_client_gives_up_is_counted() {
    let upstream = Upstream::start().await.unwrap();
    let url = upstream.url("/slow/600000");
    let waiting = tokio::spawn(async move { HttpClient::new().send_json(Method::GET, &url, None).await });
    let patience = Duration::from_secs(10);
    wait_until("the request", patience, async || (upstream.count("/slow/600000") == 1).then_some(()))
        .await
        .unwrap();
    waiting.abort();
    wait_until("the end of it", patience, async || (upstream.abandoned() == 1).then_some(())).await.unwrap();
}

#[tokio::test]
async fn waiting_in_vain_says_for_what() {
    let error = wait_until("rain", Duration::from_millis(20), async || None::<()>).await.unwrap_err();
    assert_eq!(error.to_string(), "waited 20ms in vain for rain");
}
