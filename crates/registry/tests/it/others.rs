//! Prompts and resources of definitions: listed, found, read, and their changes told.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Mute, Outcome, Payload, Principal};
use toolrail_registry::{Era, FixedSource, List, Registry, Source, SourceId};

use crate::fake::registry_of;
use crate::support::{files, tool};

pub(crate) fn listed(registry: &Registry, list: List) -> Vec<Value> {
    let snapshot = registry.snapshot();
    let (mut entries, mut after): (Vec<Value>, Option<String>) = (Vec::new(), None);
    loop {
        let page = snapshot.page(list, Era::Modern, after.as_deref());
        entries.extend(serde_json::from_slice::<Vec<Value>>(&page.entries).unwrap());
        after = page.next_after;
        if after.is_none() {
            return entries;
        }
    }
}

fn texts(entries: &[Value], field: &str) -> Vec<String> {
    entries.iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn whole(outcome: Outcome) -> Value {
    let Payload::Whole(json) = outcome.unwrap().payload else { unreachable!() };
    json.to_value()
}

pub(crate) fn fixed(documents: Vec<Value>) -> Vec<Arc<dyn Source>> {
    vec![Arc::new(FixedSource::new(SourceId::Demo, "fixed", documents))]
}

fn note(name: &str, block: Value) -> Value {
    json!({"name": name, "note": block})
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_are_listed_and_found() {
    let mut documents: Vec<_> = (0..5).map(|number| note(&format!("p{number}"), json!({}))).collect();
    documents.push(note("r", json!({"uri": "docs://b"})));
    documents.push(note("s", json!({"uri": "docs://a"})));
    documents.push(note("t", json!({"template": "docs://pages/{page}"})));
    documents.push(tool("a", "d"));
    let registry = registry_of(&[], fixed(documents));
    registry.refresh().await;
    assert_eq!(texts(&listed(&registry, List::Prompts), "name"), ["p0", "p1", "p2", "p3", "p4"]);
    assert_eq!(texts(&listed(&registry, List::Resources), "uri"), ["docs://a", "docs://b"]);
    assert_eq!(texts(&listed(&registry, List::Templates), "uri"), ["docs://pages/{page}"]);
    assert_eq!(texts(&listed(&registry, List::Tools), "name"), ["a"]);
    let snapshot = registry.snapshot();
    assert!(snapshot.prompt("p3").is_some() && snapshot.prompt("r").is_none());
    assert!(snapshot.find("p3").is_none(), "a prompt is no tool");
    assert_eq!(snapshot.resource("docs://a").unwrap().mime.as_deref(), Some("text/plain"));
    assert!(snapshot.template("docs://pages/{page}").is_some());
    assert!(snapshot.resource("docs://nowhere").is_none());
    assert_eq!(snapshot.entry("P0").unwrap().state(), "live");
    assert_eq!(snapshot.problems().count(), 0, "{:?}", snapshot.problems().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_is_read_by_its_template_with_its_variables() {
    let documents = vec![
        note("all", json!({"template": "docs://{+rest}"})),
        note("one", json!({"uri": "docs://pages/start"})),
        note("page", json!({"template": "docs://pages/{page}"})),
    ];
    let registry = registry_of(&[], fixed(documents));
    registry.refresh().await;
    let read = async |uri: &str| {
        let snapshot = registry.snapshot();
        let resource = snapshot.resource(uri).unwrap();
        whole(resource.read(uri, &Principal::Anonymous, &Mute).await)
    };
    assert_eq!(read("docs://pages/start").await["arguments"], json!({}), "the URI itself goes first");
    let page = read("docs://pages/a%20b").await;
    assert_eq!(page, json!({"tool": "docs://pages/a%20b", "arguments": {"page": "a b"}, "raw": null}));
    assert_eq!(read("docs://x/y").await["arguments"], json!({"rest": "x/y"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_gets_its_arguments_and_a_wrong_form_is_refused() {
    let registry = registry_of(&[], fixed(vec![note("p", json!({}))]));
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let get = async |arguments: &str| {
        let raw = serde_json::from_str(arguments).unwrap();
        snapshot.prompt("p").unwrap().get(Some(raw), &Principal::Anonymous, &Mute).await
    };
    assert_eq!(whole(get(r#"{"a":"1"}"#).await)["arguments"], json!({"a": "1"}));
    assert_eq!(get("[1]").await.unwrap_err().rpc.unwrap().code, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_tools_are_refused_where_they_have_no_effect() {
    let registry = registry_of(&[], Vec::new());
    let document = json!({
        "name": "p", "note": {}, "inputSchema": {"type": "object"}, "outputSchema": {}, "annotations": {},
        "deferLoading": true, "tags": ["a"], "category": "c"
    });
    let told: Vec<_> = registry.intake().check(&document).iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 6, "{told:#?}");
    assert!(told[0].contains("at /inputSchema: has no effect here: \"note\" makes a prompt, not a tool"));
    assert_eq!(registry.intake().check(&note("p", json!({}))), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_that_is_taken_is_told() {
    let documents =
        vec![note("one", json!({"uri": "docs://a"})), note("two", json!({"uri": "docs://a", "text": "2"}))];
    let registry = registry_of(&[], fixed(documents));
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let problem = snapshot.problems().next().unwrap();
    assert_eq!(problem.tool.as_deref(), Some("two"));
    assert!(problem.message.contains("the definition \"one\" (fixed) has that URI"), "{problem}");
}

fn write(folder: &Path, documents: &Value) {
    fs::write(folder.join("all.json"), documents.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_lists_that_look_otherwise_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let text = |text: &str| note("r", json!({"uri": "docs://a", "text": text}));
    write(folder.path(), &json!([tool("a", "d"), note("p", json!({})), text("one")]));
    let registry = registry_of(&[], files(folder.path()));
    registry.refresh().await;
    let mut updates = registry.feed().resources();
    let mut told = *registry.feed().lists().borrow();
    assert_eq!((told.tools, told.prompts, told.resources), (1, 1, 1));
    let mut off = tool("a", "d");
    off["enabled"] = false.into();
    let steps = [
        (json!([tool("a", "d"), note("p", json!({})), text("two")]), (0, 0, 0)),
        (json!([tool("a", "new"), note("p", json!({})), text("two")]), (1, 0, 0)),
        (json!([note("p", json!({})), text("two"), tool("a", "new")]), (0, 0, 0)),
        (json!([off, note("p", json!({})), text("two")]), (1, 0, 0)),
        (json!([off, note("q", json!({})), text("two")]), (0, 1, 0)),
        (json!([off, note("q", json!({})), note("t", json!({"template": "docs://{a}"}))]), (0, 0, 1)),
    ];
    for (documents, expected) in steps {
        write(folder.path(), &documents);
        registry.refresh().await;
        let now = *registry.feed().lists().borrow();
        let changed = (now.tools - told.tools, now.prompts - told.prompts, now.resources - told.resources);
        assert_eq!(changed, expected, "{documents}");
        told = now;
    }
    assert_eq!(&*updates.try_recv().unwrap().uri, "docs://a", "its text changed");
    assert!(updates.try_recv().is_err(), "once");
}
