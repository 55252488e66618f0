//! Endpoints: what a group has, and what of it is listed.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{Compiled, Definition, DefinitionForm, Kind, METADATA, Made, Problems};
use toolrail_registry::{
    Choice, Compiler, Endpoint, Era, FixedSource, List, ListingMode, Registry, RegistryLimits, Snapshot,
    SourceId, StoreSource,
};

use crate::rows::{Rows, of, put, switch};
use crate::support::{Echo, no_rows, tool};

/// What is only described.
struct Elsewhere;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl Kind for Elsewhere {
    const NAME: &'static str = METADATA;
    type Settings = Nothing;

    fn compile(&self, _: Nothing, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let made = Made::Tool(Arc::new(Echo));
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: true, needs: Vec::new() })
    }
}

fn compiler() -> Compiler {
    let kinds = DefinitionForm::new(vec![Arc::new(Echo), Arc::new(Elsewhere)]);
    Compiler::new(kinds, Box::new(|_, executor| executor))
}

async fn registry(documents: Vec<Value>) -> Registry {
    let limits = RegistryLimits { page_tools: 2, ..RegistryLimits::default() };
    let source = Arc::new(FixedSource::new(SourceId::Files, "fixed", documents));
    let registry = Registry::new(compiler(), no_rows(), vec![source], limits);
    registry.refresh().await;
    registry
}

fn with(name: &str, more: &Value) -> Value {
    let mut definition = tool(name, "does something");
    for (key, value) in more.as_object().unwrap() {
        definition[key] = value.clone();
    }
    definition
}

fn described(name: &str) -> Value {
    json!({"name": name, "description": "lives elsewhere", "type": METADATA, "metadata": {}})
}

fn listing(mode: ListingMode) -> Endpoint {
    Endpoint { mode, ..Endpoint::default() }
}

fn group(choice: Choice) -> Arc<Endpoint> {
    Arc::new(Endpoint { group: Some("g".into()), choice: Some(choice), ..Endpoint::default() })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The names on all pages.
fn listed(snapshot: &Snapshot) -> Vec<String> {
    let (mut all, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let page = snapshot.page(List::Tools, Era::Legacy, after.as_deref());
        let entries: Vec<Value> = serde_json::from_slice(&page.entries).unwrap();
        assert!(entries.len() <= 2, "a page has two at most");
        all.extend(entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()));
        after = page.next_after;
        if after.is_none() {
            return all;
        }
    }
}

fn counts(snapshot: &Snapshot) -> (usize, usize, usize) {
    let listing = snapshot.listing();
    assert_eq!(listing.listed, snapshot.listed_tools().count());
    (listing.total, listing.listed, listing.hidden())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_has_what_fits_any_of_its_choices() {
    let registry = registry(vec![
        tool("by.name", "d"),
        with("by.tag", &json!({"tags": ["Blue"]})),
        with("by.category", &json!({"category": "Weather"})),
        tool("git.star", "d"),
        tool("other", "d"),
    ])
    .await;
    let check = |choice: Choice, expected: &[&str]| {
        let snapshot = registry.catalogue_at(None, &group(choice));
        assert_eq!(listed(&snapshot), expected);
        assert_eq!(snapshot.tools().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!((snapshot.tool_count(), snapshot.entries().count()), (expected.len(), expected.len()));
        assert!(expected.iter().all(|name| snapshot.find(name).is_some() && snapshot.entry(name).is_some()));
        assert!(snapshot.find("other").is_none() && snapshot.entry("other").is_none());
    };
    check(Choice::default().with_names(&words(&["BY.name", "absent"])), &["by.name"]);
    check(Choice::default().with_tags(&words(&["blue"])), &["by.tag"]);
    check(Choice::default().with_categories(&words(&["WEATHER"])), &["by.category"]);
    check(Choice::default().with_patterns(&words(&["git.*", "by.n?me"])), &["by.name", "git.star"]);
    check(
        Choice::default().with_tags(&words(&["BLUE"])).with_patterns(&words(&["g*"])),
        &["by.tag", "git.star"],
    );
    check(Choice::default(), &[]);
    let main = registry.catalogue_at(None, registry.endpoints().main());
    assert_eq!((main.tool_count(), main.find("other").is_some()), (5, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_made_once_for_a_snapshot() {
    let registry = registry(vec![tool("a", "d")]).await;
    let (one, another) = (group(Choice::default()), group(Choice::default()));
    let first = registry.catalogue_at(None, &one);
    assert!(Arc::ptr_eq(&first, &registry.catalogue_at(None, &one)));
    assert!(Arc::ptr_eq(&first, &registry.catalogue_at(Some("nobody"), &one)), "it has nothing of its own");
    assert!(!Arc::ptr_eq(&first, &registry.catalogue_at(None, &another)));
    assert!(first.endpoint().is_some_and(|endpoint| Arc::ptr_eq(endpoint, &one)));
}

#[tokio::test(flavor = "multi_thread")]
async fn search_lists_what_is_pinned_or_asks_for_it_and_hides_the_rest() {
    let registry = registry(vec![
        tool("a", "d"),
        with("b", &json!({"deferLoading": false})),
        with("c", &json!({"deferLoading": true})),
        tool("d", "d"),
        described("e"),
    ])
    .await;
    let at = |endpoint: Endpoint| registry.catalogue_at(None, &Arc::new(endpoint));
    let plain = at(listing(ListingMode::Search));
    assert_eq!((listed(&plain), counts(&plain)), (words(&["b"]), (4, 1, 3)));
    assert!(plain.find("a").is_some(), "what is hidden can be called");
    let pinned = ["D", "c", "b", "e", "gone"].into_iter().collect();
    let pinned = at(Endpoint { pinned, ..listing(ListingMode::Search) });
    assert_eq!((listed(&pinned), counts(&pinned)), (words(&["b", "c", "d"]), (4, 3, 1)));
    assert_eq!(pinned.listing().described, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pinned_tools_are_looked_at_where_no_other_is_listed() {
    let registry = registry(["a", "b", "c", "d", "e"].map(|name| tool(name, "d")).to_vec()).await;
    let pinned = ["e", "A", "c"].into_iter().collect();
    let endpoint = Arc::new(Endpoint { pinned, ..listing(ListingMode::Search) });
    let snapshot = registry.catalogue_at(None, &endpoint);
    assert_eq!((listed(&snapshot), counts(&snapshot)), (words(&["a", "c", "e"]), (5, 3, 2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_lists_everything_that_can_be_called() {
    let registry =
        registry(vec![tool("a", "d"), with("b", &json!({"deferLoading": true})), described("c")]).await;
    let snapshot = registry.catalogue_at(None, registry.endpoints().main());
    assert_eq!((listed(&snapshot), counts(&snapshot)), (words(&["a", "b"]), (2, 2, 0)));
    assert!(snapshot.find("c").is_some(), "what is described is found");
    assert_eq!(listed(&registry.snapshot()), ["a", "b", "c"], "where everything is shown, so is that");
}

#[tokio::test(flavor = "multi_thread")]
async fn auto_turns_to_the_search_above_its_threshold() {
    let rows = Arc::new(Rows::default());
    let source = Arc::new(StoreSource::new(rows.clone()));
    let limits = RegistryLimits { page_tools: 2, ..RegistryLimits::default() };
    let registry = Registry::new(compiler(), rows.clone(), vec![source], limits);
    let write = |definition: Value| put(definition["name"].as_str().unwrap(), &definition.to_string());
    rows.commit(&[
        write(tool("a", "d")),
        write(tool("b", "d")),
        write(with("late", &json!({"deferLoading": true}))),
        write(with("soon", &json!({"deferLoading": false}))),
    ]);
    registry.refresh().await;
    let endpoint = Arc::new(Endpoint { threshold: 3, ..listing(ListingMode::Auto) });
    let few = registry.catalogue_at(None, &endpoint);
    assert_eq!((listed(&few), counts(&few)), (words(&["a", "b", "soon"]), (4, 3, 1)));
    let feed = registry.feed().lists();
    rows.commit(&[write(tool("c", "d"))]);
    registry.refresh().await;
    let many = registry.catalogue_at(None, &endpoint);
    assert_eq!((listed(&many), counts(&many)), (words(&["soon"]), (5, 1, 4)));
    assert!(feed.has_changed().unwrap(), "whoever lists is told");
    rows.commit(&[switch("a", false), switch("soon", false)]);
    registry.refresh().await;
    let few = registry.catalogue_at(None, &endpoint);
    assert_eq!((listed(&few), counts(&few)), (words(&["b", "c"]), (3, 2, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_a_group_of_its_own_tools_over_the_shared_ones() {
    let rows = Arc::new(Rows::default());
    let source = Arc::new(StoreSource::new(rows.clone()));
    let registry = Registry::new(compiler(), rows.clone(), vec![source], RegistryLimits::default());
    let write = |definition: Value| put(definition["name"].as_str().unwrap(), &definition.to_string());
    rows.commit(&[write(tool("git.a", "d")), write(tool("git.b", "d")), write(tool("x", "d"))]);
    rows.commit(&[
        of("acme", write(with("git.c", &json!({"deferLoading": true})))),
        of("acme", write(tool("git.b", "own"))),
        of("acme", write(tool("y", "d"))),
    ]);
    registry.refresh().await;
    let choice = Choice::default().with_patterns(&words(&["git.*"]));
    let endpoint =
        Arc::new(Endpoint { choice: Some(choice), group: Some("git".into()), ..listing(ListingMode::Auto) });
    let acme = registry.catalogue_at(Some("acme"), &endpoint);
    assert_eq!((acme.tool_count(), counts(&acme)), (3, (3, 2, 1)));
    assert_eq!(acme.find("git.b").unwrap().tenant.as_deref(), Some("acme"));
    assert!(acme.find("x").is_none() && acme.find("y").is_none());
    assert_eq!(registry.catalogue_at(None, &endpoint).tool_count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_stays_good_when_other_tools_are_listed() {
    let registry = registry(["a", "b", "c", "d"].map(|name| tool(name, "d")).to_vec()).await;
    let full = registry.catalogue_at(None, registry.endpoints().main());
    let after = full.page(List::Tools, Era::Modern, None).next_after.unwrap();
    assert_eq!(after, "b");
    let pinned = ["a", "d"].into_iter().collect();
    let few = registry.catalogue_at(None, &Arc::new(Endpoint { pinned, ..listing(ListingMode::Search) }));
    let page = few.page(List::Tools, Era::Modern, Some(&after));
    let entries: Vec<Value> = serde_json::from_slice(&page.entries).unwrap();
    assert_eq!((entries.len(), &entries[0]["name"]), (1, &json!("d")));
}

/// Nobody is told of a change in what he is not shown.
#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_a_list_changes_with_what_is_shown_only() {
    let rows = Arc::new(Rows::default());
    let source = Arc::new(StoreSource::new(rows.clone()));
    let registry = Registry::new(compiler(), rows.clone(), vec![source], RegistryLimits::default());
    let write = |definition: Value| put(definition["name"].as_str().unwrap(), &definition.to_string());
    rows.commit(&[write(tool("git.a", "d")), write(tool("b", "d"))]);
    registry.refresh().await;
    let git = group(Choice::default().with_patterns(&words(&["git.*"])));
    let [all, hidden] = [ListingMode::Full, ListingMode::Search].map(|mode| Arc::new(listing(mode)));
    let changes = [
        (write(tool("c", "d")), [true, true, false, false]),
        (write(tool("git.b", "d")), [true, true, true, false]),
        (write(tool("git.b", "otherwise")), [true, true, true, false]),
        (of("acme", write(tool("own", "d"))), [false, true, false, false]),
        (of("other", write(tool("own", "d"))), [false; 4]),
        (write(described("elsewhere")), [true, true, false, false]),
        (write(with("eager", &json!({"deferLoading": false}))), [true, true, false, true]),
        (switch("git.b", false), [true, true, true, false]),
    ];
    for (number, (change, differs)) in changes.into_iter().enumerate() {
        let marks = || {
            [(None, &all), (Some("acme"), &all), (None, &git), (Some("acme"), &hidden)]
                .map(|(tenant, endpoint)| registry.catalogue_at(tenant, endpoint).tools_mark())
        };
        let before = marks();
        rows.commit(&[change]);
        registry.refresh().await;
        let after = marks();
        let found: Vec<bool> = before.iter().zip(after).map(|(before, after)| *before != after).collect();
        assert_eq!(found, differs, "change {number}");
    }
}
