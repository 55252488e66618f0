//! Definitions of type `prompt`: messages with their arguments filled in, or fetched, and faults that are told at
//! registration.

use serde_json::{Value, json};
use toolrail_core::{ErrorCode, RpcError};

use crate::echo::Echo;
use crate::offered::{Listed, Sort, listed};
use crate::tool::faults;

fn prompt(settings: &Value) -> Listed {
    listed(&json!({"prompt": settings}))
}

fn review() -> Value {
    json!({
        "name": "code_review", "type": "prompt", "title": "Review", "description": "Reviews code.",
        "prompt": {
            "arguments": [
                {"name": "language", "description": "Of the code", "required": true, "complete": ["rust", "go"]},
                {"name": "code", "title": "Code", "required": true},
                {"name": "focus"}
            ],
            "messages": [
                {"role": "user", "text": "Review this {{args.language}} code: {{args.code}}"},
                {"role": "user", "text": "Look at {{args.focus}} above all."},
                {"role": "assistant", "text": "I will."}
            ]
        }
    })
}

fn text(role: &str, text: &str) -> Value {
    json!({"role": role, "content": {"type": "text", "text": text}})
}

#[tokio::test]
async fn a_prompt_is_listed_with_its_arguments_and_filled_in() {
    let review = listed(&review());
    assert_eq!((review.sort, review.offered.key.as_str()), (Sort::Prompt, "code_review"));
    let expected = json!({
        "name": "code_review", "title": "Review", "description": "Reviews code.",
        "arguments": [
            {"name": "language", "description": "Of the code", "required": true},
            {"name": "code", "title": "Code", "required": true},
            {"name": "focus"}
        ]
    });
    assert_eq!(review.offered.entry, expected);
    let result = review.result("code_review", json!({"language": "rust", "code": "\"{{x}}\"\n"})).await;
    let expected = json!({
        "description": "Reviews code.",
        "messages": [text("user", "Review this rust code: \"{{x}}\"\n"), text("assistant", "I will.")]
    });
    assert_eq!(result, expected);
    let messages = review.messages(json!({"language": "go", "code": "x", "focus": "speed"})).await;
    assert_eq!(messages[1], text("user", "Look at speed above all."));
    assert_eq!(review.complete("language", "R").await.unwrap().values, ["rust"]);
    assert!(review.complete("focus", "x").await.unwrap().values.is_empty());
    assert!(review.complete("colour", "x").await.unwrap_err().rpc.is_some());
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let review = listed(&review());
    let cases = [
        (json!({}), "\"language\" is required"),
        (json!({}), "\"code\" is required"),
        (json!({"language": "a", "code": "b", "fokus": "c"}), "did you mean \"focus\""),
        (json!({"language": "a", "code": "b", "unheard": "c"}), "it takes language, code, focus"),
        (json!({"language": "a", "code": 1}), "\"code\" must be a text"),
    ];
    for (arguments, words) in cases {
        let refused = review.refused("code_review", arguments).await;
        assert!(refused.message.contains(words), "{refused}");
        assert_eq!(refused.rpc.map(|rpc| rpc.code), Some(RpcError::INVALID_PARAMS));
    }
    let bare = prompt(&json!({"messages": [{"role": "user", "text": "hi"}]}));
    assert_eq!(bare.offered.entry, json!({"name": "t"}));
    assert!(bare.refused("t", json!({"a": "b"})).await.message.contains("it takes none"));
}

#[tokio::test]
async fn a_prompt_without_any_message_left_is_refused() {
    let optional = prompt(&json!({
        "arguments": [{"name": "a"}], "messages": [{"role": "user", "text": "{{args.a}}"}]
    }));
    let refused = optional.refused("t", json!({})).await;
    assert!(refused.rpc.is_some() && refused.message.contains("give some of a"), "{refused}");
}

#[tokio::test]
async fn messages_can_be_pictures_sounds_and_resources() {
    let all = prompt(&json!({
        "arguments": [{"name": "page"}],
        "messages": [
            {"role": "user", "image": {"data": "_-8", "mimeType": "image/png"}},
            {"role": "user", "audio": {"data": "AAA=", "mimeType": "audio/wav"}},
            {"role": "user", "resource": {"uri": "{{args.page}}", "mimeType": "text/plain", "text": "at {{args.page}}"}},
            {"role": "assistant", "resource": {"uri": "docs://b", "blob": "AAA="}}
        ]
    }));
    let expected = json!([
        {"role": "user", "content": {"type": "image", "data": "/+8=", "mimeType": "image/png"}},
        {"role": "user", "content": {"type": "audio", "data": "AAA=", "mimeType": "audio/wav"}},
        {"role": "user", "content": {"type": "resource", "resource": {
            "uri": "docs://a", "mimeType": "text/plain", "text": "at docs://a"
        }}},
        {"role": "assistant", "content": {"type": "resource", "resource": {"uri": "docs://b", "blob": "AAA="}}}
    ]);
    assert_eq!(all.messages(json!({"page": "docs://a"})).await, expected);
    let refused = all.refused("t", json!({"page": "no address"})).await;
    assert!(refused.rpc.is_some() && refused.message.contains("has no scheme"), "{refused}");
}

#[tokio::test]
async fn fetched_messages_are_used_as_they_are() {
    let echo = Echo::start().await;
    let fetched = prompt(&json!({"http": {"url": echo.url("/messages")}}));
    let expected = json!({"messages": [text("assistant", "hi")], "x": 1});
    assert_eq!(fetched.result("t", json!({})).await, expected);
    let chat = prompt(&json!({"http": {"url": echo.url("/chat")}}));
    assert_eq!(chat.refused("t", json!({})).await.code, ErrorCode::UpstreamInvalid);
}

#[tokio::test]
async fn any_other_answer_becomes_one_message_of_the_user() {
    let echo = Echo::start().await;
    let fetched = |path: &str| prompt(&json!({"http": {"url": echo.url(path)}}));
    assert_eq!(fetched("/page.md").messages(json!({})).await, json!([text("user", "# Page")]));
    assert_eq!(fetched("/problem").messages(json!({})).await, json!([text("user", "{\"a\": 1}")]));
    let picture =
        json!([{"role": "user", "content": {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}}]);
    assert_eq!(fetched("/file.bin").messages(json!({})).await, picture);
    assert_eq!(fetched("/gone").refused("t", json!({})).await.code, ErrorCode::UpstreamStatus);
}

#[tokio::test]
async fn arguments_go_into_the_request_of_a_fetched_prompt() {
    let echo = Echo::start().await;
    let fetched = prompt(&json!({
        "arguments": [{"name": "topic", "required": true}],
        "http": {"method": "POST", "url": echo.url("/p"), "body": {"topic": "{{args.topic}}"}}
    }));
    let messages = fetched.messages(json!({"topic": "a \"b\""})).await;
    let received: Value = serde_json::from_str(messages[0]["content"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(received["body"], r#"{"topic":"a \"b\""}"#);
    assert!(fetched.refused("t", json!({})).await.rpc.is_some());
    let preview = fetched.preview("t", json!({"topic": "x"})).unwrap();
    assert_eq!(preview.values[0].pointer, "/prompt/http/body/topic");
    assert_eq!(echo.count(), 1);
}

#[test]
fn faults_of_a_prompt_are_told_with_their_place() {
    let said = |message: Value| json!({"messages": [message]});
    let user = json!({"role": "user", "text": "a"});
    let many: Vec<Value> = (0..65).map(|number| json!({"name": format!("a{number}")})).collect();
    let cases = [
        (json!({}), "/prompt", "needs one of \"messages\", \"http\""),
        (json!({"messages": []}), "/prompt/messages", "is empty"),
        (json!({"messages": vec![user.clone(); 65]}), "/prompt/messages", "at most 64"),
        (json!({"messages": [user], "http": {"url": "http://h"}}), "/prompt/http", "beside \"messages\""),
        (json!({"messages": [user], "arguments": many}), "/prompt/arguments", "at most 64"),
        (said(json!({"role": "user"})), "/prompt/messages/0", "needs one of"),
        (
            said(json!({"role": "user", "text": "a", "image": {"data": "", "mimeType": "image/png"}})),
            "/prompt/messages/0/image",
            "beside \"text\"",
        ),
        (said(json!({"role": "system", "text": "a"})), "/prompt/messages/0/role", "user, assistant"),
        (said(json!({"text": "a"})), "/prompt/messages/0", "\"role\" is missing"),
        (
            said(json!({"role": "user", "text": "{{args.x}}"})),
            "/prompt/messages/0/text",
            "args.x is not in \"arguments\"",
        ),
        (said(json!({"role": "user", "text": "{{secrets.KEY}}"})), "/prompt/messages/0/text", "secret"),
        (
            said(json!({"role": "user", "text": "a".repeat((1 << 20) + 1)})),
            "/prompt/messages/0/text",
            "at most 1048576",
        ),
        (
            said(json!({"role": "user", "image": {"data": "?", "mimeType": "image/png"}})),
            "/prompt/messages/0/image/data",
            "not base64",
        ),
        (
            said(json!({"role": "user", "audio": {"data": "", "mimeType": "wav"}})),
            "/prompt/messages/0/audio/mimeType",
            "media type",
        ),
        (
            said(json!({"role": "user", "resource": {"uri": "a", "text": "a"}})),
            "/prompt/messages/0/resource/uri",
            "scheme",
        ),
        (
            said(json!({"role": "user", "resource": {"uri": "d://a"}})),
            "/prompt/messages/0/resource",
            "needs one of",
        ),
        (
            json!({"http": {"url": "http://{{args.h}}/"}, "arguments": [{"name": "h"}]}),
            "/prompt/http/url",
            "must not choose",
        ),
    ];
    for (settings, pointer, words) in cases {
        check(&json!({"prompt": settings}), pointer, words);
    }
    let twice = json!({"arguments": [{"name": "a"}, {"name": "a"}], "messages": [user]});
    check(&json!({"prompt": twice}), "/prompt/arguments/1/name", "twice");
    let auth = json!({"type": "bearer", "token": "{{secrets.KEY}}"});
    check(&json!({"prompt": said(user), "auth": auth}), "/auth", "nothing is fetched");
}

/// Checks that the only fault is at `pointer` and says `words`.
fn check(definition: &Value, pointer: &str, words: &str) {
    let found = faults(definition);
    assert!(
        found.len() == 1 && found[0].starts_with(&format!("{pointer}: ")) && found[0].contains(words),
        "wanted {pointer}: …{words}…\nfound {found:#?}"
    );
}
