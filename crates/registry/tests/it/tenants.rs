//! Tenants: each sees its own definitions over the shared ones.

use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Changed, DefinitionForm, Mute, Offer, Principal};
use toolrail_registry::{Compiler, Era, List, Registry, RegistryLimits, Snapshot, StoreSource};

use crate::fake::{Far, Note, Server, far, prompt, resource, tools};
use crate::rows::{Rows, of, purge, put, switch};
use crate::support::{Echo, tool};

struct Fixture {
    rows: Arc<Rows>,
    registry: Registry,
}

fn fixture(servers: &[Arc<Server>]) -> Fixture {
    let rows = Arc::new(Rows::default());
    let kinds = DefinitionForm::new(vec![Arc::new(Echo), Arc::new(Note), Arc::new(Far(servers.to_vec()))]);
    let compiler = Compiler::new(kinds, Box::new(|_, executor| executor));
    let limits = RegistryLimits { page_tools: 3, ..RegistryLimits::default() };
    let source = Arc::new(StoreSource::new(rows.clone()));
    let registry = Registry::new(compiler, rows.clone(), vec![source], limits);
    Fixture { rows, registry }
}

fn described(name: &str, text: &str) -> toolrail_core::Change {
    put(name, &tool(name, text).to_string())
}

/// Names and descriptions over all pages.
fn listed(snapshot: &Snapshot) -> Vec<String> {
    let (mut all, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let page = snapshot.page(List::Tools, Era::Modern, after.as_deref());
        let entries: Vec<Value> = serde_json::from_slice(&page.entries).unwrap();
        let told = |entry: &Value| {
            format!("{} {}", entry["name"].as_str().unwrap(), entry["description"].as_str().unwrap_or("-"))
        };
        all.extend(entries.iter().map(told));
        after = page.next_after;
        if after.is_none() {
            return all;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_its_own_tools_over_the_shared_ones() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&["a", "b", "c", "d"].map(|name| described(name, "shared")));
    rows.commit(&[of("acme", described("B", "own")), of("acme", described("x", "own"))]);
    rows.commit(&[
        of("acme", described("c", "own")),
        of("acme", switch("c", false)),
        of("acme", put("d", "{")),
    ]);
    rows.commit(&[of("other", described("y", "own"))]);
    registry.refresh().await;
    let acme = registry.catalogue(Some("acme"));
    assert_eq!(listed(&acme), ["a shared", "B own", "x own"]);
    assert_eq!(
        (acme.tool_count(), acme.tools().len(), acme.tenant().map(|tenant| &**tenant)),
        (3, 3, Some("acme"))
    );
    assert!(acme.find("c").is_none(), "switched off, it hides the shared one");
    assert!(acme.find("d").is_none(), "broken, it hides the shared one");
    assert_eq!(acme.find("b").unwrap().tenant.as_deref(), Some("acme"));
    assert_eq!(acme.entry("a").unwrap().tenant, None);
    assert_eq!(
        acme.entries().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
        ["a", "B", "c", "d", "x"]
    );
    let shared = registry.catalogue(None);
    assert_eq!(listed(&shared), ["a shared", "b shared", "c shared", "d shared"]);
    assert_eq!((shared.tool_count(), shared.problems().count()), (4, 0));
    assert!(Arc::ptr_eq(&registry.catalogue(Some("unknown")), &registry.snapshot()));
    assert!(Arc::ptr_eq(&registry.catalogue(Some("acme")), &acme), "made once");
    assert_eq!(registry.snapshot().all_entries().count(), 9);
    assert_eq!(registry.snapshot().all_problems().count(), 1);
    assert_eq!(registry.snapshot().tenants().map(|tenant| &**tenant).collect::<Vec<_>>(), ["acme", "other"]);

    rows.commit(&["B", "x", "c", "d"].map(|name| of("acme", purge(name))));
    registry.refresh().await;
    assert_eq!(listed(&registry.catalogue(Some("acme"))), ["a shared", "b shared", "c shared", "d shared"]);
    assert_eq!(registry.snapshot().tenants().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_belongs_to_its_tenant() {
    let server = Server::offering(tools(&["one", "two"]));
    let Fixture { rows, registry } = fixture(&[Arc::clone(&server), Server::offering(tools(&["far"]))]);
    rows.commit(&[described("one", "shared"), of("acme", put("up", &far("up", 0).to_string()))]);
    rows.commit(&[put("shared-up", &far("shared-up", 1).to_string())]);
    registry.refresh().await;
    assert_eq!(listed(&registry.snapshot()), ["far -", "one shared"]);
    let acme = registry.catalogue(Some("acme"));
    assert_eq!(listed(&acme), ["far -", "one -", "two -"], "what its server offers is its own");
    assert_eq!((acme.upstreams.len(), registry.snapshot().upstreams.len()), (2, 1));
    assert_eq!(registry.snapshot().all_upstreams().len(), 2);
    drop(acme);
    // A definition of the same name hides a shared server with all that it offers.
    rows.commit(&[of("acme", described("shared-up", "own")), of("acme", purge("up"))]);
    registry.refresh().await;
    assert_eq!(listed(&registry.catalogue(Some("acme"))), ["one shared", "shared-up own"]);
    assert_eq!(server.counts().1, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_of_a_tenant_hide_the_shared_ones() {
    let Fixture { rows, registry } = fixture(&[]);
    let note = |name: &str, block: Value| put(name, &json!({"name": name, "note": block}).to_string());
    rows.commit(&[note("p", json!({})), note("q", json!({})), note("r", json!({"uri": "docs://r"}))]);
    rows.commit(&[of("acme", note("p", json!({}))), of("acme", switch("p", false))]);
    rows.commit(&[
        of("acme", note("own", json!({"uri": "docs://own"}))),
        of("acme", described("r", "a tool")),
    ]);
    registry.refresh().await;
    let acme = registry.catalogue(Some("acme"));
    assert!(acme.prompt("p").is_none() && acme.prompt("q").is_some());
    assert!(acme.resource("docs://own").is_some() && acme.resource("docs://r").is_none());
    let shared = registry.snapshot();
    assert!(shared.prompt("p").is_some() && shared.resource("docs://r").is_some());
    assert!(shared.resource("docs://own").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_at_the_server_of_one_tenant_concerns_no_other() {
    let offers =
        || Offer { resources: vec![resource("docs://a")], prompts: vec![prompt("p")], ..Offer::default() };
    let [own, others, shared] = [(); 3].map(|()| Server::offering(offers()));
    let Fixture { rows, registry } = fixture(&[Arc::clone(&own), Arc::clone(&others), Arc::clone(&shared)]);
    rows.commit(&[of("acme", put("up", &far("up", 0).to_string())), put("all", &far("all", 2).to_string())]);
    rows.commit(&[of("other", put("up", &far("up", 1).to_string()))]);
    registry.refresh().await;
    let seen = |tenant: Option<&str>| registry.catalogue(tenant);
    let mut updates = registry.feed().resources();
    for (server, uri, wanted) in [
        (&own, "docs://a", [true, false, false]),
        (&others, "docs://a", [false, true, false]),
        // Tenants have that URI themselves.
        (&shared, "docs://a", [false, false, true]),
        (&own, "docs://linked", [true, false, false]),
        (&shared, "docs://linked", [true, true, true]),
    ] {
        server.tell(Changed::Resource { uri: uri.to_owned(), conversation: None });
        let updated = updates.try_recv().unwrap();
        let heard = [Some("acme"), Some("other"), None].map(|tenant| seen(tenant).shows_update(&updated));
        assert_eq!(heard, wanted, "{uri}");
    }
    let marks = |tenant| (seen(tenant).prompts_mark(), seen(tenant).resources_mark());
    let before = [Some("acme"), Some("other"), None].map(marks);
    others.offer(Offer { resources: vec![resource("docs://b")], ..Offer::default() });
    registry.refresh().await;
    let after = [Some("acme"), Some("other"), None].map(marks);
    assert_eq!((before[0], before[2]), (after[0], after[2]));
    assert_ne!(before[1], after[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_nobody_lists_is_sought_where_others_of_its_scheme_are() {
    let lists = |uri: &str| Server::offering(Offer { resources: vec![resource(uri)], ..Offer::default() });
    let Fixture { rows, registry } = fixture(&[lists("docs://a"), lists("wiki://a"), lists("docs://b")]);
    rows.commit(&[put("one", &far("one", 0).to_string()), put("two", &far("two", 1).to_string())]);
    rows.commit(&[of("acme", put("three", &far("three", 2).to_string()))]);
    registry.refresh().await;
    let sought = |tenant: Option<&str>, uri: &str| registry.catalogue(tenant).unlisted(uri).len();
    assert_eq!((sought(None, "docs://linked"), sought(Some("acme"), "docs://linked")), (1, 2));
    assert_eq!((sought(None, "other://x"), sought(Some("acme"), "other://x")), (2, 3));
    assert_eq!(sought(None, "no scheme"), 0);
    assert!(
        registry.snapshot().watch("docs://linked", &Principal::Anonymous, &Mute).await.unwrap().is_some()
    );
}

/// R75, per tenant.
#[tokio::test(flavor = "multi_thread")]
async fn uses_are_counted_for_each_tenant() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&[described("a", "shared"), of("acme", described("a", "own"))]);
    registry.refresh().await;
    for tenant in [None, Some("acme"), Some("acme"), Some("unknown")] {
        let snapshot = registry.catalogue(tenant);
        snapshot.find("a").unwrap().call(None, &Principal::Anonymous, &Mute).await.unwrap();
    }
    registry.usage().record_uses().await;
    assert_eq!(rows.uses(), [(None, "a".into(), 2), (Some("acme".into()), "a".into(), 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_of_many_tenants_are_told_apart() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&[described("t", "shared")]);
    let names: Vec<String> = (0..400).map(|number| format!("tenant{number}")).collect();
    rows.commit(&names.iter().map(|name| of(name, described("t", name))).collect::<Vec<_>>());
    registry.refresh().await;
    for _ in 0..2 {
        for name in &names {
            let seen = registry.catalogue(Some(name.as_str()));
            assert_eq!(listed(&seen), [format!("t {name}")]);
        }
    }
}
