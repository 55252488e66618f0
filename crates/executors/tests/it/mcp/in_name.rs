//! Sessions in the name of whoever calls: how many one has, and when they end.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use toolrail_core::{Call, CallerToken, Ending, Identity, Outcome, Principal, Role};

use super::client::{Client, Server, eventually};
use super::over_http::HttpServer;
use super::script::Eras;

async fn start(more: &Value) -> (HttpServer, Server) {
    let http = HttpServer::start(Eras::Legacy).await;
    let mut settings = json!({"url": http.url()});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let auth = json!({"type": "caller_token"});
    let definition = json!({"name": "up", "type": "mcp", "auth": auth, "mcp": settings});
    let server = Server::start_definition(&definition, &[]);
    server.ready().await;
    (http, server)
}

fn known(who: &str, ending: &Ending) -> Principal {
    Principal::Known(Arc::new(Identity {
        id: format!("token:https://id|{who}").into(),
        name: who.to_owned(),
        tenant: None,
        role: Role::Call,
        groups: Vec::new(),
        scopes: Vec::new(),
        reach: None,
        ending: ending.clone(),
    }))
}

fn client(conversation: &str, token: &str) -> Client {
    Client { token: Some(CallerToken::new(token)), ..Client::session(conversation) }
}

async fn call(server: &Server, tool: &str, (principal, client): (&Principal, &Client)) -> Outcome {
    let offer = server.ready().await;
    let found = offer.tools.iter().find(|offered| offered.name.as_str() == tool).unwrap();
    found.executor.execute(&Call { tool, arguments: &Map::new(), raw: None, principal, caller: client }).await
}

#[tokio::test]
async fn one_caller_has_so_many_sessions_and_leaves_room_for_others() {
    const MOST: usize = 32;
    let (http, server) = start(&json!({"timeoutMs": 20000, "connectTimeoutMs": 1500})).await;
    let (ann, bob) = (known("ann", &Ending::default()), known("bob", &Ending::default()));
    let busy: Vec<Client> = (0..MOST).map(|number| client(&format!("busy {number}"), "of-ann")).collect();
    let running = join_all(busy.iter().map(|client| call(&server, "up_slow", (&ann, client))));
    let checking = async {
        eventually(|| http.script.of("tools/call").len() == MOST).await;
        let other = call(&server, "up_echo", (&bob, &client("other", "of-bob"))).await;
        assert!(other.is_ok(), "{other:?}");
        let late = call(&server, "up_echo", (&ann, &client("late", "of-ann"))).await.unwrap_err();
        assert!(late.message.contains("all 32 sessions that one caller may have"), "{late}");
    };
    tokio::select! {
        _ = running => panic!("it answered"),
        () = checking => {}
    }
}

#[tokio::test]
async fn a_session_ends_with_the_rights_of_whoever_holds_it() {
    let (http, server) = start(&json!({})).await;
    let ending = Ending::default();
    let (ann, bob) = (known("ann", &ending), known("bob", &Ending::default()));
    let (hers, his) = (client("hers", "of-ann"), client("his", "of-bob"));
    call(&server, "up_echo", (&ann, &hers)).await.unwrap();
    let calls = http.headers_of("tools/call");
    let session = calls[0]["mcp-session-id"].to_str().unwrap().to_owned();
    assert_eq!(calls[0]["authorization"], "Bearer of-ann");
    ending.come();
    call(&server, "up_echo", (&bob, &his)).await.unwrap();
    eventually(|| http.shared.ended.lock().unwrap().contains(&session)).await;
    let nobody = call(&server, "up_echo", (&bob, &Client::session("his"))).await.unwrap_err();
    assert!(nobody.message.contains("came without a token"), "{nobody}");
}
