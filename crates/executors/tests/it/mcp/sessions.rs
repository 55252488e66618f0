//! Whose session with a server a call runs in, when sessions end, and what happens when there are too many.

use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use toolrail_core::{Changed, Completing, Json, LogLevel, Mute, Notice, Payload, Principal};

use super::client::{Brought, Client, Server, eventually};
use super::over_http::HttpServer;
use super::over_stdio;
use super::script::Eras;

async fn over_http(eras: Eras, more: &Value) -> (HttpServer, Server) {
    let http = HttpServer::start(eras).await;
    let mut settings = json!({"url": http.url()});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let server = Server::start(&settings);
    server.ready().await;
    (http, server)
}

async fn child(eras: Eras, more: &Value) -> Server {
    let mut settings = over_stdio::settings(eras);
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let server = Server::start_with(&settings, &[("KEY", "hunter2hunter2")]);
    server.ready().await;
    server
}

/// The sessions in which tools were called.
fn sessions_of(http: &HttpServer) -> Vec<String> {
    let calls = http.headers_of("tools/call");
    calls.iter().map(|headers| headers["mcp-session-id"].to_str().unwrap().to_owned()).collect()
}

/// Which process answers a client.
async fn process_of(server: &Server, client: &dyn toolrail_core::Caller) -> String {
    let result = server.result("up_polling", "{}", client).await;
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_conversation_has_a_session_of_its_own() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    let (first, second) = (Client::session("first"), Client::session("second"));
    for client in [&first, &second, &first, &second] {
        server.result("up_echo", "{}", client).await;
    }
    let seen = sessions_of(&http);
    assert_eq!((&seen[0], &seen[1]), (&seen[2], &seen[3]));
    assert_ne!(seen[0], seen[1]);
    assert_eq!(http.script.of("initialize").len(), 3, "one is the listing's");
}

#[tokio::test]
async fn each_conversation_has_a_process_of_its_own_whatever_it_wants_to_hear() {
    for eras in [Eras::Legacy, Eras::Modern] {
        let server = child(eras, &json!({})).await;
        let quiet = Client::session("quiet");
        let curious = Client { level: Some(LogLevel::Info), ..Client::session("curious") };
        let of_quiet = process_of(&server, &quiet).await;
        let of_curious = process_of(&server, &curious).await;
        assert_ne!(of_quiet, of_curious);
        assert_eq!(process_of(&server, &quiet).await, of_quiet);
        assert_eq!(process_of(&server, &curious).await, of_curious);
    }
}

#[tokio::test]
async fn tenants_share_no_process_although_nothing_tells_their_calls_apart() {
    let server = child(Eras::Legacy, &json!({})).await;
    let mut seen = Vec::new();
    for principal in
        [Principal::Anonymous, Principal::of_tenant("a").unwrap(), Principal::of_tenant("b").unwrap()]
    {
        seen.push(server.result_for(&principal, "up_polling", &Mute).await.to_string());
    }
    seen.dedup();
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[tokio::test]
async fn all_clients_use_one_session_where_the_definition_says_so() {
    let (http, server) = over_http(Eras::Legacy, &json!({"shared": true})).await;
    for name in ["first", "second"] {
        server.result("up_echo", "{}", &Client::session(name)).await;
    }
    assert_eq!(http.script.of("initialize").len(), 1);
    let server = child(Eras::Legacy, &json!({"shared": true})).await;
    let first = process_of(&server, &Client::session("first")).await;
    assert_eq!(process_of(&server, &Client::session("second")).await, first);
}

#[tokio::test]
async fn a_server_hears_of_other_roots_and_may_ask_for_them() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    let client = Client { capabilities: json!({"roots": {"listChanged": true}}), ..Client::session("one") };
    server.result("up_echo", "{}", &client).await;
    server.upstream.roots_changed("another");
    server.upstream.roots_changed("one");
    eventually(|| http.script.of("notifications/roots/list_changed").len() == 1).await;
    let id = sessions_of(&http)[0].clone();
    let stream = http.shared.sessions.lock().unwrap()[&id].clone().unwrap();
    stream.send(json!({"jsonrpc": "2.0", "id": "roots", "method": "roots/list"}).to_string()).unwrap();
    let is_answered = || http.script.received.lock().unwrap().iter().any(|message| message["id"] == "roots");
    while !is_answered() {
        server.result("up_echo", "{}", &client).await;
    }
}

#[tokio::test]
async fn nobody_needs_a_session_with_a_modern_server_over_http() {
    let (http, server) = over_http(Eras::Modern, &json!({})).await;
    for name in ["first", "second"] {
        server
            .result("up_echo", "{}", &Client { level: Some(LogLevel::Info), ..Client::session(name) })
            .await;
    }
    assert_eq!(http.script.of("server/discover").len(), 1);
}

#[tokio::test]
async fn calls_of_one_conversation_at_once_share_its_session() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    let client = Client { capabilities: json!({"elicitation": {}}), ..Client::session("one") };
    let calls = (0..10).map(|_| server.result("up_ask_beside", "{}", &client));
    for result in join_all(calls).await {
        assert!(result["content"][0]["text"].as_str().unwrap().contains("accept"), "{result}");
    }
    assert_eq!(http.script.of("initialize").len(), 2);
}

#[tokio::test]
async fn clients_that_only_look_alike_share_a_session_in_turn() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    let alike = || Client { conversation: Some("alike".into()), ..Client::modern(Brought::default()) };
    let both = [alike(), alike()];
    let asked = join_all(both.iter().map(|client| server.call("up_ask_beside", "{}", client))).await;
    for outcome in asked {
        assert!(matches!(outcome.unwrap().payload, Payload::InputRequired(_)));
    }
    let seen = sessions_of(&http);
    assert_ne!(seen[0], seen[1], "two questions at once, each in a session of its own");
    let quiet = || Client {
        conversation: Some("quiet".into()),
        modern: Some(Brought::default()),
        ..Client::default()
    };
    for client in [quiet(), quiet()] {
        server.result("up_echo", "{}", &client).await;
    }
    let seen = sessions_of(&http);
    assert_eq!(seen[2], seen[3]);
}

#[tokio::test]
async fn more_conversations_than_sessions_get_their_turn() {
    let server = child(Eras::Legacy, &json!({"maxSessions": 2})).await;
    let clients: Vec<_> = (0..9).map(|number| Client::session(&number.to_string())).collect();
    let calls = clients.iter().map(|client| server.call("up_echo", "{}", client));
    for outcome in join_all(calls).await {
        outcome.unwrap();
    }
}

#[tokio::test]
async fn the_session_that_nobody_has_used_for_longest_makes_room() {
    let (http, server) = over_http(Eras::Legacy, &json!({"maxSessions": 2})).await;
    let clients = ["a", "b", "c"].map(Client::session);
    for index in [0, 1, 0, 2, 0] {
        server.result("up_echo", "{}", &clients[index]).await;
    }
    let seen = sessions_of(&http);
    assert_eq!((&seen[0], &seen[0]), (&seen[2], &seen[4]), "the first keeps its session");
    eventually(|| http.shared.ended.lock().unwrap().contains(&seen[1])).await;
}

#[tokio::test]
async fn when_all_sessions_are_in_use_the_error_says_so() {
    let (http, server) =
        over_http(Eras::Legacy, &json!({"maxSessions": 1, "timeoutMs": 6000, "connectTimeoutMs": 1500}))
            .await;
    let (busy, late) = (Client::session("busy"), Client::session("late"));
    {
        let running = server.call("up_slow", "{}", &busy);
        tokio::select! {
            _ = running => panic!("it answered"),
            refused = async {
                eventually(|| !http.script.of("tools/call").is_empty()).await;
                server.call("up_echo", "{}", &late).await
            } => {
                let error = refused.unwrap_err();
                assert!(error.message.contains("all 1 sessions"), "{error}");
                assert!(error.message.contains("mcp.maxSessions"), "{error}");
            }
        }
    }
    server.result("up_echo", "{}", &late).await;
}

#[tokio::test]
async fn a_session_ends_with_its_conversation_or_when_it_is_not_used() {
    let (http, server) = over_http(Eras::Legacy, &json!({"sessionIdleMs": 1000})).await;
    let client = Client::session("one");
    server.result("up_echo", "{}", &client).await;
    drop(client);
    let ended = |index: usize| http.shared.ended.lock().unwrap().contains(&sessions_of(&http)[index]);
    eventually(|| ended(0)).await;
    let idle = Client::session("idle");
    server.result("up_echo", "{}", &idle).await;
    eventually(|| ended(1)).await;
}

#[tokio::test]
async fn a_session_that_the_server_forgot_or_a_process_that_ended_is_begun_again() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    let client = Client::session("one");
    server.result("up_echo", "{}", &client).await;
    http.shared.sessions.lock().unwrap().remove(&sessions_of(&http)[0]);
    server.result("up_echo", "{}", &client).await;
    let server = child(Eras::Legacy, &json!({})).await;
    server.call("up_echo", r#"{"x":"exit"}"#, &client).await.unwrap_err();
    server.result("up_echo", "{}", &client).await;
}

#[tokio::test]
async fn a_cancelled_call_is_told_of_before_its_session_ends() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    for round in 0..10 {
        let client =
            Client { capabilities: json!({"elicitation": {}}), ..Client::session(&round.to_string()) };
        {
            let call = server.call("up_slow", "{}", &client);
            tokio::select! {
                _ = call => panic!("it answered"),
                () = eventually(|| http.script.of("tools/call").len() == round + 1) => {}
            }
        }
        drop(client);
        // Each session counts its requests anew.
        eventually(|| !std::mem::take(&mut *http.script.cancelled.lock().unwrap()).is_empty()).await;
        eventually(|| http.shared.ended.lock().unwrap().len() == round + 1).await;
    }
}

#[tokio::test]
async fn a_client_of_an_older_revision_is_asked_by_a_server_of_both_eras() {
    let (http, server) = over_http(Eras::Both, &json!({})).await;
    let client = Client { capabilities: json!({"elicitation": {}}), ..Client::session("one") };
    let result = server.result("up_ask", "{}", &client).await;
    assert!(result["content"][0]["text"].as_str().unwrap().contains("accept"), "{result}");
    server.result("up_echo", "{}", &Client::session("cannot be asked")).await;
    assert_eq!(http.script.of("initialize").len(), 2, "the server may remember things, too");
    server.result("up_echo", "{}", &Mute).await;
    assert_eq!(http.script.of("initialize").len(), 2, "nobody remembers who has no conversation");
    let server = child(Eras::Both, &json!({})).await;
    let result = server.result("up_ask", "{}", &client).await;
    assert!(result["content"][0]["text"].as_str().unwrap().contains("accept"), "{result}");
}

#[tokio::test]
async fn a_question_during_a_completion_does_not_spoil_it() {
    let (_http, server) = over_http(Eras::Legacy, &json!({})).await;
    let prompt = &server.ready().await.prompts[0];
    for (client, answer) in [(Client::legacy(), "accept"), (Client::modern(Brought::default()), "cancel")] {
        let asked = Completing {
            of: "greet",
            argument: "who",
            value: "ask",
            settled: &Map::new(),
            principal: &Principal::Anonymous,
            caller: &client,
        };
        let completion = prompt.executor.complete(&asked).await.unwrap();
        assert!(completion.values[0].contains(answer), "{completion:?}");
    }
}

#[tokio::test]
async fn answers_by_events_keep_their_connections() {
    for eras in [Eras::Legacy, Eras::Modern] {
        let (http, server) = over_http(eras, &json!({})).await;
        for _ in 0..20 {
            server.result("up_echo", "{}", &Mute).await;
        }
        let connections = http.shared.connections.load(Ordering::SeqCst);
        assert!(connections <= 6, "{eras:?}: {connections} connections");
    }
}

#[tokio::test]
async fn what_a_server_adds_in_a_session_is_offered_as_long_as_that_lasts() {
    let server = child(Eras::Legacy, &json!({})).await;
    let client = Client::session("one");
    server.result("up_change", "{}", &client).await;
    server.until(|offer| offer.tools.len() == 11).await;
    let added = server.result("up_added", "{}", &client).await;
    assert!(added["content"][0]["text"].as_str().unwrap().contains("added"), "{added}");
    drop(client);
    server.until(|offer| offer.tools.len() == 10).await;
}

#[tokio::test]
async fn a_server_knows_the_roots_of_a_client_before_its_first_call() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    http.script.asks_for_roots.store(true, Ordering::SeqCst);
    let client = Client { capabilities: json!({"roots": {}}), ..Client::session("one") };
    server.result("up_echo", "{}", &client).await;
    let received = http.script.received.lock().unwrap();
    let answered = received.iter().position(|message| message["id"] == "roots").unwrap();
    let called = received.iter().position(|message| message["method"] == "tools/call").unwrap();
    assert!(answered < called);
    assert_eq!(client.asked.lock().unwrap()[0].by_key[0].1.method, "roots/list");
}

#[tokio::test]
async fn what_a_server_logs_between_calls_is_told_to_the_conversation_of_its_session_only() {
    let (http, server) = over_http(Eras::Legacy, &json!({})).await;
    let (first, second) = (Client::session("first"), Client::session("second"));
    for client in [&first, &second] {
        server.result("up_echo", "{}", client).await;
    }
    let log = |data: &str| {
        let params = json!({"level": "warning", "data": data});
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).to_string()
    };
    let stream = |session: &str| http.shared.sessions.lock().unwrap()[session].clone().unwrap();
    let sessions = sessions_of(&http);
    // The listing's is nobody's.
    stream("session-1").send(log("nobody's")).unwrap();
    stream(&sessions[0]).send(log("for the first")).unwrap();
    stream(&sessions[1]).send(log("for the second")).unwrap();
    let told = |conversation: &str, data: &str| {
        let params = Json::from_value(&json!({"level": "warning", "data": data}));
        let notice = Notice::Log { level: LogLevel::Warning, params };
        Changed::Told { conversation: conversation.to_owned(), notice }
    };
    let (for_first, for_second) = (told("first", "for the first"), told("second", "for the second"));
    server.until_heard(&for_first).await;
    server.until_heard(&for_second).await;
    let heard = server.heard();
    let all: Vec<_> = heard.iter().filter(|changed| matches!(changed, Changed::Told { .. })).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(first.logs.lock().unwrap().is_empty() && second.logs.lock().unwrap().is_empty());
}
