//! Learning from use: what is called after a search in the same conversation, for whom that counts, and when it goes; use
//! counts on every replica.

use std::sync::Arc;

use toolrail_core::{Caller, Change, Forget, Mute, Principal, ToolKey};
use toolrail_registry::{Among, Learning, Only, Registry, SearchMethod, SearchRequest, StoreSource};

use crate::rows::{Rows, of, purge, put};
use crate::support::{builder, tool};

struct Talk(&'static str);

impl Caller for Talk {
    fn conversation(&self) -> Option<&str> {
        Some(self.0)
    }
}

fn definition(name: &str, description: &str) -> Change {
    put(name, &tool(name, description).to_string())
}

/// Two tools that a search for "rain" finds alike.
fn rows() -> Arc<Rows> {
    let rows = Arc::new(Rows::default());
    rows.commit(&[definition("alpha", "tells of rain"), definition("beta", "tells of rain")]);
    rows
}

async fn replica(rows: &Arc<Rows>) -> Registry {
    replica_that(rows, Learning::On).await
}

async fn replica_that(rows: &Arc<Rows>, learning: Learning) -> Registry {
    let builder = builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    let registry = builder.with_learning(learning).build();
    registry.refresh().await;
    registry
}

async fn found(
    registry: &Registry,
    tenant: Option<&str>,
    query: &str,
    conversation: Option<&str>,
) -> Vec<String> {
    let request = SearchRequest {
        query,
        method: SearchMethod::Bm25,
        limit: 10,
        among: Among::All,
        only: Only::default(),
        tenant,
        conversation,
    };
    let answer = registry.finder().search(&registry.catalogue(tenant), &request).await.unwrap();
    answer.hits.iter().map(|hit| hit.value.name.to_string()).collect()
}

async fn call(registry: &Registry, tenant: Option<&str>, name: &str, caller: &dyn Caller) {
    let principal = tenant.map_or(Principal::Anonymous, |tenant| Principal::of_tenant(tenant).unwrap());
    registry.catalogue(tenant).find(name).unwrap().call(None, &principal, caller).await.unwrap();
}

/// In so many conversations, `name` is called after a search.
async fn teach(registry: &Registry, tenant: Option<&str>, query: &str, name: &str) {
    for conversation in ["one", "two", "three"] {
        assert!(found(registry, tenant, query, Some(conversation)).await.contains(&name.to_owned()));
        call(registry, tenant, name, &Talk(conversation)).await;
    }
    registry.usage().record_uses().await;
}

fn pair(tenant: Option<&str>, name: &str, query: &str, times: u32) -> (Option<String>, String, String, u32) {
    (tenant.map(str::to_owned), name.to_owned(), query.to_owned(), times)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_after_a_search_in_the_same_conversation_teaches() {
    let rows = rows();
    let registry = replica(&rows).await;
    found(&registry, None, "rain", Some("one")).await;
    call(&registry, None, "beta", &Talk("another")).await;
    call(&registry, None, "beta", &Mute).await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), [], "nobody of them was looking for it");
    call(&registry, None, "BETA", &Talk("one")).await;
    call(&registry, None, "beta", &Talk("one")).await;
    found(&registry, None, "rain", Some("one")).await;
    call(&registry, None, "beta", &Talk("one")).await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), [pair(None, "beta", "rain", 1)], "a conversation teaches a pair once");
    found(&registry, None, "rain", Some("two")).await;
    call(&registry, None, "beta", &Talk("two")).await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), [pair(None, "beta", "rain", 2)]);
}

/// One call is enough among tools that fit alike, and never enough against one that fits clearly better.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_call_decides_only_between_tools_that_fit_alike() {
    let rows = rows();
    rows.commit(&[
        definition("invoice.send", "Send an invoice to a customer"),
        definition("customer.note", "Keep notes about a customer"),
    ]);
    let registry = replica(&rows).await;
    let once = async |query: &str, name: &str, conversation: &'static str| {
        assert!(found(&registry, None, query, Some(conversation)).await.contains(&name.to_owned()));
        call(&registry, None, name, &Talk(conversation)).await;
        registry.usage().record_uses().await;
        found(&registry, None, query, None).await.swap_remove(0)
    };
    let last = found(&registry, None, "rain", None).await.pop().unwrap();
    assert_eq!(once("rain", &last, "one").await, last);
    let query = "send an invoice to a customer";
    assert_eq!(once(query, "customer.note", "one").await, "invoice.send");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learnt_lifts_the_tool_on_every_replica_and_after_a_restart() {
    let rows = rows();
    let (one, other) = (replica(&rows).await, replica(&rows).await);
    let before = found(&one, None, "rain", None).await;
    let last = before.last().unwrap().clone();
    other.usage().record_uses().await;
    teach(&one, None, "rain", &last).await;
    assert_eq!(found(&one, None, "rain", None).await[0], last);
    other.usage().record_uses().await;
    assert_eq!(found(&other, None, "rain", None).await[0], last);
    let restarted = replica(&rows).await;
    assert_eq!(found(&restarted, None, "rain", None).await[0], last);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tenant_never_teaches_another() {
    let rows = rows();
    rows.commit(&[of("acme", definition("own", "something else"))]);
    let registry = replica(&rows).await;
    let before = found(&registry, None, "rain", None).await;
    let last = before.last().unwrap().clone();
    // One tenant has definitions of its own, the other sees only shared ones.
    for tenant in [Some("acme"), Some("plain")] {
        teach(&registry, tenant, "rain", &last).await;
        assert_eq!(found(&registry, tenant, "rain", None).await[0], last);
    }
    // Everybody sees how much a shared tool is used, so that the other is used as much.
    for _ in 0..6 {
        call(&registry, None, &before[0], &Mute).await;
    }
    for tenant in [None, Some("third")] {
        assert_eq!(found(&registry, tenant, "rain", None).await, before, "{tenant:?}");
    }
    let learnt = [pair(Some("acme"), &last, "rain", 3), pair(Some("plain"), &last, "rain", 3)];
    assert_eq!(rows.learnt(), learnt);
    // The same id of a conversation is another conversation with another tenant.
    found(&registry, Some("acme"), "rain", Some("same")).await;
    call(&registry, None, "alpha", &Talk("same")).await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), learnt);
}

#[tokio::test(flavor = "multi_thread")]
async fn off_means_off() {
    let rows = rows();
    teach(&replica(&rows).await, None, "rain", "beta").await;
    let registry = replica_that(&rows, Learning::Off).await;
    teach(&registry, None, "rain", "alpha").await;
    assert_eq!(rows.learnt(), [pair(None, "beta", "rain", 3)], "nothing is learnt, nothing is removed");
    for name in ["alpha", "beta"] {
        let (count, _) = registry.usage().use_count(registry.snapshot().find(name).unwrap());
        assert_eq!(count, 3, "calls are counted in any case");
    }
    let never = replica(&self::rows()).await;
    let found = async |registry: &Registry| found(registry, None, "rain", None).await;
    assert_eq!(found(&registry).await, found(&never).await, "what was learnt before does not count");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_teaches_nothing() {
    let rows = rows();
    let registry = replica(&rows).await;
    found(&registry, None, "rain", Some("one")).await;
    let snapshot = registry.snapshot();
    let wrong = serde_json::from_str(r#"{"n": "no number"}"#).unwrap();
    let alpha = snapshot.find("alpha").unwrap();
    alpha.call(Some(wrong), &Principal::Anonymous, &Talk("one")).await.unwrap_err();
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learnt_about_a_tool_goes_with_it() {
    let rows = rows();
    rows.commit(&[of("acme", definition("beta", "tells of rain too"))]);
    let registry = replica(&rows).await;
    for tenant in [None, Some("acme"), Some("plain")] {
        teach(&registry, tenant, "rain", "beta").await;
    }
    registry.usage().record_uses().await;
    rows.commit(&[purge("beta"), definition("beta", "does something else")]);
    rows.commit(&[purge("alpha")]);
    registry.refresh().await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt().len(), 3, "it came back at once: the same definition, changed");
    rows.commit(&[purge("beta")]);
    registry.refresh().await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), [pair(Some("acme"), "beta", "rain", 3)], "acme has another of that name");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learnt_can_be_forgotten_on_every_replica() {
    let rows = rows();
    let (one, other) = (replica(&rows).await, replica(&rows).await);
    let before = found(&one, None, "rain", None).await;
    let last = before.last().unwrap().clone();
    let ways = [
        Forget::Everything,
        Forget::Tenant(None),
        Forget::Tools(vec![ToolKey { tenant: None, name: last.clone() }]),
    ];
    for (round, what) in ways.iter().enumerate() {
        let query = format!("rain {round}");
        teach(&one, None, &query, &last).await;
        other.usage().record_uses().await;
        assert_eq!(found(&other, None, &query, None).await[0], last);
        assert_eq!(one.usage().forget_learnt(what).await.unwrap(), 1);
        other.usage().record_uses().await;
        assert_eq!(rows.learnt(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taught_and_removed_between_two_writes_is_not_kept() {
    let rows = rows();
    let registry = replica(&rows).await;
    found(&registry, None, "rain", Some("one")).await;
    call(&registry, None, "beta", &Talk("one")).await;
    call(&registry, Some("plain"), "beta", &Talk("one")).await;
    rows.commit(&[purge("beta")]);
    registry.refresh().await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), []);
    // Another of its name begins anew, and can be taught.
    rows.commit(&[definition("beta", "tells of rain again")]);
    registry.refresh().await;
    call(&registry, None, "beta", &Talk("one")).await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), [], "the search was for the one before");
    found(&registry, None, "rain", Some("one")).await;
    call(&registry, None, "beta", &Talk("one")).await;
    registry.usage().record_uses().await;
    assert_eq!(rows.learnt(), [pair(None, "beta", "rain", 1)]);
}

async fn learn_once(registry: &Registry, tenant: Option<&str>) {
    found(registry, tenant, "rain", Some("one")).await;
    call(registry, tenant, "beta", &Talk("one")).await;
}

fn learnt_times(registry: &Registry, tenant: Option<&str>) -> u32 {
    let about = registry.usage().learnt_about(tenant, Some("beta"), 10);
    about.iter().flat_map(|(_, queries)| queries).map(|(_, times)| times).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_forgotten_for_one_tenant_is_taught_again_and_others_keep_theirs() {
    let rows = rows();
    let registry = replica(&rows).await;
    let (acme, other) = (Some("acme"), Some("other"));
    for tenant in [acme, other] {
        learn_once(&registry, tenant).await;
    }
    registry.usage().record_uses().await;
    // The other tenant has looked for something when the first forgets.
    found(&registry, other, "some rain", Some("one")).await;
    assert_eq!(registry.usage().forget_learnt(&Forget::Tenant(Some("acme".to_owned()))).await.unwrap(), 1);
    assert_eq!((learnt_times(&registry, acme), learnt_times(&registry, other)), (0, 1));
    call(&registry, other, "beta", &Talk("one")).await;
    call(&registry, acme, "beta", &Talk("one")).await;
    registry.usage().record_uses().await;
    assert_eq!((learnt_times(&registry, acme), learnt_times(&registry, other)), (0, 2));
    learn_once(&registry, acme).await;
    registry.usage().record_uses().await;
    assert_eq!(learnt_times(&registry, acme), 1, "the same conversation teaches it again");
    let tool = ToolKey { tenant: Some("acme".to_owned()), name: "beta".to_owned() };
    assert_eq!(registry.usage().forget_learnt(&Forget::Tools(vec![tool])).await.unwrap(), 1);
    assert_eq!((learnt_times(&registry, acme), learnt_times(&registry, other)), (0, 2));
    registry.usage().forget_learnt(&Forget::Everything).await.unwrap();
    assert_eq!(learnt_times(&registry, other), 0);
}

/// R75: calls on one replica are seen on the other, and calls that are not written yet where they were made.
#[tokio::test(flavor = "multi_thread")]
async fn use_counts_are_seen_at_once_and_on_every_replica() {
    let rows = rows();
    let (one, other) = (replica(&rows).await, replica(&rows).await);
    let count = |registry: &Registry| registry.usage().use_count(registry.snapshot().find("alpha").unwrap());
    assert_eq!(count(&one), (0, None));
    call(&one, None, "alpha", &Mute).await;
    call(&one, None, "alpha", &Mute).await;
    assert_eq!(count(&one).0, 2);
    assert!(count(&one).1.is_some());
    rows.set_down(true);
    one.usage().record_uses().await;
    assert_eq!(count(&one).0, 2, "what could not be written still counts");
    rows.set_down(false);
    one.usage().record_uses().await;
    call(&other, None, "alpha", &Mute).await;
    other.usage().record_uses().await;
    one.usage().record_uses().await;
    assert_eq!((count(&one).0, count(&other).0), (3, 3));
    let restarted = replica(&rows).await;
    restarted.usage().ready_uses().await;
    assert_eq!(count(&restarted).0, 3);
    rows.commit(&[purge("alpha")]);
    other.refresh().await;
    rows.commit(&[definition("alpha", "another")]);
    other.refresh().await;
    assert_eq!(count(&other).0, 0, "another of its name begins anew");
}
