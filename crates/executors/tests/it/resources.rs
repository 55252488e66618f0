//! Definitions of type `resource`: what stands in them or is fetched comes back in MCP's shape, and faults are told at
//! registration.

use serde_json::{Value, json};
use toolrail_core::{DefinitionForm, ErrorCode, RpcError};
use toolrail_executors::kinds;

use crate::echo::Echo;
use crate::offered::{Listed, Sort, listed};
use crate::tool::{faults, header, runtime};

fn resource(settings: Value) -> Value {
    let mut whole = json!({"uri": "docs://handbook"});
    whole.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    json!({"resource": whole})
}

fn pages(settings: Value) -> Listed {
    let mut whole = json!({"uriTemplate": "docs://pages/{page}"});
    whole.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    listed(&json!({"resource": whole}))
}

#[tokio::test]
async fn a_text_is_listed_with_its_size_and_read() {
    let handbook = listed(&json!({
        "name": "handbook", "type": "resource", "title": "Staff handbook", "description": "How we work.",
        "resource": {"uri": "docs://handbook", "mimeType": "text/markdown", "text": "# Héllo {{x}}"}
    }));
    assert_eq!((handbook.sort, handbook.offered.key.as_str()), (Sort::Resource, "docs://handbook"));
    let expected = json!({
        "uri": "docs://handbook", "name": "handbook", "title": "Staff handbook", "description": "How we work.",
        "mimeType": "text/markdown", "size": 14
    });
    assert_eq!(handbook.offered.entry, expected);
    assert_eq!(handbook.problems, []);
    let expected = json!({"uri": "docs://handbook", "mimeType": "text/markdown", "text": "# Héllo {{x}}"});
    assert_eq!(handbook.read("docs://handbook", json!({})).await, expected);
    assert!(handbook.preview("docs://handbook", json!({})).unwrap().notes[0].contains("nothing is sent"));
}

#[tokio::test]
async fn a_blob_is_read_in_standard_base64() {
    let logo = listed(&resource(json!({"blob": "_-8", "mimeType": "image/png"})));
    assert_eq!(logo.offered.entry["size"], 2);
    let expected = json!({"uri": "docs://handbook", "mimeType": "image/png", "blob": "/+8="});
    assert_eq!(logo.read("docs://handbook", json!({})).await, expected);
}

#[tokio::test]
async fn the_variables_of_a_template_stand_in_its_text() {
    let pages = pages(json!({"mimeType": "text/plain", "text": "page {{args.page}} {{args.page|upper}}"}));
    assert_eq!((pages.sort, pages.offered.key.as_str()), (Sort::Template, "docs://pages/{page}"));
    let expected = json!({"uriTemplate": "docs://pages/{page}", "name": "t", "mimeType": "text/plain"});
    assert_eq!(pages.offered.entry, expected);
    let expected = json!({"uri": "docs://pages/a%22", "mimeType": "text/plain", "text": "page a\" A\""});
    assert_eq!(pages.read("docs://pages/a%22", json!({"page": "a\""})).await, expected);
    let refused = pages.refused("docs://pages/", json!({})).await;
    assert_eq!(refused.rpc.as_ref().map(|rpc| rpc.code), Some(RpcError::INVALID_PARAMS));
    assert!(refused.message.contains("{{args.page}}"), "{refused}");
}

#[tokio::test]
async fn a_text_that_grows_without_bound_is_refused() {
    let pages = pages(json!({"text": "{{args.page}}".repeat(64)}));
    let refused = pages.refused("docs://pages/x", json!({"page": "x".repeat(1 << 20)})).await;
    assert_eq!(refused.code, ErrorCode::TooLarge);
    assert_eq!(refused.rpc.map(|rpc| rpc.code), Some(RpcError::INVALID_PARAMS));
}

#[tokio::test]
async fn the_media_type_of_a_fetched_resource_is_that_of_the_answer() {
    let echo = Echo::start().await;
    let cases = [
        ("/page.md", json!({"mimeType": "text/markdown", "text": "# Page"})),
        ("/bare", json!({"mimeType": "text/x-own", "text": "bare text"})),
        ("/empty", json!({"mimeType": "text/x-own", "text": ""})),
        ("/problem", json!({"mimeType": "application/problem+json", "text": "{\"a\": 1}"})),
        ("/file.bin", json!({"mimeType": "image/png", "blob": "iVBORw=="})),
    ];
    for (path, mut expected) in cases {
        expected["uri"] = "docs://handbook".into();
        let fetched = listed(&resource(json!({"mimeType": "text/x-own", "http": {"url": echo.url(path)}})));
        assert_eq!(fetched.offered.entry.get("size"), None);
        assert_eq!(fetched.read("docs://handbook", json!({})).await, expected, "{path}");
    }
    let bare = listed(&resource(json!({"http": {"url": echo.url("/bare")}})));
    let expected = json!({"uri": "docs://handbook", "text": "bare text"});
    assert_eq!(bare.read("docs://handbook", json!({})).await, expected);
}

#[tokio::test]
async fn variables_secrets_and_auth_go_into_the_request_by_the_usual_rules() {
    let echo = Echo::start().await;
    let definition = json!({
        "resource": {
            "uriTemplate": "docs://pages/{page}{?lang}",
            "http": {"url": echo.url("/p/{{args.page}}"), "query": {"lang": "{{args.lang}}"}}
        },
        "auth": {"type": "bearer", "token": "{{secrets.KEY}}"}
    });
    let pages = listed(&definition);
    let content = pages.read("docs://pages/a", json!({"page": "a/b"})).await;
    assert_eq!(content["mimeType"], "application/json");
    let received: Value = serde_json::from_str(content["text"].as_str().unwrap()).unwrap();
    assert_eq!((&received["path"], &received["query"]), (&json!("/p/a%2Fb"), &json!(null)));
    assert_eq!(header(&received, "authorization"), ["Bearer ***"]);
    let preview = pages.preview("docs://pages/a", json!({"page": "a", "lang": "de"})).unwrap();
    assert_eq!(preview.request["url"], echo.url("/p/a?lang=de"));
    let places: Vec<_> = preview.values.iter().map(|value| value.pointer.as_str()).collect();
    assert_eq!(places, ["/auth/token", "/resource/http/url", "/resource/http/query/lang"]);
    let refused = pages.refused("docs://pages/", json!({})).await;
    assert_eq!(refused.rpc.map(|rpc| rpc.code), Some(RpcError::INVALID_PARAMS));
}

#[tokio::test]
async fn a_mapped_answer_has_the_type_of_what_it_became() {
    let echo = Echo::start().await;
    let mapped = |mapping: Value| {
        listed(&json!({
            "resource": {"uri": "docs://m", "mimeType": "text/markdown", "http": {"url": echo.url("/x")}},
            "responseMapping": mapping
        }))
    };
    let template = mapped(json!({"type": "template", "template": "# {{ result.path }}"}));
    let expected = json!({"uri": "docs://m", "mimeType": "text/markdown", "text": "# /x"});
    assert_eq!(template.read("docs://m", json!({})).await, expected);
    let path = mapped(json!({"type": "jsonPath", "path": "$.path"}));
    let expected = json!({"uri": "docs://m", "mimeType": "application/json", "text": "\"/x\""});
    assert_eq!(path.read("docs://m", json!({})).await, expected);
}

#[tokio::test]
async fn what_the_upstream_does_not_have_is_not_found() {
    let echo = Echo::start().await;
    let gone = listed(&resource(json!({"http": {"url": echo.url("/gone")}})));
    let refused = gone.refused("docs://handbook", json!({})).await;
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert!(refused.message.contains("404") && refused.message.contains("no such page"), "{refused}");
}

#[tokio::test]
async fn a_cut_answer_says_so_beside_the_content() {
    let echo = Echo::start().await;
    let cut = listed(&resource(json!({"http": {"url": echo.url("/page.md"), "maxResponseBytes": 3}})));
    let content = cut.read("docs://handbook", json!({})).await;
    assert_eq!(content["text"], "# P");
    assert!(content["_meta"]["toolrail/notes"][0].as_str().unwrap().contains("was cut"), "{content}");
}

#[tokio::test]
async fn the_policy_ends_a_fetch_that_takes_too_long() {
    let echo = Echo::start().await;
    let mut definition = resource(json!({"http": {"url": echo.url("/hang"), "timeoutMs": 60000}}));
    definition["policy"] = json!({"timeoutMs": 20});
    let refused = listed(&definition).refused("docs://handbook", json!({})).await;
    assert_eq!(refused.code, ErrorCode::Timeout);
    assert!(refused.message.contains("policy.timeoutMs"), "{refused}");
}

#[tokio::test]
async fn values_are_offered_by_their_beginning_then_by_what_they_contain() {
    let pages = pages(json!({
        "text": "{{args.page}}", "complete": {"page": ["About FAQ", "faq", "Intro", "FAQs"]}
    }));
    let complete = async |typed: &str| pages.complete("page", typed).await.unwrap();
    let found = complete("fAq").await;
    assert_eq!(found.values, ["faq", "FAQs", "About FAQ"]);
    assert_eq!((found.total, found.has_more), (Some(3), Some(false)));
    assert_eq!(complete("").await.values.len(), 4);
    assert!(complete("zzz").await.values.is_empty());
    let refused = pages.complete("pgae", "").await.unwrap_err();
    assert!(refused.rpc.is_some() && refused.message.contains("\"page\""), "{refused}");
}

#[tokio::test]
async fn at_most_a_hundred_values_are_offered_at_once() {
    let values: Vec<String> = (0..250).map(|number| format!("p{number}")).collect();
    let pages = pages(json!({"text": "{{args.page}}", "complete": {"page": values}}));
    let found = pages.complete("page", "p").await.unwrap();
    assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(250), Some(true)));
}

#[test]
fn faults_of_a_resource_are_told_with_their_place() {
    let cases = [
        (json!({}), "/resource", "needs one of \"text\", \"blob\", \"http\""),
        (json!({"text": "a", "blob": "YQ=="}), "/resource/blob", "cannot stand beside \"text\""),
        (json!({"uri": "handbook", "text": "a"}), "/resource/uri", "has no scheme"),
        (json!({"uri": "docs://", "text": "a"}), "/resource/uri", "names nothing"),
        (json!({"uri": "docs://a b", "text": "a"}), "/resource/uri", "percent-encode"),
        (json!({"uri": "docs://{page}", "text": "a"}), "/resource/uri", "uriTemplate"),
        (json!({"uri": null, "text": "a"}), "/resource", "needs one of \"uri\", \"uriTemplate\""),
        (json!({"uriTemplate": "docs://{a}", "text": "a"}), "/resource/uriTemplate", "beside \"uri\""),
        (json!({"text": "a", "mimeType": "markdown"}), "/resource/mimeType", "text/markdown"),
        (json!({"blob": "a b!"}), "/resource/blob", "not base64"),
        (json!({"text": "a".repeat((1 << 20) + 1)}), "/resource/text", "at most 1048576"),
        (json!({"text": "a", "complete": {"page": []}}), "/resource/complete", "without \"uriTemplate\""),
        (json!({"http": {"url": "ftp://h/x"}}), "/resource/http/url", "use http://"),
        (json!({"http": {"url": "http://h/{page}"}}), "/resource/http/url", "write {{args.page}}"),
        (json!({"http": {"url": "http://h/", "method": "GTE"}}), "/resource/http/method", "did you mean GET"),
        (json!({"http": {"url": "http://h/", "methd": "GET"}}), "/resource/http/methd", "did you mean"),
        (
            json!({"http": {"url": "http://h/{{args.x}}"}}),
            "/resource/http/url",
            "args.x is not in the variables",
        ),
        (json!({"txt": "a", "text": "a"}), "/resource/txt", "did you mean \"text\""),
    ];
    for (settings, pointer, words) in cases {
        check(&resource(settings), pointer, words);
    }
}

#[test]
fn faults_of_a_template_are_told_with_their_place() {
    let cases = [
        (json!({"uriTemplate": "docs://{page", "text": "a"}), "/resource/uriTemplate", "never closed"),
        (json!({"uriTemplate": "docs://{page}", "text": "{{args.pge}}"}), "/resource/text", "args.page?"),
        (json!({"uriTemplate": "docs://{page}", "text": "{{secrets.KEY}}"}), "/resource/text", "secret"),
        (json!({"uriTemplate": "docs://{page}", "text": "{{args.page"}), "/resource/text", "never closed"),
        (
            json!({"uriTemplate": "docs://{page}", "text": "a", "complete": {"pages": ["a"]}}),
            "/resource/complete/pages",
            "did you mean \"page\"",
        ),
    ];
    for (settings, pointer, words) in cases {
        check(&json!({"resource": settings}), pointer, words);
    }
}

#[test]
fn auth_and_mapping_are_refused_where_nothing_is_fetched() {
    let text = json!({"uri": "docs://a", "text": "a"});
    let cases = [
        (json!({"auth": {"type": "bearer", "token": "{{secrets.KEY}}"}}), "/auth", "nothing is fetched"),
        (
            json!({"responseMapping": {"type": "jsonPath", "path": "$"}}),
            "/responseMapping",
            "nothing is fetched",
        ),
    ];
    for (mut definition, pointer, words) in cases {
        definition["resource"] = text.clone();
        check(&definition, pointer, words);
    }
}

#[test]
fn a_template_without_variables_is_warned_of() {
    let found = listed(&resource(json!({"text": "page {{args.page}}"}))).problems;
    assert!(found.len() == 1 && found[0].message.contains("uriTemplate"), "{found:?}");
}

#[test]
fn the_published_schema_names_the_methods_of_a_nested_request() {
    let form = DefinitionForm::new(kinds(&runtime(&[])));
    for kind in ["resource", "prompt"] {
        let method = format!("/$defs/definition/properties/{kind}/properties/http/properties/method/enum");
        assert_eq!(form.schema().pointer(&method).unwrap()[0], "GET");
    }
}

/// Checks that the only fault is at `pointer` and says `words`.
fn check(definition: &Value, pointer: &str, words: &str) {
    let found = faults(definition);
    assert!(
        found.len() == 1 && found[0].starts_with(&format!("{pointer}: ")) && found[0].contains(words),
        "wanted {pointer}: …{words}…\nfound {found:#?}"
    );
}
