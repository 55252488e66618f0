//! The part of the behaviour suite that is about tenants: names are unique within each, and among the shared ones.

use toolrail_core::{Changes, ToolKey, Uses};

use super::{Subject, by, key, of, purge, put, row, row_of, switch};

fn keys(changes: &Changes) -> Vec<(Option<&str>, &str)> {
    changes.rows.iter().map(|row| (row.tenant.as_deref(), row.name.as_str())).collect()
}

/// R113.
pub(crate) async fn tenants_may_use_the_same_name(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch = [put("echo", "1"), of("acme", put("Echo", "2")), of("umbrella", put("echo", "3"))];
    store.write(&batch, &by("ann")).await.unwrap();
    assert_eq!(row(&*store, "echo").await.config_json, "1");
    assert_eq!(row(&*store, "echo").await.tenant, None);
    let acme = row_of(&*store, "acme", "ECHO").await;
    assert_eq!((acme.tenant.as_deref(), acme.name.as_str()), (Some("acme"), "Echo"));
    assert_eq!((acme.config_json.as_str(), acme.version), ("2", 2));
    assert_eq!(row_of(&*store, "umbrella", "echo").await.config_json, "3");
    assert_eq!(store.count().await.unwrap(), 3);

    store.write(&[of("acme", switch("echo", false))], &by("bob")).await.unwrap();
    assert!(!row_of(&*store, "acme", "echo").await.enabled);
    assert!(row(&*store, "echo").await.enabled && row_of(&*store, "umbrella", "echo").await.enabled);

    store.write(&[of("acme", purge("ECHO"))], &by("bob")).await.unwrap();
    assert_eq!(store.find(Some("acme"), "echo").await.unwrap(), None, "a shared one is not the tenant's own");
    assert_eq!(store.find(Some("nobody"), "echo").await.unwrap(), None);
    assert_eq!(row(&*store, "echo").await.config_json, "1");
    assert_eq!(store.count().await.unwrap(), 2);
}

/// C9.
pub(crate) async fn a_name_is_unique_within_its_tenant_in_any_case(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("echo", "1"), of("acme", put("echo", "1"))], &by("ann")).await.unwrap();
    let before = store.revision().await.unwrap();
    store.write(&[of("acme", put("ECHO", "2"))], &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!((keys(&changes), changes.removed.len()), (vec![(Some("acme"), "ECHO")], 0));
    assert_eq!(keys(&store.changes_since(0).await.unwrap()), [(None, "echo"), (Some("acme"), "ECHO")]);
}

pub(crate) async fn tenants_are_told_apart_by_case(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[of("acme", put("a", "1")), of("ACME", put("a", "2"))], &by("ann")).await.unwrap();
    assert_eq!(row_of(&*store, "acme", "a").await.config_json, "1");
    assert_eq!(row_of(&*store, "ACME", "a").await.config_json, "2");
    assert_eq!(store.find(Some("Acme"), "a").await.unwrap(), None);
}

pub(crate) async fn what_changed_and_was_removed_names_its_tenant(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch = [put("a", "1"), of("acme", put("A", "1")), of("umbrella", put("a", "1"))];
    let before = store.write(&batch, &by("ann")).await.unwrap();
    let batch = [of("acme", purge("a")), of("umbrella", put("a", "2"))];
    let after = store.write(&batch, &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!(keys(&changes), [(Some("umbrella"), "a")]);
    assert_eq!((changes.removed, changes.revision), (vec![key(Some("acme"), "a")], after));

    store.write(&[purge("a")], &by("ann")).await.unwrap();
    assert_eq!(store.changes_since(after).await.unwrap().removed, [key(None, "a")]);
    store.write(&[of("acme", put("a", "3"))], &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!(keys(&changes), [(Some("umbrella"), "a"), (Some("acme"), "a")]);
    assert_eq!(changes.removed, [key(None, "a")], "the tenant's came back, the shared one did not");
}

/// R75.
pub(crate) async fn uses_are_counted_for_each_tenant(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1"), of("acme", put("a", "1"))], &by("ann")).await.unwrap();
    let uses = |tenant, calls| Uses { tool: key(tenant, "a"), calls };
    store.record_uses(&[uses(None, 1), uses(Some("acme"), 2)]).await.unwrap();
    store.record_uses(&[uses(Some("acme"), 2)]).await.unwrap();
    let counts = async || -> Vec<(ToolKey, i64)> {
        let usage = store.usage().await.unwrap();
        let mut counts: Vec<_> = usage.into_iter().map(|usage| (usage.tool, usage.count)).collect();
        counts.sort_unstable();
        counts
    };
    assert_eq!(counts().await, [(key(None, "a"), 1), (key(Some("acme"), "a"), 4)]);
    store.write(&[purge("a")], &by("ann")).await.unwrap();
    assert_eq!(counts().await, [(key(Some("acme"), "a"), 4)]);
}
