//! Prompts, resources and completion.

use serde_json::{Value, json};

use super::*;

async fn all(dialect: Dialect, method: &str, params: Value) -> Result<Value, Value> {
    ask(&*server().await, dialect, method, params).await
}

#[tokio::test]
async fn lists_are_paged_and_may_be_kept_for_a_moment() {
    let server = server().await;
    for (method, field, first, key) in [
        ("prompts/list", "prompts", 4, "name"),
        ("resources/list", "resources", 4, "uri"),
        ("resources/templates/list", "resourceTemplates", 1, "uriTemplate"),
        ("tools/list", "tools", 4, "name"),
    ] {
        let page = ask(&server, Dialect::Modern, method, json!({})).await.unwrap();
        assert_eq!(page[field].as_array().unwrap().len(), first, "{method}");
        assert!(page[field][0][key].is_string(), "{method}");
        assert_eq!((&page["ttlMs"], &page["cacheScope"]), (&json!(1000), &json!("public")), "{method}");
        let legacy = ask(&server, Dialect::Legacy, method, json!({})).await.unwrap();
        assert_eq!((legacy.get("ttlMs"), legacy.get("resultType")), (None, None), "{method}");
    }
    let page = ask(&server, Dialect::Legacy, "resources/list", json!({})).await.unwrap();
    let cursor = json!({"cursor": page["nextCursor"]});
    let rest = ask(&server, Dialect::Legacy, "resources/list", cursor).await.unwrap();
    assert_eq!(rest["resources"].as_array().unwrap().len(), 2);
    assert_eq!(rest.get("nextCursor"), None);
    let unknown = ask(&server, Dialect::Legacy, "prompts/list", json!({"cursor": "%"})).await;
    assert_eq!(unknown.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn a_resource_is_read_in_the_shape_of_its_answer() {
    let read = |uri: &str| all(Dialect::Legacy, "resources/read", json!({"uri": uri}));
    let contents = |content: Value| json!({"contents": [content]});
    assert_eq!(
        read("test://text").await.unwrap(),
        contents(json!({"uri": "test://text", "mimeType": "text/x-test", "text": "a text"}))
    );
    assert_eq!(
        read("test://json").await.unwrap(),
        contents(json!({"uri": "test://json", "mimeType": "text/x-test", "text": "{\"a\":1}"}))
    );
    assert_eq!(
        read("test://blob").await.unwrap(),
        contents(json!({"uri": "test://blob", "mimeType": "image/png", "blob": "AAE="}))
    );
    assert_eq!(read("test://whole").await.unwrap(), json!({"contents": [], "x": 1}));
    assert_eq!(read("test://pages/7").await.unwrap()["contents"][0]["text"], "test://pages/7");
}

#[tokio::test]
async fn a_resource_says_how_long_it_holds() {
    let read = |uri: &str| all(Dialect::Modern, "resources/read", json!({"uri": uri}));
    let text = read("test://text").await.unwrap();
    assert_eq!((&text["ttlMs"], &text["cacheScope"]), (&json!(0), &json!("private")));
    let whole = read("test://whole").await.unwrap();
    assert_eq!((&whole["ttlMs"], &whole["cacheScope"]), (&json!(7), &json!("private")));
    let asks = read("test://asks").await.unwrap();
    assert_eq!((&asks["resultType"], asks.get("ttlMs")), (&json!("input_required"), None));
}

#[tokio::test]
async fn an_unknown_resource_is_told_in_the_words_of_each_revision() {
    for (dialect, code) in [(Dialect::Modern, -32602), (Dialect::Legacy, -32002)] {
        let error = all(dialect, "resources/read", json!({"uri": "test://nope"})).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]), (&json!(code), &json!({"uri": "test://nope"})));
    }
    let missing = all(Dialect::Modern, "resources/read", json!({})).await.unwrap_err();
    assert_eq!(missing["code"], -32602);
    let long = format!("test://{}", "x".repeat(900_000));
    let error = all(Dialect::Modern, "resources/read", json!({"uri": long})).await.unwrap_err();
    assert!(error.to_string().len() < 1_000, "{error}");
}

#[tokio::test]
async fn a_resource_that_is_gone_where_it_is_fetched_is_told_like_an_unknown_one() {
    for (dialect, code) in [(Dialect::Modern, -32602), (Dialect::Legacy, -32002)] {
        let error = all(dialect, "resources/read", json!({"uri": "test://gone"})).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]), (&json!(code), &json!({"uri": "test://gone"})));
        assert_eq!(error["message"], "the upstream answered 404");
    }
}

#[tokio::test]
async fn a_prompt_gives_its_messages() {
    let get = |name: &str| all(Dialect::Legacy, "prompts/get", json!({"name": name}));
    let said = json!({"role": "user", "content": {"type": "text", "text": "say it"}});
    assert_eq!(get("plain").await.unwrap(), json!({"messages": [said]}));
    assert_eq!(get("whole").await.unwrap(), json!({"x": 1, "messages": []}));
    assert_eq!(get("nope").await.unwrap_err()["code"], -32602);
    assert_eq!(get("refused").await.unwrap_err()["data"], json!({"why": "so"}));
    let failed = get("failing").await.unwrap_err();
    assert_eq!(failed["code"], -32603);
    assert!(failed["message"].as_str().unwrap().contains("status 500"), "{failed}");
    let wrong = json!({"name": "plain", "arguments": [1]});
    assert_eq!(all(Dialect::Legacy, "prompts/get", wrong).await.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn at_most_a_hundred_values_complete_an_argument() {
    let complete = |reference: Value| {
        let argument = json!({"name": "page", "value": "p"});
        let params = json!({"ref": reference, "argument": argument, "context": {"arguments": {"a": "b"}}});
        all(Dialect::Legacy, "completion/complete", params)
    };
    for reference in [
        json!({"type": "ref/prompt", "name": "plain"}),
        json!({"type": "ref/resource", "uri": "test://pages/{page}"}),
    ] {
        let completion = complete(reference).await.unwrap()["completion"].take();
        assert_eq!(completion["values"].as_array().unwrap().len(), 100);
        assert_eq!(completion["values"][0], "p0-1");
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
    }
    for wrong in [
        json!({"type": "ref/prompt", "name": "nope"}),
        json!({"type": "ref/resource", "uri": "nope://"}),
        json!({"type": "ref/else"}),
        Value::Null,
    ] {
        assert_eq!(complete(wrong).await.unwrap_err()["code"], -32602);
    }
}
