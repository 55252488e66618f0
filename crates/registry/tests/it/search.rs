//! Searching what somebody sees: whatever is published can be found in the same moment, and nothing else ever is.

use std::sync::Arc;

use serde_json::{Value, json};
use toolrail_core::{Change, DefinitionForm, Mute, Offer, Principal};
use toolrail_registry::{
    Among, Choice, Compiler, Endpoint, Only, Registry, RegistryBuilder, RegistryLimits, SearchAnswer,
    SearchError, SearchMethod, SearchRequest, Snapshot, StoreSource,
};

use crate::fake::{Far, Note, Server, far, offered};
use crate::rows::{Rows, of, purge, put, switch};
use crate::support::{Echo, Metadata, tool};

pub(crate) struct Fixture {
    pub(crate) rows: Arc<Rows>,
    pub(crate) registry: Registry,
}

pub(crate) fn fixture(servers: &[Arc<Server>]) -> Fixture {
    fixture_with(servers, |builder| builder)
}

pub(crate) fn fixture_with(
    servers: &[Arc<Server>],
    more: impl FnOnce(RegistryBuilder) -> RegistryBuilder,
) -> Fixture {
    let rows = Arc::new(Rows::default());
    let kinds: Vec<Arc<dyn toolrail_core::AnyKind>> =
        vec![Arc::new(Echo), Arc::new(Note), Arc::new(Metadata), Arc::new(Far(servers.to_vec()))];
    let compiler = Compiler::new(DefinitionForm::new(kinds), Box::new(|_, executor| executor));
    let source = Arc::new(StoreSource::new(rows.clone()));
    let builder = Registry::builder(compiler, rows.clone(), vec![source], RegistryLimits::default());
    Fixture { rows, registry: more(builder).build() }
}

pub(crate) fn said(name: &str, text: &str) -> Change {
    put(name, &tool(name, text).to_string())
}

pub(crate) fn wanted(query: &str) -> SearchRequest<'_> {
    SearchRequest {
        query,
        method: SearchMethod::Bm25,
        limit: 20,
        among: Among::All,
        only: Only::default(),
        tenant: None,
        conversation: None,
    }
}

async fn answer(registry: &Registry, snapshot: &Snapshot, request: SearchRequest<'_>) -> SearchAnswer {
    registry.finder().search(snapshot, &request).await.unwrap()
}

/// The names of the hits for somebody of that tenant, sorted, as here it only matters what is found.
async fn found(registry: &Registry, tenant: Option<&str>, query: &str) -> Vec<String> {
    let snapshot = registry.catalogue(tenant);
    let SearchAnswer { hits, .. } = answer(registry, &snapshot, wanted(query)).await;
    assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0), "R63");
    assert!(hits.is_sorted_by(|one, another| one.score >= another.score), "R63");
    let mut names: Vec<String> = hits.iter().map(|hit| hit.value.name.to_string()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_are_found_as_soon_as_they_are_published_and_so_is_what_comes_right_after() {
    let Fixture { rows, registry } = fixture(&[]);
    let many: Vec<Change> = (0..1_500).map(|at| said(&format!("other_{at}"), "something else")).collect();
    rows.commit(&many);
    rows.commit(&[said("forecast", "the weather of tomorrow")]);
    registry.refresh().await;
    let older = registry.snapshot();
    rows.commit(&[said("climate", "the weather of this century"), purge("forecast")]);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["climate"]);
    let SearchAnswer { hits, .. } = answer(&registry, &older, wanted("weather")).await;
    assert_eq!(hits.iter().map(|hit| hit.value.name.as_str()).collect::<Vec<_>>(), ["forecast"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_tool_is_found_once_it_is_published() {
    let Fixture { rows, registry } = fixture(&[]);
    registry.refresh().await;
    assert!(found(&registry, None, "weather").await.is_empty());
    rows.commit(&[said("forecast", "the weather of tomorrow"), said("invoice", "bills of a customer")]);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["forecast"]);
    assert_eq!(found(&registry, None, "invoice").await, ["invoice"]);
    let older = registry.snapshot();
    rows.commit(&[purge("forecast")]);
    registry.refresh().await;
    let hits = answer(&registry, &older, wanted("weather")).await.hits;
    assert_eq!(hits.len(), 1, "whoever holds an older snapshot searches that");
    assert!(found(&registry, None, "weather").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_switched_off_or_removed_are_found_no_more() {
    let Fixture { rows, registry } = fixture(&[]);
    let texts = ["a", "b", "c"].map(|name| said(name, "weather"));
    rows.commit(&texts);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["a", "b", "c"]);
    rows.commit(&[switch("a", false), purge("b"), put("c", "{")]);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["c"], "off, gone, and broken: as it last was good");
    rows.commit(&[switch("a", true), purge("c")]);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_definition_is_found_by_its_new_words_only() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&[said("t", "weather")]);
    registry.refresh().await;
    rows.commit(&[said("T", "invoices")]);
    registry.refresh().await;
    assert!(found(&registry, None, "weather").await.is_empty());
    assert_eq!(found(&registry, None, "invoices").await, ["T"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_finds_its_own_over_the_shared_ones_and_nothing_of_others() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&["a", "b", "c"].map(|name| said(name, "public weather")));
    rows.commit(&[
        of("acme", said("B", "private weather")),
        of("acme", said("x", "private weather")),
        of("acme", said("c", "private weather")),
        of("acme", switch("c", false)),
        of("other", said("y", "private weather")),
    ]);
    registry.refresh().await;
    assert_eq!(found(&registry, Some("acme"), "weather").await, ["B", "a", "x"]);
    assert_eq!(found(&registry, Some("acme"), "private").await, ["B", "x"]);
    assert_eq!(found(&registry, Some("acme"), "public").await, ["a"], "what it hides is not found");
    assert_eq!(found(&registry, Some("other"), "weather").await, ["a", "b", "c", "y"]);
    assert_eq!(found(&registry, None, "weather").await, ["a", "b", "c"]);
    assert_eq!(found(&registry, Some("unknown"), "weather").await, ["a", "b", "c"]);
    rows.commit(&["B", "x", "c"].map(|name| of("acme", purge(name))));
    registry.refresh().await;
    assert_eq!(found(&registry, Some("acme"), "weather").await, ["a", "b", "c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_upstream_offers_is_found() {
    let entry = |name: &str, text: &str| {
        offered(json!({"name": name, "description": text, "inputSchema": {"type": "object"}}))
    };
    let server = Server::offering(Offer { tools: vec![entry("one", "weather")], ..Offer::default() });
    let Fixture { rows, registry } = fixture(&[Arc::clone(&server)]);
    rows.commit(&[put("up", &far("up", 0).to_string())]);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["one"]);
    server.offer(Offer { tools: vec![entry("two", "weather")], ..Offer::default() });
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["two"]);
    // A definition of the same name hides a shared server with all that it offers.
    rows.commit(&[of("acme", said("up", "bills"))]);
    registry.refresh().await;
    assert!(found(&registry, Some("acme"), "weather").await.is_empty());
    rows.commit(&[switch("up", false)]);
    registry.refresh().await;
    assert!(found(&registry, None, "weather").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_nothing_else_is_found() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&["git.star", "git.clone", "mail.send"].map(|name| said(name, "weather")));
    rows.commit(&[of("acme", said("git.own", "weather"))]);
    registry.refresh().await;
    let choice = Some(Choice::default().with_patterns(&["git.*".into()]));
    let group = Arc::new(Endpoint { choice, ..Endpoint::default() });
    for (tenant, expected) in [(None, 2), (Some("acme"), 3)] {
        let snapshot = registry.catalogue_at(tenant, &group);
        let hits = answer(&registry, &snapshot, wanted("weather")).await.hits;
        assert_eq!(hits.len(), expected, "{tenant:?}");
        assert!(hits.iter().all(|hit| hit.value.name.as_str().starts_with("git.")));
    }
}

/// R72: what is only described is found all the same.
#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_are_not_found_but_described_tools_are() {
    let Fixture { rows, registry } = fixture(&[]);
    let described = json!({"name": "d", "description": "weather", "metadata": {"mcpServer": "meteo"}});
    rows.commit(&[
        put("p", r#"{"name": "p", "description": "weather", "note": {}}"#),
        put("d", &described.to_string()),
    ]);
    registry.refresh().await;
    assert_eq!(found(&registry, None, "weather").await, ["d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_looked_for_is_refused_with_a_reason() {
    let Fixture { registry, .. } = fixture(&[]);
    registry.refresh().await;
    let long = "长".repeat(32_001);
    let refused = |request: SearchRequest<'static>| {
        let (registry, snapshot) = (&registry, registry.snapshot());
        async move { registry.finder().search(&snapshot, &request).await.err().unwrap().to_string() }
    };
    assert_eq!(refused(wanted(" \n")).await, "the query is empty; say what the tool should do");
    for limit in [0, 101] {
        let told = refused(SearchRequest { limit, ..wanted("a") }).await;
        assert_eq!(told, format!("the limit is {limit}; ask for 1 to 100 tools"));
    }
    let error = registry.finder().search(&registry.snapshot(), &wanted(&long)).await.err().unwrap();
    let told = "the query has 32001 characters; say in at most 32000 what the tool should do";
    assert_eq!(error, SearchError::Query(told.into()));
    let read = registry.finder().search(&registry.snapshot(), &wanted(&long[3..])).await.unwrap();
    assert!(read.notes[0].starts_with("of the 32000 characters of the query"), "characters, not bytes");
    let pattern = SearchRequest { method: SearchMethod::Regex, ..wanted(&long[..3_003]) };
    let error = registry.finder().search(&registry.snapshot(), &pattern).await.err().unwrap();
    let told = "the pattern has 1001 characters; say in at most 1000 what the tool should do";
    assert_eq!(error, SearchError::Query(told.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_without_a_semantic_tier_works_and_says_so() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&[said("a", "weather")]);
    registry.refresh().await;
    let request = SearchRequest { method: SearchMethod::Hybrid, ..wanted("weather") };
    let SearchAnswer { hits, notes } = answer(&registry, &registry.snapshot(), request).await;
    assert_eq!(hits.len(), 1);
    assert_eq!(notes, ["no semantic search is configured; the words alone were looked for"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_restricts_the_search_itself() {
    let Fixture { rows, registry } = fixture(&[]);
    let changes = (0..300).map(|number| {
        let mut document = tool(&format!("weather{number}"), "weather weather weather");
        document["category"] = json!("sky");
        put(&format!("weather{number}"), &document.to_string())
    });
    rows.commit(&changes.collect::<Vec<_>>());
    let mut poor = tool("umbrella", "something long about rain, wind and other things, or the weather");
    (poor["category"], poor["tags"]) = (json!("Shop"), json!(["Rain Gear"]));
    rows.commit(&[put("umbrella", &poor.to_string())]);
    registry.refresh().await;
    let found = async |method, only| {
        let request = SearchRequest { method, only, ..wanted("weather") };
        let answer = registry.finder().search(&registry.snapshot(), &request).await.unwrap();
        answer.hits.iter().map(|hit| hit.value.name.to_string()).collect::<Vec<_>>()
    };
    for method in [SearchMethod::Bm25, SearchMethod::Regex] {
        let shop = Only { category: Some("shop"), ..Only::default() };
        assert_eq!(found(method, shop).await, ["umbrella"]);
        assert_eq!(found(method, Only { tag: Some("rain gear"), ..shop }).await, ["umbrella"]);
        assert!(found(method, Only { tag: Some("rain gear"), category: Some("sky") }).await.is_empty());
    }
}

/// R157: what `search_hot_tools` looks through.
#[tokio::test(flavor = "multi_thread")]
async fn among_tools_in_use_cold_ones_are_not_found() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&["a", "b"].map(|name| said(name, "weather")));
    registry.refresh().await;
    let in_use = async |method| {
        let request = SearchRequest { among: Among::InUse, method, ..wanted("weather") };
        let hits = answer(&registry, &registry.snapshot(), request).await.hits;
        hits.iter().map(|hit| hit.value.name.to_string()).collect::<Vec<_>>()
    };
    for calls in 1..=3 {
        assert!(in_use(SearchMethod::Bm25).await.is_empty(), "{calls}");
        let snapshot = registry.snapshot();
        snapshot.find("b").unwrap().call(None, &Principal::Anonymous, &Mute).await.unwrap();
    }
    for method in SearchMethod::ALL {
        assert_eq!(in_use(method).await, ["b"], "{method}");
    }
}

/// R62, R64: the scores are those of the documents' implementation.
#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_finds_names_descriptions_and_tags() {
    let Fixture { rows, registry } = fixture(&[]);
    let mut tagged = tool("c", "x");
    tagged["tags"] = json!(["weather"]);
    rows.commit(&[
        said("weather", "x"),
        said("weather.tomorrow", "x"),
        said("b", "bad weather"),
        said("d", "x"),
    ]);
    rows.commit(&[
        put("c", &tagged.to_string()),
        of("acme", said("b", "x")),
        of("acme", said("e", "Weather")),
    ]);
    registry.refresh().await;
    let scores = async |tenant: Option<&str>, query: &str| {
        let request = SearchRequest { method: SearchMethod::Regex, ..wanted(query) };
        let hits = answer(&registry, &registry.catalogue(tenant), request).await.hits;
        hits.iter().map(|hit| format!("{} {}", hit.value.name, hit.score)).collect::<Vec<_>>()
    };
    let shared = ["weather 1", "weather.tomorrow 0.8", "c 0.5", "b 0.4"];
    assert_eq!(scores(None, "WEA.her").await, shared);
    assert_eq!(
        scores(Some("acme"), "weather").await,
        ["weather 1", "weather.tomorrow 0.8", "e 0.6", "c 0.5"]
    );
    assert!(scores(None, "^her").await.is_empty());
    let request = SearchRequest { method: SearchMethod::Regex, ..wanted("wea(ther") };
    let error = registry.finder().search(&registry.snapshot(), &request).await.err().unwrap().to_string();
    assert!(error.starts_with("the pattern is wrong at character 4: unclosed group"), "{error}");
}

/// A pattern that matches where nothing is would be everywhere: it finds what it matches beyond that, or says why not.
#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_that_matches_nothing_says_so() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&[said("weather", "x")]);
    registry.refresh().await;
    let by_pattern = |query| SearchRequest { method: SearchMethod::Regex, ..wanted(query) };
    for query in ["^", "$", r"\b"] {
        let error = registry.finder().search(&registry.snapshot(), &by_pattern(query)).await.err().unwrap();
        assert!(error.to_string().starts_with("the pattern matches no character"), "{query}: {error}");
    }
    let found = answer(&registry, &registry.snapshot(), by_pattern("q*")).await;
    assert!(
        found.hits.is_empty() && found.notes[0].contains("matches where there is nothing"),
        "{:?}",
        found.notes
    );
    let found = answer(&registry, &registry.snapshot(), by_pattern("w*")).await;
    assert_eq!((found.hits.len(), found.notes.len()), (1, 0), "{:?}", found.notes);
}

/// Searches go on while a hundred publications swap the snapshot, and each finds a whole one.
#[tokio::test(flavor = "multi_thread")]
async fn every_search_sees_one_whole_publication() {
    let Fixture { rows, registry } = fixture(&[]);
    let registry = Arc::new(registry);
    let all = |text: &str| ["a", "b", "c", "d"].map(|name| said(name, text));
    rows.commit(&all("weather 0"));
    registry.refresh().await;
    let searching = Arc::clone(&registry);
    let searcher = tokio::spawn(async move {
        let mut rounds = 0;
        loop {
            let snapshot = searching.snapshot();
            let hits = answer(&searching, &snapshot, wanted("weather")).await.hits;
            assert_eq!(hits.len(), 4);
            let texts: Vec<_> = hits.iter().map(|hit| hit.value.description.clone()).collect();
            assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
            rounds += 1;
            if texts[0].as_deref() == Some("weather 100") {
                return rounds;
            }
            tokio::task::yield_now().await;
        }
    });
    for number in 1..=100 {
        rows.commit(&all(&format!("weather {number}")));
        registry.refresh().await;
    }
    assert!(tokio::time::timeout(std::time::Duration::from_secs(30), searcher).await.unwrap().unwrap() > 0);
}

/// The words of all the fields that people fill in lead to the tool.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_found_by_every_field() {
    let schema = json!({"type": "object", "properties": {
        "consignee": {"type": "object", "description": "who receives the parcel", "properties": {"lighthouse": {}}}}});
    let entry: Value = json!({"name": "post_it", "title": "Dispatch", "description": "sends things", "inputSchema": schema,
        "_meta": {"toolrail/category": "logistics", "toolrail/tags": ["freight"]}});
    let server = Server::offering(Offer { tools: vec![offered(entry)], ..Offer::default() });
    let Fixture { rows, registry } = fixture(&[server]);
    let up = json!({"name": "pigeon", "description": "avian carriers", "far": {"server": 0}});
    let described = json!({"name": "d", "description": "x", "metadata": {"mcpServer": "meteo"}});
    rows.commit(&[put("pigeon", &up.to_string()), put("d", &described.to_string())]);
    registry.refresh().await;
    for word in [
        "post",
        "dispatch",
        "sends",
        "logistics",
        "freight",
        "consignee",
        "parcel",
        "lighthouse",
        "pigeon",
        "avian",
    ] {
        assert_eq!(found(&registry, None, word).await, ["post_it"], "{word}");
    }
    assert_eq!(found(&registry, None, "meteo").await, ["d"]);
}
