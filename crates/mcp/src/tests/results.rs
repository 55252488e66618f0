//! Results of every sort, for every generation of clients.

use serde_json::{Value, json};

use super::*;

async fn call(dialect: Dialect, tool: &str) -> Result<Value, Value> {
    ask(&*server().await, dialect, "tools/call", json!({"name": tool, "_meta": modern(json!({}))})).await
}

async fn text_of(dialect: Dialect, tool: &str) -> String {
    let (_, text) =
        answer_to(&Client::of(dialect), &*server().await, "tools/call", json!({"name": tool})).await;
    text.trim_start_matches(r#"{"jsonrpc":"2.0","id":1,"result":"#).to_owned()
}

#[tokio::test]
async fn a_whole_result_keeps_its_unknown_fields_and_their_order() {
    let me = r#""io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}"#;
    assert_eq!(
        text_of(Dialect::Modern, "whole").await,
        format!(
            r#"{{"zebra":1.50,"content":[],"structuredContent":[1],"_meta":{{"b":1,"a":2,{me}}},"apple":{{"z":1,"a":2}},"resultType":"complete"}}}}"#
        )
    );
}

#[tokio::test]
async fn a_whole_result_is_stripped_and_wrapped_for_legacy_clients() {
    assert_eq!(
        text_of(Dialect::Legacy, "whole").await,
        r#"{"zebra":1.50,"content":[],"structuredContent":{"result":[1]},"_meta":{"b":1,"a":2},"apple":{"z":1,"a":2}}}"#
    );
}

#[tokio::test]
async fn a_whole_result_that_is_no_object_is_an_internal_error() {
    for dialect in [Dialect::Modern, Dialect::Legacy] {
        assert_eq!(call(dialect, "no_object").await.unwrap_err()["code"], -32603);
    }
}

/// R10, C2: the answer itself under `content`, and a failure instead of an error result.
#[tokio::test]
async fn a_whole_result_comes_down_to_its_answer_for_plain_clients() {
    let call = async |tool: &str| {
        ask(&*server().await, Dialect::Plain, "tools/call", json!({"tool": tool, "arguments": {}})).await
    };
    assert_eq!(call("whole").await.unwrap(), json!({"content": [1]}));
    assert_eq!(call("text").await.unwrap(), json!({"content": "hi"}));
    let failed = call("fails_wholly").await.unwrap_err();
    assert_eq!((&failed["code"], &failed["message"]), (&json!(-32000), &json!("no luck")));
}

#[tokio::test]
async fn questions_reach_modern_clients_only() {
    let result = call(Dialect::Modern, "asks").await.unwrap();
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(result["requestState"], "sealed");
    assert_eq!(result["_meta"][format!("{META}/serverInfo")]["name"], "test");
    assert_eq!(call(Dialect::Legacy, "asks").await.unwrap_err()["code"], -32603);
}

#[tokio::test]
async fn an_error_of_json_rpc_is_told_as_it_is() {
    let error = call(Dialect::Legacy, "refuses").await.unwrap_err();
    assert_eq!(error, json!({"code": -32050, "message": "no", "data": {"why": "so"}, "status": 200}));
}

#[tokio::test]
async fn capabilities_are_told_to_both_generations() {
    let server = server().await;
    let discovered = ask(&server, Dialect::Modern, "server/discover", json!({})).await.unwrap();
    assert_eq!(discovered["capabilities"]["extensions"], json!({TASKS: {}}));
    assert_eq!(discovered["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
    let settled = json!({"protocolVersion": "2024-11-05"});
    let settled = ask(&server, Dialect::Plain, "initialize", settled).await.unwrap();
    assert_eq!(settled["capabilities"].get("completions"), None);
    assert_eq!(settled["capabilities"]["prompts"], json!({"listChanged": true}));
}
