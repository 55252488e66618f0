//! Kind `feign` (R94, R95, R101, R136, C11): paths with both sorts of braces, base URLs, and instances that fail.

use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolrail_core::ErrorCode;

use crate::echo::Echo;
use crate::tool::{Tool, header, runtime, tool, tool_with};

fn feign(settings: &Value) -> Tool {
    tool(&json!({"feign": settings}))
}

#[tokio::test]
async fn paths_take_single_and_double_braces_c11() {
    let echo = Echo::start().await;
    let cases = [
        ("/users/{id}", json!({"id": 7}), "/users/7", None),
        ("/users/{{args.id}}", json!({"id": "a/b"}), "/users/a%2Fb", None),
        ("users/{user-id}", json!({"user-id": "ü"}), "/users/%C3%BC", None),
        ("/a/{x}-{y}/b", json!({"x": 1, "y": 2}), "/a/1-2/b", None),
        ("/s?q={q}&r={{args.r}}", json!({"q": "a&b"}), "/s", Some("q=a%26b")),
        ("", json!({}), "/", None),
    ];
    for (path, arguments, expected, query) in cases {
        let received = feign(&json!({"baseUrl": echo.url(""), "path": path})).call(arguments).await;
        assert_eq!(
            (received["path"].as_str(), received["query"].as_str()),
            (Some(expected), query),
            "{path}"
        );
    }
    let tool = feign(&json!({"baseUrl": echo.url(""), "path": "/users/{id}"}));
    let error = tool.refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(error.message.contains("the argument \"id\" is needed for the path /users/{id}"), "{error}");
    assert_eq!(tool.refused(json!({"id": ".."})).await.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn base_and_path_meet_in_one_slash() {
    let echo = Echo::start().await;
    for (base, path, expected) in [
        ("", "/a", "/a"),
        ("/", "/a", "/a"),
        ("/api", "a", "/api/a"),
        ("/api/", "/a", "/api/a"),
        ("/api", "", "/api"),
        ("/api/v1/", "/a/", "/api/v1/a/"),
    ] {
        let received = feign(&json!({"baseUrl": echo.url(base), "path": path})).call(json!({})).await;
        assert_eq!(received["path"], expected, "{base} + {path}");
    }
    let received = feign(&json!({"baseUrl": echo.url("/api")})).call(json!({})).await;
    assert_eq!(received["path"], "/api");
}

#[tokio::test]
async fn every_field_of_the_block_has_its_effect() {
    let echo = Echo::start().await;
    let tool = tool(&json!({
        "type": "feign",
        "feign": {
            "baseUrl": echo.url("/api"), "service": "users", "path": "/users/{id}", "method": "post", "query": {"q": "{{args.q}}"},
            "headers": {"X-Req": "{{args.id}}"}, "cookies": {"c": "{{args.id}}"}, "body": {"id": "{{args.id}}"}, "bodyType": "form",
            "timeoutMs": 5000, "connectTimeoutMs": 1000, "maxResponseBytes": 100_000, "redirects": 1
        },
        "auth": {"type": "bearer", "token": "{{secrets.KEY}}"}
    }));
    let received = tool.call(json!({"id": 42, "q": ["a", "b"]})).await;
    assert_eq!(received["method"], "POST");
    assert_eq!((&received["path"], &received["query"]), (&json!("/api/users/42"), &json!("q=a&q=b")));
    assert_eq!(header(&received, "x-req"), ["42"]);
    assert_eq!(header(&received, "cookie"), ["c=42"]);
    assert_eq!(header(&received, "authorization"), ["Bearer ***"]);
    assert_eq!(received["body"], "id=42");
    let hang = feign(&json!({"baseUrl": echo.url(""), "path": "/hang", "timeoutMs": 50}));
    assert_eq!(hang.refused(json!({})).await.code, ErrorCode::Timeout);
    let cut = feign(&json!({"baseUrl": echo.url(""), "path": "/x", "maxResponseBytes": 5}))
        .outcome(json!({}))
        .await
        .unwrap();
    assert!(!cut.notes.is_empty());
    let kept =
        feign(&json!({"baseUrl": echo.url(""), "path": "/redirect", "redirects": 0})).call(json!({})).await;
    assert_eq!(kept["status"], 302);
}

#[tokio::test]
async fn a_base_url_may_be_a_secret() {
    let echo = Echo::start().await;
    let base = echo.url("/api/");
    let tool = tool_with(
        &json!({"feign": {"baseUrl": "{{secrets.BASE}}", "path": "/users/{id}"}}),
        &runtime(&[("BASE", &base)]),
    );
    assert_eq!(tool.call(json!({"id": 1})).await["path"], "/api/users/1");
}

#[tokio::test]
async fn instances_are_taken_in_turn() {
    let echoes = [Echo::start().await, Echo::start().await, Echo::start().await];
    let urls: Vec<_> = echoes.iter().map(|echo| echo.url("")).collect();
    let tool = feign(&json!({"service": "users", "instances": urls, "path": "/x"}));
    for _ in 0..9 {
        tool.call(json!({})).await;
    }
    assert_eq!(echoes.each_ref().map(Echo::count), [3, 3, 3]);
}

/// An address where nothing listens.
async fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn an_instance_that_cannot_be_reached_is_passed_over_and_avoided_for_a_while() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let good = Echo::start().await;
    let tool = feign(
        &json!({"instances": [format!("http://{address}"), good.url("")], "path": "/x", "timeoutMs": 2000}),
    );
    for _ in 0..4 {
        assert_eq!(tool.call(json!({})).await["port"], good.address.port());
    }
    let back = Echo::on(TcpListener::bind(address).await.unwrap());
    for _ in 0..4 {
        tool.call(json!({})).await;
    }
    assert_eq!(back.count(), 0, "still avoided");
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    tokio::time::resume();
    for _ in 0..4 {
        tool.call(json!({})).await;
    }
    assert_eq!(back.count(), 2, "tried again after a while");
}

#[tokio::test]
async fn an_avoided_instance_is_better_than_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let tool = feign(
        &json!({"service": "users", "instances": [format!("http://{address}"), closed().await], "path": "/x"}),
    );
    let error = tool.refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::UpstreamUnreachable);
    assert!(
        error.message.starts_with("none of the 2 instances of the service \"users\" could be reached"),
        "{error}"
    );
    let back = Echo::on(TcpListener::bind(address).await.unwrap());
    tool.call(json!({})).await;
    assert_eq!(back.count(), 1);
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_again_elsewhere() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let breaking = format!("http://{}", listener.local_addr().unwrap());
    let breaker = tokio::spawn(async move {
        let mut accepted = 0;
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            accepted += 1;
            let mut buffer = [0; 1024];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut buffer).await;
            drop(stream);
            if accepted > 10 {
                break;
            }
        }
    });
    let good = Echo::start().await;
    let tool = feign(
        &json!({"instances": [breaking, good.url("")], "path": "/x", "method": "POST", "body": {"n": 1}}),
    );
    let error = tool.refused(json!({})).await;
    assert_eq!(error.code, ErrorCode::UpstreamUnreachable, "{error}");
    assert_eq!(good.count(), 0);
    breaker.abort();
}
