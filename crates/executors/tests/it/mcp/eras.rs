//! Calls, whatever the eras of client and server: what passes unchanged, what is translated, and who is asked how.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolrail_core::{LogLevel, Mute, Payload, Principal, RpcError, TaskRequest};

use super::client::{Brought, Client, Server, eventually, whole};
use super::over_http::HttpServer;
use super::script::{Eras, RELATED};

const BOTH: [Eras; 2] = [Eras::Modern, Eras::Legacy];

async fn server(eras: Eras) -> (HttpServer, Server) {
    let http = HttpServer::start(eras).await;
    let server = Server::start(&json!({"url": http.url()}));
    server.ready().await;
    (http, server)
}

#[tokio::test]
async fn arguments_and_results_pass_byte_for_byte() {
    for eras in BOTH {
        let (_http, server) = server(eras).await;
        let arguments = r#"{"z":1.50, "a":[ 12345678901234567890123 ],"é":"\u00e9"}"#;
        let result = server.call("up_echo", arguments, &Mute).await.unwrap();
        assert!(result.is_error, "the server says so");
        let Payload::Whole(json) = result.payload else { panic!("not whole") };
        assert!(json.text().starts_with(r#"{"z":{"b":1.50, "a":[ ]},"content":[],"isError":true,"got":"#));
        let got = json.to_value()["got"].as_str().unwrap().to_owned();
        assert!(got.contains(&format!(r#""name":"echo","arguments":{arguments}"#)), "{got}");
    }
}

#[tokio::test]
async fn metadata_passes_but_what_concerns_one_hop_is_ours() {
    for eras in BOTH {
        let (http, server) = server(eras).await;
        let meta = json!({
            "traceparent": "00-x", "progressToken": "theirs", "com.example/z": [1],
            "io.modelcontextprotocol/protocolVersion": "theirs",
            "io.modelcontextprotocol/clientInfo": {"name": "theirs"},
        });
        let client = Client {
            meta: Some(serde_json::from_value(meta).unwrap()),
            capabilities: json!({"extensions": {"io.modelcontextprotocol/tasks": {}, "x/y": {}}, "experimental": {}}),
            level: Some(LogLevel::Warning),
            ..Client::default()
        };
        server.result("up_echo", "{}", &client).await;
        let seen = &http.script.of("tools/call")[0]["params"]["_meta"];
        assert_eq!((&seen["traceparent"], &seen["com.example/z"]), (&json!("00-x"), &json!([1])));
        assert!(seen["progressToken"].is_u64(), "{seen}");
        let version = &seen["io.modelcontextprotocol/protocolVersion"];
        if eras == Eras::Modern {
            assert_eq!(*version, "2026-07-28");
            assert_eq!(seen["io.modelcontextprotocol/clientInfo"]["name"], "toolrail");
            assert_eq!(seen["io.modelcontextprotocol/logLevel"], "warning");
            assert_eq!(
                seen["io.modelcontextprotocol/clientCapabilities"],
                json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
            );
        } else {
            assert!(version.is_null());
            assert_eq!(http.script.of("logging/setLevel")[0]["params"]["level"], "warning");
        }
    }
}

#[tokio::test]
async fn headers_repeat_what_a_modern_server_wants_to_see() {
    let (http, server) = server(Eras::Modern).await;
    server.result("up_echo", r#"{"region":"über"}"#, &Mute).await;
    let headers = &http.headers_of("tools/call")[0];
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(headers["mcp-method"], "tools/call");
    assert_eq!(headers["mcp-name"], "echo");
    assert_eq!(headers["mcp-param-region"], "=?base64?w7xiZXI=?=");
    assert_eq!(headers["accept"], "application/json, text/event-stream");
    assert!(!headers.contains_key("mcp-session-id"));
}

#[tokio::test]
async fn headers_name_session_and_revision_to_a_legacy_server() {
    let (http, server) = server(Eras::Legacy).await;
    server.result("up_echo", "{}", &Mute).await;
    let headers = &http.headers_of("tools/call")[0];
    assert_eq!(headers["mcp-protocol-version"], "2025-11-25");
    assert_eq!(headers["mcp-session-id"], "session-2", "the first is the listing's");
    assert!(!headers.contains_key("mcp-name"));
    assert!(!http.headers_of("initialize")[0].contains_key("mcp-protocol-version"));
}

#[tokio::test]
async fn progress_and_logs_reach_the_client_of_the_call() {
    for eras in BOTH {
        let (_http, server) = server(eras).await;
        let client = Client { level: Some(LogLevel::Info), ..Client::default() };
        server.result("up_progress", "{}", &client).await;
        let progress = client.progress.lock().unwrap();
        let seen: Vec<_> =
            progress.iter().map(|one| (one.progress, one.total, one.message.as_deref())).collect();
        assert_eq!(seen, [(1.0, Some(2.0), Some("half")), (2.0, Some(2.0), Some("half"))], "{eras:?}");
        let logs = client.logs.lock().unwrap();
        assert_eq!(*logs, [(LogLevel::Info, Some("script".into()), json!({"seen": true}))]);
    }
}

#[tokio::test]
async fn errors_of_the_server_pass_as_they_are() {
    for eras in BOTH {
        let (_http, server) = server(eras).await;
        let error = server.call("up_fail", "{}", &Mute).await.unwrap_err();
        let rpc = error.rpc.unwrap();
        assert_eq!((rpc.code, rpc.message.as_str()), (-32055, "no luck"));
        assert_eq!(rpc.data, Some(json!({"why": ["x"]})));
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_at_the_server() {
    for eras in BOTH {
        let (http, server) = server(eras).await;
        {
            let call = server.call("up_slow", "{}", &Mute);
            tokio::select! {
                _ = call => panic!("it answered"),
                () = eventually(|| !http.script.of("tools/call").is_empty()) => {}
            }
        }
        let id = http.script.of("tools/call")[0]["id"].clone();
        eventually(|| http.script.cancelled.lock().unwrap().contains(&id)).await;
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_taken_up_where_it_ended() {
    let (_http, server) = server(Eras::Legacy).await;
    assert_eq!(server.result("up_polling", "{}", &Mute).await["polled"], true);
}

#[tokio::test]
async fn a_legacy_client_is_asked_what_a_server_of_either_era_asks() {
    for eras in BOTH {
        let (http, server) = server(eras).await;
        let client = Client::legacy();
        let result = server.result("up_ask", "{}", &client).await;
        let answer: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(answer, json!({"action": "accept", "content": {"name": "legacy"}}), "{eras:?}");
        let asked = client.asked.lock().unwrap();
        assert_eq!(asked[0].by_key[0].1.params["message"], "name?");
        if eras == Eras::Legacy {
            let declared = http.script.of("initialize")[1]["params"]["capabilities"].clone();
            assert_eq!(declared, json!({"elicitation": {}}), "its session says what it can be asked");
        }
    }
}

#[tokio::test]
async fn a_server_is_told_the_refusal_of_a_client_as_the_client_wrote_it() {
    let (_http, server) = server(Eras::Legacy).await;
    let error = RpcError { code: -1, message: "User rejected".into(), data: Some(json!({"why": "busy"})) };
    for tool in ["up_ask", "up_ask_beside"] {
        let client = Client { refuses: Some(error.clone()), ..Client::legacy() };
        let result = server.result(tool, "{}", &client).await;
        let told: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(told, json!({"code": -1, "message": "User rejected", "data": {"why": "busy"}}), "{tool}");
    }
}

#[tokio::test]
async fn a_question_beside_the_stream_of_the_call_reaches_its_client() {
    let (http, server) = server(Eras::Legacy).await;
    for _ in 0..2 {
        let result = server.result("up_ask_beside", "{}", &Client::legacy()).await;
        assert!(result["content"][0]["text"].as_str().unwrap().contains("accept"), "{result}");
    }
    assert_eq!(http.script.of("initialize").len(), 2, "the session is kept for the next call");
}

#[tokio::test]
async fn a_question_without_a_client_that_can_answer_is_refused() {
    let (_http, server) = server(Eras::Legacy).await;
    for tool in ["up_ask", "up_ask_beside"] {
        let result = server.result(tool, "{}", &Mute).await;
        assert!(result["content"][0]["text"].as_str().unwrap().contains("-32601"), "{result}");
    }
}

#[tokio::test]
async fn a_modern_client_gets_the_questions_of_a_modern_server_as_they_are() {
    let (http, server) = server(Eras::Modern).await;
    let outcome = server.call("up_ask", "{}", &Client::modern(Brought::default())).await.unwrap();
    let Payload::InputRequired(input) = outcome.payload else { panic!("{outcome:?}") };
    let remembered: Value = serde_json::from_str(&input.state.unwrap()).unwrap();
    assert_eq!(remembered, json!({"state": "state-1"}), "it is for the caller to seal");
    assert_eq!(
        input.requests["who"],
        json!({"method": "elicitation/create", "params": {"message": "name?"}})
    );
    let responses = r#"{"who": {"action":"accept", "content":{"n":1.0}}}"#;
    let again = Client::modern(Brought {
        responses: Some(serde_json::from_str(responses).unwrap()),
        remembered: Some(remembered),
    });
    let result = server.result("up_ask", "{}", &again).await;
    assert_eq!(result["content"][0]["text"], r#"{"action":"accept","content":{"n":1.0}}"#);
    assert_eq!(http.script.of("tools/call").len(), 2);
    assert!(again.asked.lock().unwrap().is_empty(), "nobody but the server looks at the answers");
}

#[tokio::test]
async fn a_modern_client_answers_a_legacy_server_by_calling_again() {
    let (http, server) = server(Eras::Legacy).await;
    for tool in ["up_ask", "up_ask_beside"] {
        let calls = http.script.of("tools/call").len();
        let outcome = server.call(tool, r#"{"x":1}"#, &Client::modern(Brought::default())).await.unwrap();
        let Payload::InputRequired(input) = outcome.payload else { panic!("{outcome:?}") };
        let (key, request) = input.requests.iter().next().unwrap();
        assert_eq!(request["params"]["message"], "name?");
        let remembered: Value = serde_json::from_str(input.state.as_ref().unwrap()).unwrap();
        let responses = json!({key: {"action": "decline"}});
        let brought = |remembered: &Value| Brought {
            responses: Some(serde_json::from_value(responses.clone()).unwrap()),
            remembered: Some(remembered.clone()),
        };
        let other = server.call(tool, r#"{"x":2}"#, &Client::modern(brought(&remembered))).await.unwrap_err();
        assert!(other.message.contains("no longer here"), "another call does not take it up: {other}");
        let result = server.result(tool, r#"{"x":1}"#, &Client::modern(brought(&remembered))).await;
        assert_eq!(result["content"][0]["text"], r#"{"action":"decline"}"#);
        let twice = server.call(tool, r#"{"x":1}"#, &Client::modern(brought(&remembered))).await.unwrap_err();
        assert_eq!(twice.rpc.unwrap().code, -32602);
        assert_eq!(http.script.of("tools/call").len(), calls + 1, "the server saw one call");
    }
}

#[tokio::test]
async fn a_task_of_a_server_is_asked_for_under_an_id_that_leads_back() {
    let (http, server) = server(Eras::Modern).await;
    let result = server.result("up_task", "{}", &Mute).await;
    assert_eq!(result, json!({"resultType": "task", "taskId": "up~t1", "status": "working"}));
    let params = serde_json::from_str(r#"{"taskId":"up~t1","inputResponses":{"a":1.50}}"#).unwrap();
    let request = |method, id| TaskRequest {
        method,
        id,
        params: Some(params),
        principal: &Principal::Anonymous,
        caller: &Mute,
    };
    let task = whole(server.upstream.task(&request("tasks/update", "up~t1")).await);
    assert_eq!(task["taskId"], "up~t1");
    assert_eq!(task["seen"]["taskId"], "t1");
    assert_eq!(task["seen"]["inputResponses"], json!({"a": 1.5}));
    assert_eq!(http.headers_of("tasks/update")[0]["mcp-name"], "t1");
    for (method, id) in [("tasks/get", "other~t1"), ("tasks/list", "up~t1")] {
        let refused = server.upstream.task(&request(method, id)).await.unwrap_err();
        assert_eq!(refused.rpc.unwrap().code, -32602, "{method} {id}");
    }
}

#[tokio::test]
async fn a_client_of_2025_has_tasks_at_a_server_of_2025_and_is_asked_what_they_ask() {
    let (http, server) = server(Eras::Legacy).await;
    let task = RawValue::from_string(r#"{"ttl":60000}"#.to_owned()).unwrap();
    let client = Client { task: Some(task), ..Client::legacy() };
    let created = server.result("up_echo", "{}", &client).await;
    assert_eq!(created["task"], json!({"taskId": "up~t2", "status": "working", "ttl": 60000}));
    let ask = async |method: &str| {
        let (id, caller) = ("up~t2", &client);
        let request = TaskRequest { method, id, params: None, principal: &Principal::Anonymous, caller };
        whole(server.upstream.task(&request).await)
    };
    assert_eq!(ask("tasks/get").await, json!({"taskId": "up~t2", "status": "working"}));
    let result = ask("tasks/result").await;
    assert!(result["asked"].as_str().unwrap().contains("accept"), "{result}");
    assert_eq!(result["_meta"], json!({RELATED: {"taskId": "up~t2"}}));
    let asked = client.asked.lock().unwrap()[0].by_key[0].1.params.clone();
    assert_eq!(asked["_meta"], json!({RELATED: {"taskId": "up~t2"}}));
    assert_eq!(ask("tasks/cancel").await["taskId"], "up~t2");
    let inside =
        ["tasks/get", "tasks/result", "tasks/cancel"].map(|method| http.script.of(method)[0].clone());
    assert!(inside.iter().all(|message| message["params"]["taskId"] == "t2"), "{inside:?}");
}

#[tokio::test]
async fn a_server_that_makes_no_tasks_of_2025_is_asked_for_none() {
    let (http, server) = server(Eras::Modern).await;
    let task = RawValue::from_string("{}".to_owned()).unwrap();
    let error = server.call("up_echo", "{}", &Client { task: Some(task), ..Client::default() }).await;
    let error = error.unwrap_err();
    assert_eq!(error.rpc.map(|rpc| rpc.code), Some(-32601), "{}", error.message);
    assert!(http.script.of("tools/call").is_empty());
}
