//! A preview shows the exact request, without sending it, with secrets masked and where each value came from.

use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{ErrorCode, Preview};
use toolrail_executors::Runtime;
use toolrail_executors::outbound::{Client, ClientLimits};

use crate::echo::Echo;
use crate::tool::{runtime, tool, tool_with};

fn origins(preview: &Preview) -> Vec<(&str, &str, Option<Value>)> {
    preview.values.iter().map(|one| (one.pointer.as_str(), one.from.as_str(), one.value.clone())).collect()
}

#[tokio::test]
async fn a_preview_shows_the_request_and_the_origin_of_its_values() {
    let echo = Echo::start().await;
    let tool = tool(&json!({
        "http": {
            "method": "POST", "url": echo.url("/u/{{args.id}}"), "query": {"q": "{{args.q}}", "none": "{{args.none}}"},
            "headers": {"X-A": "a {{secrets.KEY}}"}, "cookies": {"c": "{{secrets.KEY}}"},
            "body": {"n": "{{args.n}}", "s": "{{secrets.KEY|upper}}", "t": "x{{secrets.USER}}"}
        },
        "auth": {"type": "basic", "username": "ann", "password": "literal"}
    }));
    let preview = tool.preview(json!({"id": "a/b", "q": ["x", "y"], "n": 5})).unwrap();
    assert_eq!(preview.request["method"], "POST");
    assert_eq!(preview.request["url"], echo.url("/u/a%2Fb?q=x&q=y"));
    assert_eq!(preview.request["headers"]["x-a"], "a ***");
    assert_eq!(preview.request["headers"]["cookie"], "c=***");
    assert_eq!(preview.request["headers"]["authorization"], "Basic ***");
    assert_eq!(preview.request["headers"]["content-type"], "application/json");
    assert_eq!(preview.request["body"], json!({"n": 5, "s": "***", "t": "x***"}));
    let expected = [
        ("/http/url", "args.id", Some(json!("a/b"))),
        ("/http/query/q", "args.q", Some(json!(["x", "y"]))),
        ("/http/query/none", "args.none", None),
        ("/http/headers/X-A", "secrets.KEY", Some(json!("***"))),
        ("/http/cookies/c", "secrets.KEY", Some(json!("***"))),
        ("/http/body/n", "args.n", Some(json!(5))),
        ("/http/body/s", "secrets.KEY|upper", Some(json!("***"))),
        ("/http/body/t", "secrets.USER", Some(json!("***"))),
    ];
    assert_eq!(origins(&preview), expected);
    assert_eq!(preview.notes, ["/http/query/none is left out: the argument \"none\" is absent"]);
    let text = serde_json::to_string(&preview).unwrap();
    for secret in ["hunter2", "HUNTER2", "literal", "ann:"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(echo.count(), 0);
}

#[tokio::test]
async fn a_preview_shows_the_header_by_which_a_gateway_is_known() {
    let gateway = Runtime { client: Arc::new(Client::of_gateway(ClientLimits::default())), ..runtime(&[]) };
    for definition in [
        json!({"http": {"url": "http://h/"}}),
        json!({"feign": {"service": "s", "instances": ["http://h"], "path": "/"}}),
    ] {
        let preview = tool_with(&definition, &gateway).preview(json!({})).unwrap();
        assert_eq!(preview.request["headers"]["toolrail-hop"], "1", "{definition}");
        let preview = tool_with(&definition, &runtime(&[])).preview(json!({})).unwrap();
        assert_eq!(preview.request["headers"].get("toolrail-hop"), None, "{definition}");
    }
}

#[tokio::test]
async fn a_preview_fails_as_the_call_would() {
    let tool = tool(&json!({"http": {"url": "http://h/{{args.id}}"}}));
    assert_eq!(tool.preview(json!({})).unwrap_err().code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_preview_works_without_the_secrets_and_says_so() {
    let definition = json!({
        "http": {"url": "{{secrets.BASE}}/x"}, "auth": {"type": "bearer", "token": "{{secrets.TOKEN}}"}
    });
    let preview = tool_with(&definition, &runtime(&[])).preview(json!({})).unwrap();
    assert_eq!(preview.request["url"], "***/x");
    assert_eq!(preview.request["headers"]["authorization"], "Bearer ***");
    assert_eq!(preview.notes.len(), 2);
    assert!(preview.notes[0].contains("TOOLRAIL_SECRET_TOKEN"), "{:?}", preview.notes);
}

#[tokio::test]
async fn bodies_are_shown_in_their_form() {
    let show = |kind: &str, body: Value| {
        let tool =
            tool(&json!({"http": {"method": "POST", "url": "http://h/", "bodyType": kind, "body": body}}));
        tool.preview(json!({"a": "x y", "b": "/9g=", "u": "https://files.example.com/f.txt"})).unwrap()
    };
    assert_eq!(show("form", json!({"a": "{{args.a}}"})).request["body"], "a=x%20y");
    assert_eq!(show("text", json!("a {{args.a}}")).request["body"], "a x y");
    assert_eq!(show("binary", json!("{{args.b}}")).request["body"], json!({"base64": "/9g="}));
    let multipart = show(
        "multipart",
        json!({
            "a": "{{args.a}}", "s": "{{secrets.KEY}}", "f": {"filename": "n", "base64": "{{args.b}}"},
            "l": {"resource": "{{args.u}}", "hosts": ["files.example.com"]}
        }),
    );
    assert_eq!(
        multipart.request["body"],
        json!([
            {"name": "a", "value": "x y"},
            {"name": "s", "value": "***"},
            {"name": "f", "filename": "n", "contentType": "application/octet-stream", "value": {"base64": "/9g="}},
            {"name": "l", "filename": "f.txt", "contentType": "application/octet-stream", "resource": "https://files.example.com/f.txt"},
        ])
    );
    assert!(multipart.notes[0].contains("would be fetched"), "{:?}", multipart.notes);
}

#[tokio::test]
async fn a_feign_preview_names_the_service() {
    let tool = tool(
        &json!({"feign": {"service": "users", "instances": ["http://a/api", "http://b"], "path": "/u/{id}"}}),
    );
    let preview = tool.preview(json!({"id": 1})).unwrap();
    assert_eq!(preview.request["service"], "users");
    assert_eq!(preview.request["url"], "http://a/api/u/1");
    assert_eq!(origins(&preview), [("/feign/path", "args.id", Some(json!(1)))]);
    assert!(preview.notes[0].contains("2 instances"), "{:?}", preview.notes);
}
