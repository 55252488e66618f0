//! Facts about endpoints: what is listed where, sessions of one at another, and what tells conversations apart.

use std::collections::HashSet;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use toolrail_core::PeerAddress;
use toolrail_registry::{Choice, Endpoint, Endpoints, ListingMode};

use super::*;
use crate::transport::Body;

type Headers<'a> = &'a [(&'a str, &'a str)];

/// Everything at `/mcp`, in search mode; some of it, in full, at `/mcp/some`.
async fn grouped() -> Arc<Server> {
    let pinned = ["text", "knows"].into_iter().collect();
    let main = Endpoint { mode: ListingMode::Search, pinned, ..Endpoint::default() };
    let patterns = ["asks*".to_owned(), "kno?s".to_owned()];
    let some = Endpoint {
        group: Some("some".into()),
        description: Some("Tools that ask.".into()),
        choice: Some(Choice::default().with_patterns(&patterns)),
        ..Endpoint::default()
    };
    server_with(away(), Endpoints::new(main, [some])).await
}

async fn send(server: &Arc<Server>, line: &str, headers: Headers<'_>, body: &Value) -> Response<Body> {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let address = Some(PeerAddress([192, 0, 2, 7].into()));
    server.answer_http(request.body(Full::new(Bytes::from(body.to_string()))).unwrap(), address).await
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn json_of(response: Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

async fn post(server: &Arc<Server>, path: &str, body: Value) -> Value {
    json_of(send(server, &format!("POST {path}"), &[], &body).await).await
}

async fn initialize(server: &Arc<Server>, path: &str) -> (String, Value) {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let response = send(server, &format!("POST {path}"), &[], &request("initialize", params)).await;
    let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    (id, json_of(response).await)
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_endpoint_lists_what_it_has_in_its_own_way() {
    let server = grouped().await;
    let list = post(&server, "/mcp", request("tools/list", json!({}))).await;
    assert_eq!(names(&list), ["knows", "text"]);
    let counts = &list["result"]["_meta"]["toolrail/tools"];
    assert_eq!((&counts["listed"], &counts["mode"]), (&json!(2), &json!("search")), "{list}");
    let total = counts["total"].as_u64().unwrap();
    assert_eq!(counts["hidden"].as_u64(), Some(total - 2));
    let list = post(&server, "/mcp/some", request("tools/list", json!({}))).await;
    assert_eq!(names(&list), ["asks", "asks_first", "asks_twice", "knows"]);
    let counts = json!({"total": 4, "listed": 4, "hidden": 0, "mode": "full", "listing": "full"});
    assert_eq!(list["result"]["_meta"], json!({"toolrail/tools": counts}));
    let list = ask(&server, Dialect::Modern, "tools/list", json!({})).await.unwrap();
    assert_eq!(list["_meta"]["toolrail/tools"]["listed"], 2);
    assert_eq!(list["_meta"][format!("{META}/serverInfo")]["name"], "test");
}

#[tokio::test]
async fn what_is_hidden_is_called_and_what_a_group_does_not_have_is_not() {
    let server = grouped().await;
    let call = async |path: &str, tool: &str| {
        post(&server, path, request("tools/call", json!({"name": tool}))).await
    };
    assert_eq!(call("/mcp", "whole").await["result"]["zebra"], 1.5, "not listed, but there");
    assert!(call("/mcp/some", "knows").await["result"].is_object());
    let refused = call("/mcp/some", "whole").await;
    assert_eq!(refused["error"]["message"], "unknown tool \"whole\"");
    let refused = call("/mcp/some", "texts").await;
    assert_eq!(refused["error"]["message"], "unknown tool \"texts\"", "the hint names nothing of elsewhere");
    let refused = post(&server, "/mcp/some", request("tools/describe", json!({"name": "text"}))).await;
    assert_eq!(refused["error"]["message"], "unknown tool \"text\"");
}

#[tokio::test]
async fn an_unknown_group_is_told_with_those_there_are() {
    let server = grouped().await;
    for line in ["POST /mcp/other", "GET /mcp/other", "DELETE /mcp/other"] {
        let response = send(&server, line, &[], &request("ping", json!({}))).await;
        assert_eq!(response.status(), 404);
        let told = json_of(response).await;
        assert_eq!(
            told["error"]["message"],
            "there is no group \"other\"; groups: some; all tools are at /mcp"
        );
    }
}

#[tokio::test]
async fn a_session_of_one_endpoint_is_unknown_at_another() {
    let server = grouped().await;
    let (id, _) = initialize(&server, "/mcp/some").await;
    let headers = [("mcp-session-id", id.as_str())];
    let status = async |line: &str| send(&server, line, &headers, &request("ping", json!({}))).await.status();
    assert_eq!(status("POST /mcp").await, 404);
    assert_eq!(status("GET /mcp").await, 404);
    assert_eq!(status("DELETE /mcp").await, 404);
    assert_eq!(status("POST /mcp/some").await, 200);
    assert_eq!(status("DELETE /mcp/some").await, 204);
    assert_eq!(status("POST /mcp/some").await, 404);
}

#[tokio::test]
async fn the_instructions_say_what_a_group_is_for_and_how_to_find_what_is_hidden() {
    let server = grouped().await;
    let (_, told) = initialize(&server, "/mcp/some").await;
    assert_eq!(told["result"]["instructions"], "Tools that ask.");
    let (_, told) = initialize(&server, "/mcp").await;
    let instructions = told["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("tools are behind search_tools"), "{instructions}");
    let discovered = ask(&server, Dialect::Modern, "server/discover", json!({})).await.unwrap();
    assert_eq!(discovered["instructions"], told["result"]["instructions"]);
}

/// What the tool of that name knows of its caller.
async fn knows(server: &Arc<Server>, path: &str, headers: Headers<'_>, meta: Value) -> Value {
    let body = request("tools/call", json!({"name": "knows", "_meta": meta}));
    let answer = json_of(send(server, &format!("POST {path}"), headers, &body).await).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"]["structuredContent"].clone()
}

#[tokio::test]
async fn a_conversation_is_a_session_or_a_client_at_its_address() {
    let server = grouped().await;
    let (one, _) = initialize(&server, "/mcp").await;
    let (another, _) = initialize(&server, "/mcp").await;
    let in_session = async |id: &str| knows(&server, "/mcp", &[("mcp-session-id", id)], json!({})).await;
    let client = |name: &str| {
        let mut meta = modern(json!({}));
        meta[format!("{META}/clientInfo")] = json!({"name": name, "version": "1"});
        meta
    };
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "knows")];
    let stateless = async |path: &str, name: &str| knows(&server, path, &headers, client(name)).await;
    assert_eq!(in_session(&one).await, in_session(&one).await);
    assert_eq!(stateless("/mcp", "a").await, stateless("/mcp", "a").await);
    let told = [
        in_session(&one).await,
        in_session(&another).await,
        stateless("/mcp", "a").await,
        stateless("/mcp", "b").await,
        stateless("/mcp/some", "a").await,
        knows(&server, "/mcp", &[], json!({})).await,
    ];
    let apart: HashSet<&str> = told.iter().map(|told| told["conversation"].as_str().unwrap()).collect();
    assert_eq!(apart.len(), told.len(), "{told:#?}");
    assert!(apart.iter().all(|told| told.len() == 22 && !one.contains(told)), "a digest");
    assert_eq!((&told[4]["group"], &told[0]["group"]), (&json!("some"), &Value::Null));
}
