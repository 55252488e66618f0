//! The part of the behaviour suite that is about what definitions were before (R121).

use toolrail_core::{Author, HistoryQuery, Revision, Store, Version, VersionKind};

use super::{Subject, by, key, of, purge, put, row, switch};
use VersionKind::{Created, Removed, Updated};

pub(super) async fn versions(store: &dyn Store, tenant: Option<&str>, name: &str) -> Vec<Version> {
    let query = HistoryQuery { of: Some(key(tenant, name)), before: None, most: 1_000 };
    store.history(&query).await.unwrap()
}

/// Number, kind, switch and definition of each.
fn told(versions: &[Version]) -> Vec<(Revision, VersionKind, bool, &str)> {
    versions
        .iter()
        .map(|version| (version.revision, version.kind, version.enabled, version.config_json.as_str()))
        .collect()
}

pub(crate) async fn every_version_of_a_definition_is_kept_with_its_author(subject: &dyn Subject) {
    let store = subject.open().await;
    let author =
        Author { who: "ann".into(), address: Some("192.0.2.7:5012".into()), via: "admin-api".into() };
    store.write(&[put("Echo", "1"), put("other", "1")], &author).await.unwrap();
    for (change, who) in [
        (put("ECHO", "2"), "bob"),
        (switch("echo", false), "ann"),
        (purge("echo"), "cleo"),
        (put("echo", "3"), "ann"),
    ] {
        store.write(&[change], &by(who)).await.unwrap();
    }
    let versions = versions(&*store, None, "ECHO").await;
    assert_eq!(
        told(&versions),
        [
            (6, Created, true, "3"),
            (5, Removed, false, "2"),
            (4, Updated, false, "2"),
            (3, Updated, true, "2"),
            (1, Created, true, "1"),
        ]
    );
    let names: Vec<&str> = versions.iter().map(|version| version.name.as_str()).collect();
    assert_eq!(names, ["echo", "ECHO", "ECHO", "ECHO", "Echo"]);
    let who: Vec<Option<&str>> = versions.iter().map(|version| version.who.as_deref()).collect();
    assert_eq!(who, [Some("ann"), Some("cleo"), Some("ann"), Some("bob"), Some("ann")]);
    let first = &versions[4];
    assert_eq!((first.address.as_deref(), first.via.as_deref()), (Some("192.0.2.7:5012"), Some("admin-api")));
    assert!(versions[..4].iter().all(|version| version.address.is_none()));
    assert!(versions[..4].iter().all(|version| version.via.as_deref() == Some("test")));
    assert!(versions.iter().all(|version| version.tenant.is_none()));
    for version in &versions {
        assert!(version.at.ends_with('Z') && version.at.contains('T'), "{}", version.at);
    }
    assert!(versions.is_sorted_by(|newer, older| newer.at >= older.at));
    assert_eq!(row(&*store, "echo").await.version, versions[0].revision);
}

pub(crate) async fn history_is_read_in_pages_from_the_newest(subject: &dyn Subject) {
    let store = subject.open().await;
    for round in 0..5 {
        let batch = [put("a", &round.to_string()), put("b", &round.to_string())];
        store.write(&batch, &by("ann")).await.unwrap();
    }
    let page = async |of: Option<&str>, before: Option<Revision>, most: u32| -> Vec<Revision> {
        let query = HistoryQuery { of: of.map(|name| key(None, name)), before, most };
        store.history(&query).await.unwrap().iter().map(|version| version.revision).collect()
    };
    assert_eq!(page(None, None, 3).await, [10, 9, 8]);
    assert_eq!(page(None, Some(8), 3).await, [7, 6, 5]);
    assert_eq!(page(None, Some(2), 3).await, [1]);
    assert_eq!(page(None, Some(1), 3).await, [0; 0]);
    assert_eq!(page(None, None, 0).await, [0; 0]);
    assert_eq!(page(Some("b"), None, 2).await, [10, 8]);
    assert_eq!(page(Some("B"), Some(8), 100).await, [6, 4, 2]);
    assert_eq!(page(Some("c"), None, 100).await, [0; 0]);
}

pub(crate) async fn the_history_of_one_tenant_is_not_that_of_another(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch = [put("a", "1"), of("acme", put("A", "2")), of("acme", purge("a")), put("a", "3")];
    store.write(&batch, &by("ann")).await.unwrap();
    assert_eq!(told(&versions(&*store, None, "a").await), [(4, Updated, true, "3"), (1, Created, true, "1")]);
    let own = versions(&*store, Some("acme"), "a").await;
    assert_eq!(told(&own), [(3, Removed, true, "2"), (2, Created, true, "2")]);
    assert!(own.iter().all(|version| version.tenant.as_deref() == Some("acme") && version.name == "A"));
    assert_eq!(versions(&*store, Some("ACME"), "a").await, []);
}

pub(crate) async fn the_state_at_any_revision_can_be_had(subject: &dyn Subject) {
    let store = subject.open().await;
    for change in [
        put("b", "1"),
        of("acme", put("a", "1")),
        put("A", "1"),
        put("b", "2"),
        purge("a"),
        switch("b", false),
        put("a", "2"),
    ] {
        store.write(&[change], &by("ann")).await.unwrap();
    }
    let state = async |revision: Revision| -> Vec<(Option<String>, String, bool, String)> {
        let state = store.state_at(revision).await.unwrap();
        assert!(state.iter().all(|version| version.revision <= revision && version.kind != Removed));
        state
            .into_iter()
            .map(|version| (version.tenant, version.name, version.enabled, version.config_json))
            .collect()
    };
    let one = |tenant: Option<&str>, name: &str, enabled: bool, config: &str| {
        (tenant.map(str::to_owned), name.to_owned(), enabled, config.to_owned())
    };
    let acme = one(Some("acme"), "a", true, "1");
    assert_eq!(state(0).await, []);
    assert_eq!(state(1).await, [one(None, "b", true, "1")]);
    assert_eq!(state(3).await, [one(None, "A", true, "1"), one(None, "b", true, "1"), acme.clone()]);
    assert_eq!(state(4).await, [one(None, "A", true, "1"), one(None, "b", true, "2"), acme.clone()]);
    assert_eq!(state(5).await, [one(None, "b", true, "2"), acme.clone()]);
    assert_eq!(state(6).await, [one(None, "b", false, "2"), acme.clone()]);
    let now = [one(None, "a", true, "2"), one(None, "b", false, "2"), acme];
    assert_eq!(state(7).await, now);
    assert_eq!(state(1_000).await, now);
}

pub(crate) async fn a_dropped_or_refused_write_leaves_no_version(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch: Vec<_> = (0..300).map(|number| put(&format!("t{number}"), "{}")).collect();
    let author = by("ann");
    drop(tokio::time::timeout(std::time::Duration::ZERO, store.write(&batch, &author)).await);
    let last = store.write(&[put("last", "{}")], &author).await.unwrap();
    let all = store.history(&HistoryQuery { most: 1_000, ..HistoryQuery::default() }).await.unwrap();
    assert!(last == 1 || last == 301, "{last}");
    assert_eq!(i64::try_from(all.len()).unwrap(), last, "one version for each change");
    assert_eq!(store.audit(0, 1_000).await.unwrap().len(), all.len());
    assert!(all.iter().all(|version| version.via.as_deref() == Some("test")));
}

/// R104, R105: another program knows nothing of the history.
pub(crate) async fn what_other_programs_write_is_in_the_history(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    for sql in [
        "UPDATE mcp_tool SET config_json = '2' WHERE name = 'a'",
        "UPDATE mcp_tool SET enabled = FALSE, updated_by = 'etl' WHERE name = 'a'",
        "DELETE FROM mcp_tool WHERE name = 'a'",
        "INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('A', TRUE, '3')",
        "INSERT INTO mcp_tool (name, config_json, tenant_id) VALUES ('a', '4', 'acme')",
    ] {
        subject.sql(sql).await.unwrap();
    }
    let shared = versions(&*store, None, "a").await;
    let expected = [
        (5, Created, true, "3"),
        (4, Removed, false, "2"),
        (3, Updated, false, "2"),
        (2, Updated, true, "2"),
        (1, Created, true, "1"),
    ];
    assert_eq!(told(&shared), expected);
    assert_eq!((shared[2].who.as_deref(), shared[4].who.as_deref()), (Some("etl"), Some("ann")));
    for version in &shared[..4] {
        assert_eq!((&version.via, &version.address), (&None, &None), "{version:?}");
        assert_ne!(version.who.as_deref(), Some("ann"), "{version:?}");
    }
    assert_ne!(shared[1].who.as_deref(), Some("etl"), "who removed it need not be who changed it last");
    assert_eq!(told(&versions(&*store, Some("acme"), "a").await), [(6, Created, true, "4")]);

    // What we write later does not sign what others wrote.
    store.write(&[put("a", "5")], &by("bob")).await.unwrap();
    let newest = versions(&*store, None, "a").await;
    assert_eq!((newest[0].via.as_deref(), newest[1].via.as_deref()), (Some("test"), None));
}

pub(crate) async fn a_rename_by_another_program_is_two_versions(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("old", "1")], &by("ann")).await.unwrap();
    subject.sql("UPDATE mcp_tool SET name = 'new' WHERE name = 'old'").await.unwrap();
    assert_eq!(
        told(&versions(&*store, None, "old").await),
        [(before + 1, Removed, true, "1"), (before, Created, true, "1")]
    );
    assert_eq!(told(&versions(&*store, None, "new").await), [(before + 2, Created, true, "1")]);
    assert_eq!(row(&*store, "new").await.version, before + 2);
    assert_eq!(store.revision().await.unwrap(), before + 2);
    subject.sql("UPDATE mcp_tool SET name = 'New' WHERE name = 'new'").await.unwrap();
    assert_eq!(told(&versions(&*store, None, "new").await)[0], (before + 3, Updated, true, "1"));
    let names = async |revision| -> Vec<String> {
        let state = store.state_at(revision).await.unwrap();
        state.into_iter().map(|version| version.name).collect()
    };
    assert_eq!(names(before).await, ["old"]);
    assert_eq!(names(before + 2).await, ["new"]);
    assert_eq!(names(before + 3).await, ["New"]);
}
