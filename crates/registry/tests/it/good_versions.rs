//! A row whose newest version is broken is served as it last was good, unless it was removed or switched off.

use std::sync::Arc;

use toolrail_registry::{OnBroken, Registry, RegistryBuilder, StoreSource};

use crate::rows::{Rows, of, purge, put, switch};
use crate::support::{builder, names, tool};

fn text(name: &str, description: &str) -> String {
    tool(name, description).to_string()
}

fn over(rows: &Arc<Rows>) -> Registry {
    builder_over(rows).build()
}

fn builder_over(rows: &Arc<Rows>) -> RegistryBuilder {
    builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10)
}

fn description(registry: &Registry, name: &str) -> Option<String> {
    registry.snapshot().find(name)?.description.as_deref().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_good_version_is_served_and_the_newest_is_told_as_broken() {
    let rows = Arc::new(Rows::default());
    rows.commit(&[
        put("a", &text("a", "first")),
        put("a", &text("a", "second")),
        of("acme", put("b", &text("b", "b"))),
    ]);
    let running = over(&rows);
    running.refresh().await;
    rows.commit(&[put("a", "{"), put("a", "{\"name\":\"a\"}"), of("acme", put("b", "nothing"))]);
    running.refresh().await;
    // One that starts now has nothing but the history.
    let started = over(&rows);
    started.refresh().await;
    for registry in [&running, &started] {
        assert_eq!(description(registry, "a").as_deref(), Some("second"));
        let snapshot = registry.snapshot();
        let entry = snapshot.entry("a").unwrap();
        assert_eq!((entry.state(), entry.version, entry.has_errors()), ("live", Some(5), true));
        assert_eq!(entry.serving.as_ref().map(|serving| serving.version), Some(2));
        let told = &entry.problems[0].message;
        assert!(
            told.starts_with("the newest version 5 is broken since 2026-01-01T00:00:04Z, serving version 2"),
            "{told}"
        );
        assert!(registry.catalogue(Some("acme")).find("b").is_some());
    }
    rows.commit(&[put("a", &text("a", "third"))]);
    running.refresh().await;
    assert_eq!(description(&running, "a").as_deref(), Some("third"));
    assert!(!running.snapshot().entry("a").unwrap().has_errors());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_removed_or_switched_off_is_not_served_because_it_is_broken() {
    let rows = Arc::new(Rows::default());
    for name in ["removed", "off", "off-then-broken", "says-off", "never-good"] {
        if name != "never-good" {
            rows.commit(&[put(name, &text(name, "d"))]);
        }
    }
    let running = over(&rows);
    running.refresh().await;
    rows.commit(&[purge("removed"), put("removed", "{")]);
    rows.commit(&[put("off", "{"), switch("off", false)]);
    rows.commit(&[switch("off-then-broken", false), put("off-then-broken", "{")]);
    rows.commit(&[put("says-off", "{\"name\":\"says-off\",\"enabled\":false}"), put("never-good", "{")]);
    running.refresh().await;
    let started = over(&rows);
    started.refresh().await;
    for registry in [&running, &started] {
        assert_eq!(names(registry), [""; 0]);
    }
    rows.commit(&[switch("off", true)]);
    running.refresh().await;
    assert_eq!(names(&running), ["off"], "somebody switched it on again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_refuses_what_is_broken_serves_no_older_version() {
    let rows = Arc::new(Rows::default());
    rows.commit(&[put("a", &text("a", "d"))]);
    let registry = builder_over(&rows).with_on_broken(OnBroken::Refuse).build();
    registry.refresh().await;
    rows.commit(&[put("a", "{")]);
    registry.refresh().await;
    assert_eq!((names(&registry), registry.snapshot().entry("a").unwrap().state()), (vec![], "broken"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_good_version_is_served_without_the_store_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let rows = Arc::new(Rows::default());
    rows.commit(&[put("a", &text("a", "good")), put("a", "{")]);
    let before = builder_over(&rows).with_fallback(&file).build();
    before.refresh().await;
    before.intake().keep_last_good().await;
    rows.set_down(true);
    let after = builder_over(&rows).with_fallback(&file).build();
    after.refresh().await;
    assert_eq!(description(&after, "a").as_deref(), Some("good"));
    assert!(after.snapshot().entry("a").unwrap().problems[0].message.contains("serving version 1"));
}
