//! Facts about the methods, asked of a server over a registry whose one upstream offers something of every sort.

mod bridge;
mod endpoints;
mod fixture;
mod framing;
mod offered;
mod relay;
mod results;
mod streamable;
mod tasks;
mod through;

use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Caller, DefinitionForm, Mute, Principal, Store, StoreError};
use toolrail_registry::{
    Compiler, Endpoints, FixedSource, LateStore, Registry, RegistryBuilder, RegistryLimits, SourceId,
};

use crate::dialect::Dialect;
use crate::envelope::{self, Message};
use crate::introduction::ServerInfo;
use crate::methods::{self, Context, Handle};
use crate::outbox::Outbox;
use crate::peer::{Peer, Session};
use crate::reply::{Answer, Fault};
use crate::server::Server;
use toolrail_protocol::meta::TASKS;

const META: &str = "io.modelcontextprotocol";

async fn server() -> Arc<Server> {
    server_on(away()).await
}

/// A store that nothing can be written to or read from.
fn away() -> Arc<dyn Store> {
    let unavailable =
        || Err(StoreError::Unavailable { store: "away".to_owned(), source: "it is away".into() });
    Arc::new(LateStore::new("away", Box::new(move || Box::pin(async move { unavailable() }))))
}

async fn server_on(store: Arc<dyn Store>) -> Arc<Server> {
    server_with(store, Endpoints::default()).await
}

async fn server_with(store: Arc<dyn Store>, endpoints: Endpoints) -> Arc<Server> {
    serving(registry_with(store, endpoints).build()).await
}

fn registry_with(store: Arc<dyn Store>, endpoints: Endpoints) -> RegistryBuilder {
    let form = DefinitionForm::new(vec![Arc::new(fixture::Fixture)]);
    let compiler = Compiler::new(form, Box::new(|_, executor| executor));
    let document = json!({"name": "fixture", "type": "fixture", "fixture": {}});
    let source = FixedSource::new(SourceId::Demo, "the tests", vec![document]);
    let limits = RegistryLimits { page_tools: 4, ..RegistryLimits::default() };
    Registry::builder(compiler, store, vec![Arc::new(source)], limits).with_endpoints(endpoints)
}

async fn serving(registry: Registry) -> Arc<Server> {
    let registry = tokio::task::spawn_blocking(|| filled(registry)).await.expect("it is filled");
    let info = ServerInfo { name: "test".into(), title: None, version: "1".into(), instructions: None };
    Server::new(Arc::new(registry), info, &[7; 32])
}

/// Filling a registry takes a runtime with more than one thread; the tests themselves need none.
fn filled(registry: Registry) -> Registry {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(registry.refresh());
    registry
}

/// Who asks.
struct Client<'a> {
    dialect: Dialect,
    caller: &'a dyn Caller,
    outbox: Option<&'a Outbox>,
}

impl Client<'_> {
    fn of(dialect: Dialect) -> Self {
        Self { dialect, caller: &Mute, outbox: None }
    }
}

/// The result, or the error, of one request.
async fn ask(server: &Server, dialect: Dialect, method: &str, params: Value) -> Result<Value, Value> {
    ask_as(&Client::of(dialect), server, method, params).await
}

async fn ask_as(client: &Client<'_>, server: &Server, method: &str, params: Value) -> Result<Value, Value> {
    let (status, text) = answer_to(client, server, method, params).await;
    let mut answer: Value = serde_json::from_str(&text).expect("an answer is JSON");
    if let Some(result) = answer.get_mut("result") {
        return Ok(result.take());
    }
    answer["error"]["status"] = status.into();
    Err(answer["error"].take())
}

/// The status and the text of an answer.
async fn answer_to(client: &Client<'_>, server: &Server, method: &str, params: Value) -> (u16, String) {
    let Client { dialect, caller, outbox } = *client;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let Ok(Message::Request(request)) = envelope::parse(body.as_bytes()) else { panic!("{body}") };
    // Clients that say `tool` are those of the WebSocket.
    let session = Session { plain_shapes: params.get("tool").is_some(), ..Session::default() };
    let endpoint = server.registry.endpoints().main();
    let principal = &Principal::Anonymous;
    let (address, foreign_page) = (None, false);
    let peer = Peer {
        claims: None,
        session: &session,
        principal,
        token: None,
        endpoint,
        address,
        foreign_page,
        outbox,
    };
    let context = Context { server, peer: &peer, dialect, id: request.id, params: &request.params, caller };
    let reply = match methods::find(method, dialect).map(|method| &method.handle) {
        Some(Handle::Now(handle)) => handle(context),
        Some(Handle::Later(handle)) => handle(context).await,
        None => Err(Fault::new(crate::reply::Code::MethodNotFound, "unknown")),
    };
    let answer = Answer::write(Some(request.id), reply);
    (answer.status, String::from_utf8(answer.body.into_line().to_vec()).expect("an answer is text"))
}

/// The `_meta` of a modern client with those capabilities.
fn modern(capabilities: Value) -> Value {
    json!({
        format!("{META}/protocolVersion"): "2026-07-28",
        format!("{META}/clientCapabilities"): capabilities,
    })
}

/// The same, of one that can handle tasks and be asked.
fn with_tasks() -> Value {
    modern(json!({"elicitation": {}, "extensions": {TASKS: {}}}))
}
