//! Whatever several callers do at once at servers that are asked in their names, none of them meets another there: not in a session,
//! a stream or a task, and not by a token. The servers remember who came with what.

use std::collections::HashMap;

use axum::Router;
use axum::routing::post;
use futures_util::future::join_all;
use http::Method;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::authority::Authority;
use super::connect::connect_at;
use super::recorder::{Recorder, Speaks, subject};
use super::{Stage, Talk};

/// Who calls: by tokens, and by keys of two tenants.
const PEOPLE: [&str; 5] = ["ann", "bob", "cyd", "dan", "eve"];
/// The last two have keys, and nothing that could be passed on.
const WITH_TOKENS: usize = 3;
/// The servers, by what proves in whose name they are asked.
const SERVERS: [&str; 5] = ["own", "shared", "modern", "exchanged", "granted"];
const GRANTED: usize = 4;

/// Something that somebody does at a server.
#[derive(Clone, Copy, Debug)]
enum Deed {
    CallOverRest,
    Call,
    Prompt,
    Read,
    Subscribe,
    /// Begins a task and asks how it stands.
    Task,
    /// Asks for the newest task of whoever.
    ForeignTask,
}

type Step = (usize, usize, Deed);

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let deed = prop_oneof![
        Just(Deed::CallOverRest),
        Just(Deed::Call),
        Just(Deed::Prompt),
        Just(Deed::Read),
        Just(Deed::Subscribe),
        Just(Deed::Task),
        Just(Deed::ForeignTask),
    ];
    let step = (0..PEOPLE.len(), 0..SERVERS.len(), deed);
    // What stands in one list happens at once.
    prop::collection::vec(prop::collection::vec(step, 1..8), 1..6)
}

/// A gateway, its servers and those who use them.
struct Crowd {
    stage: Stage,
    servers: Vec<Recorder>,
    credentials: Vec<String>,
    talks: Vec<Mutex<Talk>>,
    /// The newest task at each server, as whoever began it knows it.
    tasks: Mutex<HashMap<usize, String>>,
}

impl Crowd {
    async fn gather() -> Self {
        let stage = Stage::open().await;
        let mut credentials: Vec<String> = PEOPLE[..WITH_TOKENS].iter().map(|who| stage.token(who)).collect();
        for (who, tenant) in [("dan", "acme"), ("eve", "umbrella")] {
            let key = json!({"name": who, "role": "call", "tenant": tenant});
            let made = stage.ask(&stage.admin, (Method::POST, "/admin/keys"), Some(&key)).await;
            credentials.push(made.json().unwrap()["key"].as_str().unwrap().to_owned());
        }
        let exchange = Router::new().route("/token", post(exchanged));
        let authority = Authority::new("nobody");
        let servers = vec![
            Recorder::start(Speaks::Legacy).await,
            Recorder::start(Speaks::Legacy).await,
            Recorder::start(Speaks::Modern).await,
            Recorder::with(Speaks::Legacy, exchange).await,
            Recorder::with(Speaks::Legacy, authority.routes()).await,
        ];
        let caller = json!({"type": "caller_token"});
        let token_url = format!("{}/token", servers[3].origin());
        let exchange = json!({"type": "token_exchange", "tokenUrl": token_url, "clientId": "gateway"});
        let user = json!({"type": "oauth_user"});
        let ways = [&caller, &caller, &caller, &exchange, &user];
        for (at, way) in ways.into_iter().enumerate() {
            let more = json!({"shared": SERVERS[at] == "shared"});
            stage.bring_in(SERVERS[at], &servers[at], (way.clone(), more)).await;
        }
        let mut talks = Vec::new();
        for (who, credential) in PEOPLE.iter().zip(&credentials) {
            authority.change(|script| (*who).clone_into(&mut script.account));
            connect_at(&stage, credential, "granted_whoami").await;
            talks.push(Mutex::new(Talk::open(&stage.gateway, credential, json!({})).await));
        }
        Self { stage, servers, credentials, talks, tasks: Mutex::default() }
    }

    /// Does it, and says what is wrong with what came back.
    async fn take(&self, (who, at, deed): Step) -> Result<(), String> {
        let (name, server) = (PEOPLE[who], SERVERS[at]);
        let tool = format!("{server}_whoami");
        let arguments = json!({"as": name});
        let mut talk = self.talks[who].lock().await;
        let answer = match deed {
            Deed::CallOverRest => {
                drop(talk);
                let body = json!({"tool": tool, "arguments": arguments});
                let path = (Method::POST, "/mcp/tools/call");
                self.stage.ask(&self.credentials[who], path, Some(&body)).await.text()
            }
            Deed::Call => {
                talk.ask("tools/call", json!({"name": tool, "arguments": arguments})).await.to_string()
            }
            Deed::Prompt => {
                talk.ask("prompts/get", json!({"name": format!("{server}_mine")})).await.to_string()
            }
            Deed::Read => talk.ask("resources/read", json!({"uri": "mine://all"})).await.to_string(),
            Deed::Subscribe => {
                talk.ask("resources/subscribe", json!({"uri": "mine://all"})).await;
                return Ok(());
            }
            Deed::Task => {
                let call = json!({"name": tool, "arguments": arguments, "task": {}});
                let begun = talk.ask("tools/call", call).await;
                if let Some(id) = begun["task"]["taskId"].as_str() {
                    self.tasks.lock().await.insert(at, id.to_owned());
                    talk.ask("tasks/get", json!({"taskId": id})).await;
                }
                return Ok(());
            }
            Deed::ForeignTask => {
                let id = self.tasks.lock().await.get(&at).cloned();
                if let Some(id) = id {
                    talk.ask("tasks/get", json!({"taskId": id})).await;
                }
                return Ok(());
            }
        };
        let plain = answer.replace('\\', "");
        // Which server has a resource is not up to whoever reads it.
        let may_be_refused = who >= WITH_TOKENS && (at != GRANTED || matches!(deed, Deed::Read));
        match plain.split_once(r#""who":""#) {
            Some((_, rest)) if rest.starts_with(name) => Ok(()),
            // Whoever has only a key is refused where tokens are passed on.
            None if may_be_refused => Ok(()),
            _ => Err(format!("{name} got an answer at {server} that is not for him: {answer}")),
        }
    }
}

/// Gives a token for that of a caller.
async fn exchanged(form: String) -> String {
    let form: HashMap<String, String> = url::form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    let who = subject(&form["subject_token"]);
    json!({"access_token": format!("access-{who}-exchanged"), "token_type": "Bearer", "expires_in": 3600})
        .to_string()
}

#[test]
fn callers_never_meet_at_a_server() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let crowd = runtime.block_on(Crowd::gather());
    let config = Config { cases: 16, max_shrink_iters: 64, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&steps(), |steps| {
        let wrong: Vec<String> = runtime.block_on(async {
            let mut wrong = Vec::new();
            for at_once in steps {
                let done = join_all(at_once.into_iter().map(|step| crowd.take(step))).await;
                wrong.extend(done.into_iter().filter_map(Result::err));
            }
            wrong.extend(crowd.servers.iter().flat_map(Recorder::faults));
            wrong
        });
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
        Ok(())
    });
    if let Err(error) = run {
        unreachable!("{error}");
    }
    // Something happened at every server.
    for (server, name) in crowd.servers.iter().zip(SERVERS) {
        assert!(!server.seen("tools/call").is_empty(), "{name}");
    }
}

/// The test above could not fail if the servers noticed nothing.
#[tokio::test]
async fn the_servers_notice_when_two_meet() {
    let server = Recorder::start(Speaks::Legacy).await;
    let http = toolrail_testkit::HttpClient::new();
    let send = async |who: &str, session: Option<&str>, message: Value| {
        let mut request =
            http::Request::post(server.url()).header("authorization", format!("Bearer access-{who}-1"));
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        let body = http_body_util::Full::new(bytes::Bytes::from(message.to_string()));
        http.send(request.body(body).unwrap()).await.unwrap()
    };
    let message =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let begun = send("ann", None, message("initialize", json!({}))).await;
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let call = |who: &str| message("tools/call", json!({"name": "whoami", "arguments": {"as": who}}));
    send("ann", Some(&session), call("ann")).await;
    assert_eq!(server.faults(), Vec::<String>::new());
    send("bob", Some(&session), call("bob")).await;
    assert_eq!(server.faults().len(), 1, "a session of another");
    send("bob", None, call("ann")).await;
    assert_eq!(server.faults().len(), 2, "a token of another");
    let task = message("tools/call", json!({"name": "whoami", "arguments": {}, "task": {}}));
    send("ann", Some(&session), task).await;
    send("cyd", None, message("tasks/get", json!({"taskId": "task-1"}))).await;
    assert_eq!(server.faults().len(), 3, "a task of another");
}
