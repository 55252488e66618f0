//! What upstreams offer stands beside our own: listed, called, replaced, told of when it cannot be.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolrail_core::{
    ArgumentCheck, Changed, ErrorCode, Offer, OfferedTool, Payload, Problem, Severity, TaskSupport,
    UpstreamState,
};
use toolrail_registry::{FixedSource, List, Registry, SourceId};

use crate::fake::{
    Connection, Server, builder_of, far, offered, plain, prompt, registry_of, resource, tools,
};
use crate::others::{fixed, listed, whole};
use crate::support::{call, files, names, tool};

const DEADLINE: Duration = Duration::from_secs(10);

fn problems(registry: &Registry) -> Vec<Problem> {
    registry.snapshot().problems().cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_upstream_offers_is_listed_as_it_is_offered() {
    let text = r#"{"name":"z","zeta":1,"inputSchema":{"type":"object","x-b":1,"x-a":2},"outputSchema":{"type":"array"},"execution":{"taskSupport":"optional"}}"#;
    let server = Server::offering(Offer {
        tools: vec![offered(serde_json::from_str(text).unwrap())],
        prompts: vec![prompt("p")],
        resources: vec![resource("docs://a")],
        templates: vec![resource("docs://{page}")],
        ..Offer::default()
    });
    let registry = registry_of(&[server], fixed(vec![far("up", 0), tool("a", "d")]));
    registry.refresh().await;
    assert_eq!(names(&registry), ["a", "z"]);
    let snapshot = registry.snapshot();
    let entry = snapshot.entry("z").unwrap();
    assert_eq!((entry.source, entry.origin.as_str(), &*entry.document), (SourceId::Upstream, "up", text));
    let found = snapshot.find("Z").unwrap();
    assert_eq!(
        (&*found.kind, found.tasks, &found.list_entry()[..]),
        ("far", TaskSupport::Optional, text.as_bytes())
    );
    let legacy = snapshot.page(List::Tools, toolrail_registry::Era::Legacy, None);
    let legacy: Vec<Value> = serde_json::from_slice(&legacy.entries).unwrap();
    assert_eq!(legacy[1]["outputSchema"]["properties"]["result"], json!({"type": "array"}));
    assert_eq!(listed(&registry, List::Prompts)[0]["name"], "p");
    assert!(snapshot.resource("docs://a").is_some() && snapshot.resource("docs://b").is_some());
    assert_eq!(snapshot.entry("up").unwrap().state(), "live");
    let status = &snapshot.upstreams[0];
    assert_eq!((status.name.as_str(), status.tools, status.failure.as_ref()), ("up", 1, None));
    assert_eq!(problems(&registry), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_checked_by_whoever_said_so() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "default": 7}}});
    let here = OfferedTool {
        arguments: ArgumentCheck::Here,
        ..offered(json!({"name": "here", "inputSchema": schema}))
    };
    let there = offered(json!({"name": "there", "inputSchema": schema}));
    let server = Server::offering(Offer { tools: vec![here, there], ..Offer::default() });
    let registry = registry_of(&[server], fixed(vec![far("up", 0)]));
    registry.refresh().await;
    let passed_on = whole(call(&registry, "there", r#"{"n": "x"}"#).await);
    assert_eq!(passed_on, json!({"tool": "there", "arguments": {}, "raw": "{\"n\": \"x\"}"}));
    assert_eq!(call(&registry, "there", "[]").await.unwrap_err().code, ErrorCode::InvalidArguments);
    assert_eq!(call(&registry, "here", r#"{"n":"x"}"#).await.unwrap_err().code, ErrorCode::InvalidArguments);
    assert_eq!(whole(call(&registry, "here", "{}").await)["arguments"], json!({"n": 7}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_offer_is_published_at_once() {
    let server = Server::offering(tools(&["one"]));
    let registry = Arc::new(registry_of(&[Arc::clone(&server)], fixed(vec![far("up", 0)])));
    registry.refresh().await;
    let (mut lists, mut updates) = (registry.feed().lists(), registry.feed().resources());
    let before = *lists.borrow_and_update();
    let following = Arc::clone(&registry);
    let follower = tokio::spawn(async move { following.follow().await });
    server.offer(Offer { prompts: vec![prompt("p")], ..tools(&["one"]) });
    tokio::time::timeout(DEADLINE, lists.changed()).await.unwrap().unwrap();
    let after = *lists.borrow_and_update();
    assert_eq!((after.tools - before.tools, after.prompts - before.prompts), (0, 1));
    assert!(registry.snapshot().prompt("p").is_some());
    server.tell(Changed::Resource { uri: "docs://a".into(), conversation: None });
    assert_eq!(&*tokio::time::timeout(DEADLINE, updates.recv()).await.unwrap().unwrap().uri, "docs://a");
    follower.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_told_with_both() {
    let offer =
        || Offer { prompts: vec![prompt("p")], resources: vec![resource("docs://a")], ..Offer::default() };
    let one = Server::offering(Offer { tools: tools(&["a", "b"]).tools, ..offer() });
    let two = Server::offering(Offer { tools: tools(&["B", "c", "up1"]).tools, ..offer() });
    let registry = registry_of(&[one, two], fixed(vec![far("up1", 0), far("up2", 1), tool("a", "ours")]));
    registry.refresh().await;
    assert_eq!(names(&registry), ["a", "b", "c"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.find("a").unwrap().description.as_deref(), Some("ours"));
    assert_eq!(snapshot.entry("b").unwrap().origin, "up1");
    let told: Vec<_> = problems(&registry).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "error in up1: the tool \"a\" is left out: the definition \"a\" (fixed) has that name; set far.prefix in \"up1\"",
            "error in up2: the tool \"B\" is left out: the upstream \"up1\" has that name; set far.prefix in \"up2\"",
            "error in up2: the tool \"up1\" is left out: the definition \"up1\" (fixed) has that name; set far.prefix in \"up2\"",
            "error in up2: the prompt \"p\" is left out: the upstream \"up1\" has that name; set far.prefix in \"up2\"",
            "warning in up2: \"docs://a\" is served by the upstream \"up1\", which has that URI too; this one is left out",
        ]
    );
    assert_eq!(snapshot.entry("up2").unwrap().state(), "live");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_names_that_are_taken_are_told_in_short() {
    let many: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let servers = [Server::offering(tools(&many)), Server::offering(tools(&many))];
    let registry = registry_of(&servers, fixed(vec![far("up1", 0), far("up2", 1)]));
    registry.refresh().await;
    let told = problems(&registry);
    assert_eq!(told.len(), 21);
    assert_eq!(told[20].message, "30 more like these");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_clients_would_drop_is_told_instead() {
    let header = json!({"name": "header", "inputSchema": {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}});
    let schema =
        json!({"name": "schema", "inputSchema": {"type": "object", "properties": {"n": {"type": "nope"}}}});
    let schema = OfferedTool { arguments: ArgumentCheck::Here, ..offered(schema) };
    let good = json!({"name": "good", "inputSchema": {"type": "object", "properties": {"n": {"type": "string", "x-mcp-header": "N"}}}});
    let server =
        Server::offering(Offer { tools: vec![offered(header), schema, offered(good)], ..Offer::default() });
    let registry = registry_of(&[server], fixed(vec![far("up", 0)]));
    registry.refresh().await;
    assert_eq!(names(&registry), ["good"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.find("good").unwrap().header_params[0].header, "N");
    for (name, place) in
        [("header", "/inputSchema/properties/n/x-mcp-header"), ("schema", "/inputSchema/properties/n/type")]
    {
        let entry = snapshot.entry(name).unwrap();
        assert_eq!((entry.state(), entry.problems[0].pointer.as_str()), ("broken", place));
        assert_eq!(entry.problems[0].origin.as_deref(), Some("up"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upstreams_are_waited_for_until_each_has_offered_something_or_failed() {
    let (one, two) = (Server::connecting(), Server::connecting());
    let servers = [Arc::clone(&one), Arc::clone(&two)];
    let registry = registry_of(&servers, fixed(vec![far("up1", 0), far("up2", 1)]));
    registry.refresh().await;
    let connecting = || registry.snapshot().upstreams_that_are(UpstreamState::Connecting);
    one.offer(tools(&["one"]));
    registry.intake().await_upstreams(Duration::from_millis(1)).await;
    assert_eq!((connecting(), names(&registry)), (1, vec!["one".to_owned()]));
    let waited = registry.intake().await_upstreams(DEADLINE * 10);
    let waited = async { tokio::join!(waited, async { two.fail(Some("connection refused")) }) };
    tokio::time::timeout(DEADLINE, waited).await.unwrap();
    assert_eq!((connecting(), registry.snapshot().upstreams_that_are(UpstreamState::Failing)), (0, 1));
    assert_eq!(problems(&registry).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_upstream_is_told_and_keeps_what_it_offers() {
    let server = Server::offering(tools(&["one"]));
    let registry = registry_of(&[Arc::clone(&server)], fixed(vec![far("up", 0)]));
    registry.refresh().await;
    server.fail(Some("connection refused"));
    registry.refresh().await;
    assert_eq!(names(&registry), ["one"]);
    let told = problems(&registry);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].severity, told[0].origin.as_deref()), (Severity::Warning, Some("fixed")));
    assert_eq!(told[0].to_string(), "warning in up: the upstream fails: connection refused");
    assert_eq!(registry.snapshot().upstreams[0].failure.as_deref(), Some("connection refused"));
    assert_eq!(registry.snapshot().entry("up").unwrap().problems, told);
    server.fail(None);
    registry.refresh().await;
    assert_eq!(problems(&registry), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_definition_keeps_its_connection_and_a_removed_one_loses_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |documents: Value| fs::write(folder.path().join("a.json"), documents.to_string()).unwrap();
    let server = Server::offering(tools(&["one"]));
    let registry = registry_of(&[Arc::clone(&server)], files(folder.path()));
    let mut off = far("up", 0);
    off["enabled"] = false.into();
    let steps = [
        (json!([far("up", 0)]), (1, 1), 1),
        (json!([tool("a", "d"), far("up", 0)]), (1, 1), 2),
        (json!([tool("a", "d"), {"name": "up", "far": {"serv": 0}}]), (1, 1), 2),
        (json!([tool("a", "d"), far("up", 0)]), (1, 1), 2),
        (json!([off]), (1, 0), 0),
        (json!([far("up", 0)]), (2, 1), 1),
        (json!([tool("a", "d")]), (2, 0), 1),
    ];
    for (documents, counts, tools) in steps {
        write(documents.clone());
        registry.refresh().await;
        assert_eq!((server.counts(), names(&registry).len()), (counts, tools), "{documents}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_another_source_replaces_loses_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let mut sources = files(folder.path());
    sources.extend(fixed(vec![far("up", 0)]));
    let server = Server::offering(tools(&["one"]));
    let registry = registry_of(&[Arc::clone(&server)], sources);
    registry.refresh().await;
    assert_eq!((server.counts(), names(&registry)), ((1, 1), vec!["one".to_owned()]));
    fs::write(folder.path().join("a.json"), tool("up", "d").to_string()).unwrap();
    registry.refresh().await;
    assert_eq!((server.counts(), names(&registry)), ((1, 0), vec!["up".to_owned()]));
    fs::remove_file(folder.path().join("a.json")).unwrap();
    registry.refresh().await;
    assert_eq!((server.counts(), names(&registry)), ((2, 1), vec!["one".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_did_not_change_are_not_made_again() {
    let executor = plain("one").executor;
    let with = |entry: Value| OfferedTool { executor: Arc::clone(&executor), ..offered(entry) };
    let one = json!({"name": "one", "inputSchema": {"type": "object"}});
    let two = |text: &str| json!({"name": "two", "description": text, "inputSchema": {"type": "object"}});
    let server =
        Server::offering(Offer { tools: vec![with(one.clone()), with(two("a"))], ..Offer::default() });
    let registry = registry_of(&[Arc::clone(&server)], fixed(vec![far("up", 0)]));
    registry.refresh().await;
    let before = registry.snapshot();
    server.offer(Offer { tools: vec![with(one), with(two("b"))], ..Offer::default() });
    registry.refresh().await;
    let after = registry.snapshot();
    assert!(Arc::ptr_eq(before.find("one").unwrap(), after.find("one").unwrap()));
    assert_eq!(after.find("two").unwrap().description.as_deref(), Some("b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn native_tools_come_after_files_and_before_the_demonstration() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), tool("filed", "from the file").to_string()).unwrap();
    let mut sources = files(folder.path());
    sources.push(Arc::new(FixedSource::new(SourceId::Demo, "demo", vec![tool("shown", "from the demo")])));
    let server = Server::offering(tools(&["filed", "shown", "mine"]));
    let registry =
        builder_of(&[], sources).with_natives(vec![("my tools".into(), Connection::to(&server))]).build();
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let sources: Vec<_> =
        snapshot.entries().map(|entry| (entry.name.as_str(), entry.source.word())).collect();
    assert_eq!(sources, [("filed", "files"), ("mine", "native"), ("shown", "native")]);
    assert_eq!(&*snapshot.find("mine").unwrap().kind, "native");
    let told: Vec<_> = snapshot.problems().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "error in my tools: the tool \"filed\" is left out: the definition \"filed\" (a.json) has that name; rename one of them"
        ]
    );
    let Payload::Whole(_) = call(&registry, "mine", "{}").await.unwrap().payload else { unreachable!() };
}

#[tokio::test(flavor = "multi_thread")]
async fn native_tools_need_no_source() {
    let server = Server::offering(tools(&["mine"]));
    let registry =
        builder_of(&[], Vec::new()).with_natives(vec![("my".into(), Connection::to(&server))]).build();
    registry.refresh().await;
    assert_eq!(names(&registry), ["mine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn native_tools_of_which_there_are_none_have_no_status() {
    let (none, some) = (Server::offering(tools(&[])), Server::offering(tools(&["mine"])));
    let registry = builder_of(&[], Vec::new())
        .with_natives(vec![("none".into(), Connection::to(&none)), ("some".into(), Connection::to(&some))])
        .build();
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let told: Vec<_> = snapshot.upstreams.iter().map(|status| status.name.as_str()).collect();
    assert_eq!(told, ["some"]);
}
