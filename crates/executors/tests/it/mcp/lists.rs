//! What a server offers, and how changes are followed.

use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use toolrail_core::{Call, Completing, Mute, Principal};

use super::client::{Brought, Client, Server, eventually, whole};
use super::over_http::HttpServer;
use super::script::{Eras, Script};

const BOTH: [Eras; 2] = [Eras::Modern, Eras::Legacy];

fn names(offer: &toolrail_core::Offer) -> Vec<&str> {
    offer.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn everything_a_server_lists_is_offered_under_its_prefix() {
    for eras in BOTH {
        let http = HttpServer::start(eras).await;
        let server = Server::start(&json!({"url": http.url()}));
        let offer = server.ready().await;
        assert_eq!(names(&offer)[..2], ["up_echo", "up_progress"], "{eras:?}");
        assert_eq!(names(&offer).len(), 10, "both pages");
        let entry = offer.tools[0].entry.text();
        assert!(
            entry.starts_with(r#"{"name":"up_echo","z-unknown":{"b":1.5,"a":[]},"inputSchema""#),
            "{entry}"
        );
        assert_eq!(offer.prompts[0].key, "up_greet");
        assert_eq!(offer.prompts[0].entry, json!({"name": "up_greet", "x-prompt": [1.5]}));
        assert_eq!(offer.resources[0].key, "script://doc");
        assert_eq!(offer.templates[0].key, "script://page/{n}");
        assert_eq!(server.upstream.failure(), None);
    }
}

#[tokio::test]
async fn patterns_choose_tools_and_the_prefix_can_be_empty() {
    let http = HttpServer::start(Eras::Modern).await;
    let settings = json!({"url": http.url(), "prefix": "", "include": ["*a*"], "exclude": ["ask*", "task"]});
    let offer = Server::start(&settings).ready().await;
    assert_eq!(names(&offer), ["fail", "change"]);
}

#[tokio::test]
async fn a_changed_list_is_offered_anew() {
    for eras in BOTH {
        let http = HttpServer::start(eras).await;
        let server = Server::start(&json!({"url": http.url()}));
        server.ready().await;
        let way = if eras == Eras::Modern { "subscriptions/listen" } else { "notifications/initialized" };
        eventually(|| !http.script.of(way).is_empty() && http.script.told.receiver_count() > 0).await;
        server.result("up_change", "{}", &Mute).await;
        let offer = server.until(|offer| offer.tools.len() == 11).await;
        assert_eq!(offer.tools[10].name.as_str(), "up_added", "{eras:?}");
    }
}

#[tokio::test]
async fn lists_that_cannot_be_followed_are_looked_at_again_in_time() {
    let http = HttpServer::start(Eras::Modern).await;
    let server = Server::start(&json!({"url": http.url(), "listTtlMs": 1000}));
    server.ready().await;
    http.script.has_more_tools.store(true, std::sync::atomic::Ordering::SeqCst);
    server.until(|offer| offer.tools.len() == 11).await;
}

#[tokio::test]
async fn a_watched_resource_is_followed_while_it_is_watched() {
    for eras in BOTH {
        let http = HttpServer::start(eras).await;
        let server = Server::start(&json!({"url": http.url()}));
        let offer = server.ready().await;
        let watch = || offer.resources[0].executor.watch("script://doc", &Principal::Anonymous, &Mute);
        let watching = watch().await.unwrap().unwrap();
        let again = watch().await.unwrap().unwrap();
        let wanted = |message: &Value| match eras {
            Eras::Modern => {
                message["params"]["notifications"]["resourceSubscriptions"] == json!(["script://doc"])
            }
            Eras::Legacy | Eras::Both => message["params"]["uri"] == "script://doc",
        };
        let method = if eras == Eras::Modern { "subscriptions/listen" } else { "resources/subscribe" };
        eventually(|| http.script.of(method).iter().filter(|message| wanted(message)).count() == 1).await;
        eventually(|| http.script.told.receiver_count() > 0).await;
        // The stream of a modern server stands once it is acknowledged; telling twice does no harm.
        http.script.tell(&json!({
            "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "script://doc"},
        }));
        server.until_changed("script://doc").await;
        drop((watching, again));
        match eras {
            Eras::Modern => {
                let last = || http.script.of(method).last().cloned().unwrap();
                eventually(|| !wanted(&last())).await;
            }
            Eras::Legacy | Eras::Both => {
                eventually(|| !http.script.of("resources/unsubscribe").is_empty()).await;
            }
        }
    }
}

#[tokio::test]
async fn tools_only_for_clients_that_can_be_asked_are_listed_unless_all_share_a_session() {
    for eras in BOTH {
        for (shared, tools) in [(false, 11), (true, 10)] {
            let http = HttpServer::start(eras).await;
            http.script.is_gated.store(true, std::sync::atomic::Ordering::SeqCst);
            let server = Server::start(&json!({"url": http.url(), "shared": shared}));
            assert_eq!(server.ready().await.tools.len(), tools, "{eras:?} {shared}");
            server.result("up_echo", "{}", &Mute).await;
            if eras == Eras::Legacy && !shared {
                let told = http.script.of("initialize").last().unwrap()["params"]["capabilities"].clone();
                assert_eq!(
                    told,
                    json!({}),
                    "one who cannot be asked has a session in which nothing is promised"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_client_is_told_what_it_lacks_for_a_tool_that_the_server_does_not_have_for_it() {
    let http = HttpServer::start(Eras::Legacy).await;
    http.script.is_gated.store(true, std::sync::atomic::Ordering::SeqCst);
    let server = Server::start(&json!({"url": http.url()}));
    server.until(|offer| names(offer).contains(&"up_gated")).await;
    let told = r#"the server has the tool "gated" only for clients that declare the capability "sampling", which this one does not"#;
    for client in
        [Client::session("one"), Client { capabilities: json!({"roots": {}}), ..Client::session("two") }]
    {
        let error = server.call("up_gated", "{}", &client).await.unwrap_err();
        assert_eq!((error.message.as_str(), error.rpc), (told, None));
    }
    let modern = Client { capabilities: json!({}), ..Client::modern(Brought::default()) };
    let rpc = server.call("up_gated", "{}", &modern).await.unwrap_err().rpc.unwrap();
    assert_eq!((rpc.code, rpc.data), (-32021, Some(json!({"requiredCapabilities": {"sampling": {}}}))));
    let sessions = http.script.of("initialize").len();
    let error = server.call("up_gated", "{}", &Client::session("three")).await.unwrap_err();
    assert_eq!(error.message, told);
    assert_eq!(http.script.of("initialize").len(), sessions + 1, "it is known by now");
    let able = Client { capabilities: json!({"sampling": {}}), ..Client::session("four") };
    assert!(server.call("up_gated", "{}", &able).await.is_ok());
}

#[tokio::test]
async fn a_client_watches_in_its_own_session_and_alone_hears_of_it() {
    let http = HttpServer::start(Eras::Legacy).await;
    let server = Server::start(&json!({"url": http.url()}));
    let offer = server.ready().await;
    let client = Client::session("one");
    server.result("up_echo", "{}", &client).await;
    let watch = || offer.resources[0].executor.watch("script://doc", &Principal::Anonymous, &client);
    let (first, second) = (watch().await.unwrap().unwrap(), watch().await.unwrap().unwrap());
    let session = |method: &str| http.headers_of(method)[0]["mcp-session-id"].clone();
    assert_eq!(session("resources/subscribe"), session("tools/call"));
    assert_eq!(http.script.of("resources/subscribe").len(), 1);
    let id = session("tools/call").to_str().unwrap().to_owned();
    let stream = http.shared.sessions.lock().unwrap()[&id].clone().unwrap();
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "script://doc"}});
    stream.send(updated.to_string()).unwrap();
    server.until_changed_for("script://doc", Some("one")).await;
    drop(first);
    server.result("up_echo", "{}", &client).await;
    assert!(http.script.of("resources/unsubscribe").is_empty(), "somebody still watches");
    drop(second);
    eventually(|| http.script.of("resources/unsubscribe").len() == 1).await;
    assert_eq!(session("resources/unsubscribe"), session("tools/call"));
}

#[tokio::test]
async fn what_a_client_watches_is_watched_again_after_its_session_ended() {
    let http = HttpServer::start(Eras::Legacy).await;
    let server = Server::start(&json!({"url": http.url()}));
    let offer = server.ready().await;
    let client = Client::session("one");
    let watch = offer.resources[0].executor.watch("script://doc", &Principal::Anonymous, &client).await;
    let _watching = watch.unwrap().unwrap();
    let id = http.headers_of("resources/subscribe")[0]["mcp-session-id"].to_str().unwrap().to_owned();
    // The server forgets the session, and its stream ends.
    drop(http.shared.sessions.lock().unwrap().remove(&id));
    eventually(|| http.script.of("resources/subscribe").len() == 2).await;
}

#[tokio::test]
async fn a_server_that_comes_back_is_used_again() {
    for eras in BOTH {
        let http = HttpServer::start(eras).await;
        let server = Server::start(&json!({"url": http.url()}));
        server.ready().await;
        server.result("up_progress", "{}", &Mute).await;
        let (address, _) = http.stop().await;
        let refused = server.call("up_progress", "{}", &Mute).await.unwrap_err();
        assert_eq!(refused.code.word(), "UPSTREAM_UNREACHABLE", "{refused}");
        let failure = server.until_failure(|failure| failure.is_some()).await.unwrap();
        assert!(failure.contains("the connection was refused"), "{failure}");
        assert!(failure.ends_with("it is tried again by itself"), "{failure}");
        assert_eq!(server.upstream.offer().tools.len(), 10, "the last offer stays");
        let script = Script::new(eras);
        let http = HttpServer::on(TcpListener::bind(address).await.unwrap(), script);
        // The call itself asks for the connection.
        assert_eq!(server.result("up_progress", "{}", &Mute).await["content"][0]["text"], "done");
        server.until_failure(|failure| failure.is_none()).await;
        drop(http);
    }
}

#[tokio::test]
async fn a_forgotten_session_is_begun_again_and_the_call_repeated() {
    let http = HttpServer::start(Eras::Legacy).await;
    let server = Server::start(&json!({"url": http.url()}));
    server.ready().await;
    http.shared.sessions.lock().unwrap().clear();
    assert_eq!(server.result("up_progress", "{}", &Mute).await["content"][0]["text"], "done");
    assert_eq!(http.script.of("initialize").len(), 2);
}

#[tokio::test]
async fn a_session_is_ended_when_the_server_is_removed() {
    let http = HttpServer::start(Eras::Legacy).await;
    let server = Server::start(&json!({"url": http.url()}));
    server.ready().await;
    drop(server);
    eventually(|| !http.shared.ended.lock().unwrap().is_empty()).await;
}

#[tokio::test]
async fn prompts_resources_and_completions_reach_the_server() {
    for eras in BOTH {
        let http = HttpServer::start(eras).await;
        let server = Server::start(&json!({"url": http.url()}));
        let offer = server.ready().await;
        let arguments = json!({"who": "you"}).as_object().unwrap().clone();
        let (nothing, principal) = (Map::new(), Principal::Anonymous);
        let call =
            |tool, arguments| Call { tool, arguments, raw: None, principal: &principal, caller: &Mute };
        let prompt = &offer.prompts[0].executor;
        let got = whole(prompt.execute(&call("up_greet", &arguments)).await);
        let seen: Value =
            serde_json::from_str(got["messages"][0]["content"]["text"].as_str().unwrap()).unwrap();
        assert_eq!(
            (&seen["name"], &seen["arguments"]),
            (&json!("greet"), &json!({"who": "you"})),
            "{eras:?}"
        );
        let page = &offer.templates[0].executor;
        let got = whole(page.execute(&call("script://page/1", &nothing)).await);
        assert_eq!(got["contents"][0], json!({"uri": "script://page/1", "text": "content"}));
        let missing = page.execute(&call("script://page/404", &nothing)).await.unwrap_err().rpc.unwrap();
        assert_eq!((missing.code, missing.data), (-32002, Some(json!({"uri": "script://page/404"}))));
        let asked = Completing {
            of: "up_greet",
            argument: "who",
            value: "y",
            settled: &nothing,
            principal: &principal,
            caller: &Mute,
        };
        let completion = prompt.complete(&asked).await.unwrap();
        assert_eq!(completion.values, [r#"{"type":"ref/prompt","name":"greet"}"#, "y"]);
        assert_eq!((completion.total, completion.has_more), (Some(2), Some(false)));
    }
}
