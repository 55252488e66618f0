//! Categories, statistics and use, as somebody sees them.

use serde_json::{Value, json};
use toolrail_core::{Change, Mute, Principal};
use toolrail_registry::{Registry, Statistics, Temperature};

use crate::rows::{of, put, switch};
use crate::search::{Fixture, fixture};
use crate::support::tool;

fn in_category(name: &str, category: &str) -> Change {
    let mut document = tool(name, "d");
    document["category"] = json!(category);
    put(name, &document.to_string())
}

async fn call(registry: &Registry, tenant: Option<&str>, name: &str, times: usize) {
    for _ in 0..times {
        let snapshot = registry.catalogue(tenant);
        snapshot.find(name).unwrap().call(None, &Principal::Anonymous, &Mute).await.unwrap();
    }
}

/// R67, R71.
#[tokio::test(flavor = "multi_thread")]
async fn tools_are_in_their_category_in_any_case() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&[
        in_category("a", "Mail"),
        in_category("b", "mail "),
        in_category("c", "aws"),
        in_category("e", "文件"),
        in_category("f", " "),
        put("g", &tool("g", "d").to_string()),
        of("acme", in_category("h", "own")),
        of("acme", in_category("a", "aws")),
    ]);
    registry.refresh().await;
    let shared = registry.snapshot();
    assert_eq!(shared.categories(), ["aws", "Mail", "文件"]);
    let mail = shared.tools_in_category("MAIL", 1).unwrap();
    assert_eq!((mail.name, mail.count, mail.tools.len()), ("Mail", 2, 1));
    assert!(shared.tools_in_category("own", 9).is_none() && shared.tools_in_category("", 9).is_none());
    let acme = registry.catalogue(Some("acme"));
    assert_eq!(acme.categories(), ["aws", "mail", "own", "文件"]);
    assert_eq!(acme.tools_in_category("aws", 9).unwrap().count, 2);
    rows.commit(&[switch("c", false)]);
    registry.refresh().await;
    assert_eq!(registry.snapshot().categories(), ["Mail", "文件"]);
}

/// R70, R75.
#[tokio::test(flavor = "multi_thread")]
async fn statistics_tell_of_real_calls() {
    let Fixture { rows, registry } = fixture(&[]);
    let described = json!({"name": "d", "description": "elsewhere",
        "metadata": {"useFrequency": 5, "lastUsed": "2020-01-02T03:04:05"}});
    rows.commit(&[in_category("a", "x"), in_category("b", "y"), put("d", &described.to_string())]);
    registry.refresh().await;
    call(&registry, None, "a", 10).await;
    call(&registry, None, "b", 3).await;
    let told: Value =
        serde_json::to_value(Statistics::of(&registry.snapshot(), None, registry.usage())).unwrap();
    assert_eq!(
        told,
        json!({"total_tools": 3, "total_categories": 2, "categories": ["x", "y"], "most_used": [
            {"name": "a", "description": "d", "use_count": 10},
            {"name": "d", "description": "elsewhere", "use_count": 5},
            {"name": "b", "description": "d", "use_count": 3}]})
    );
    let snapshot = registry.snapshot();
    let used = |name: &str| registry.usage().use_of(snapshot.find(name).unwrap(), None);
    assert_eq!((used("a").temperature, used("b").temperature), (Temperature::Hot, Temperature::Warm));
    assert_eq!((used("d").count, used("d").temperature), (5, Temperature::Cold), "long ago");
    assert_eq!(used("d").last_used_text().as_deref(), Some("2020-01-02T03:04:05.000Z"));
    assert!(used("a").last_used.is_some());
}

/// R75: what is only described was not used here, however often somebody tried; wrong arguments are no use either.
#[tokio::test(flavor = "multi_thread")]
async fn refused_calls_are_no_use() {
    let Fixture { rows, registry } = fixture(&[]);
    let described =
        json!({"name": "d", "description": "elsewhere", "category": "x", "metadata": {"useFrequency": 2}});
    rows.commit(&[put("d", &described.to_string()), in_category("a", "x")]);
    registry.refresh().await;
    let snapshot = registry.snapshot();
    let wrong = serde_json::value::RawValue::from_string("[]".to_owned()).unwrap();
    for _ in 0..12 {
        // Whatever comes of it: the kind of these tests does not refuse.
        let _ = snapshot.find("d").unwrap().call(None, &Principal::Anonymous, &Mute).await;
        let tried = snapshot.find("a").unwrap().call(Some(&wrong), &Principal::Anonymous, &Mute).await;
        assert!(tried.is_err());
    }
    let used = |name: &str| registry.usage().use_of(snapshot.find(name).unwrap(), None);
    assert_eq!((used("d").count, used("d").temperature, used("d").last_used), (2, Temperature::Cold, None));
    assert_eq!((used("a").count, used("a").last_used), (0, None));
}

/// R75: nothing is sent where a secret is missing, so that is no use.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_its_secret_is_no_use() {
    let Fixture { rows, registry } = fixture(&[]);
    let mut locked = tool("l", "d");
    locked["echo"] = json!({"locked": true});
    rows.commit(&[put("l", &locked.to_string())]);
    registry.refresh().await;
    let snapshot = registry.snapshot();
    for _ in 0..3 {
        let refused = snapshot.find("l").unwrap().call(None, &Principal::Anonymous, &Mute).await.unwrap_err();
        assert_eq!(refused.message, "l: /echo/locked: the secret is missing");
    }
    let used = registry.usage().use_of(snapshot.find("l").unwrap(), None);
    assert_eq!((used.count, used.last_used), (0, None));
}

/// R75, per tenant.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_does_not_see_the_counts_of_another() {
    let Fixture { rows, registry } = fixture(&[]);
    rows.commit(&["acme", "other"].map(|tenant| of(tenant, in_category("a", "x"))));
    rows.commit(&[put("shared", &tool("shared", "d").to_string())]);
    registry.refresh().await;
    call(&registry, Some("acme"), "a", 4).await;
    call(&registry, Some("acme"), "shared", 7).await;
    let most_used = |tenant| {
        let snapshot = registry.catalogue(Some(tenant));
        registry
            .usage()
            .most_used(&snapshot, Some(tenant), 5)
            .iter()
            .map(|(_, used)| used.count)
            .collect::<Vec<_>>()
    };
    assert_eq!((most_used("acme"), most_used("other")), (vec![4], vec![]));
    let snapshot = registry.catalogue(Some("other"));
    let count = |tenant| registry.usage().use_of(snapshot.find("shared").unwrap(), tenant).count;
    assert_eq!((count(Some("other")), count(None)), (0, 7));
    let entry = snapshot.entry("shared").unwrap();
    assert_eq!(registry.usage().use_of_entry(entry, Some("other")), (0, None));
}

/// The tokens of a full list are those of its tools; where the search stands before them, those that are always listed.
#[tokio::test(flavor = "multi_thread")]
async fn search_mode_costs_less_context() {
    let Fixture { rows, registry } = fixture(&[]);
    let mut eager = tool("eager", "listed always");
    eager["deferLoading"] = json!(false);
    let described = json!({"name": "d", "description": "elsewhere", "metadata": {}});
    rows.commit(&[put("eager", &eager.to_string()), put("d", &described.to_string())]);
    rows.commit(&(0..99).map(|number| in_category(&format!("t{number}"), "x")).collect::<Vec<_>>());
    registry.refresh().await;
    let cost = registry.snapshot().context_cost();
    assert_eq!((cost.tools, cost.listed_in_search_mode, cost.formats.len()), (100, 1, 4));
    for format in &cost.formats {
        assert!((30..100).contains(&format.search), "{format:?}");
        assert!((80 * format.search..120 * format.search).contains(&format.full), "{format:?}");
        assert_eq!(format.saved_percent, 98, "{format:?}");
        assert!(format.each_search > format.search, "{format:?}");
    }
    let [anthropic, openai, gemini, _] = &cost.formats[..] else { panic!() };
    assert!(openai.full > gemini.full && anthropic.full > gemini.full);
    let told = serde_json::to_value(anthropic).unwrap();
    assert_eq!((&told["format"], &told["saved_percent"]), (&json!("anthropic"), &json!(98)));
    let Fixture { registry, .. } = fixture(&[]);
    registry.refresh().await;
    assert!(registry.snapshot().context_cost().formats.iter().all(|format| format.full == 0));
}
