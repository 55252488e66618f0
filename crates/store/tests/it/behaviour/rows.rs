//! The part of the behaviour suite that is about definitions as gateways write and read them.

use std::collections::BTreeSet;

use toolrail_core::{Change, Changes, Expected, HistoryQuery, Store, StoreError};

use super::{Subject, by, if_there, key, names, of, purge, put, row, switch, uses};

pub(crate) async fn a_new_store_is_empty(subject: &dyn Subject) {
    let store = subject.open().await;
    assert_eq!(store.changes_since(0).await.unwrap(), Changes::default());
    assert_eq!(store.revision().await.unwrap(), 0);
    assert_eq!(store.find(None, "echo").await.unwrap(), None);
    assert_eq!(store.find(Some("acme"), "echo").await.unwrap(), None);
    assert_eq!(store.count().await.unwrap(), 0);
    assert_eq!(store.history(&HistoryQuery { most: 10, ..HistoryQuery::default() }).await.unwrap(), []);
    assert_eq!(store.state_at(0).await.unwrap(), []);
}

/// R106, C9.
pub(crate) async fn what_is_put_is_found_in_any_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let config = r#"{"name":"User.Get","描述":"it's"}"#;
    let revision = store.write(&[put("User.Get", config)], &by("ann")).await.unwrap();
    for name in ["User.Get", "user.get", "USER.GET"] {
        let row = row(&*store, name).await;
        assert_eq!((row.name.as_str(), row.config_json.as_str()), ("User.Get", config));
        assert_eq!((row.enabled, row.version, row.updated_by.as_deref()), (true, revision, Some("ann")));
        assert!(row.updated_at.ends_with('Z') && row.updated_at.contains('T'), "{}", row.updated_at);
    }
    assert_eq!(store.find(None, "user").await.unwrap(), None);
}

/// C9.
pub(crate) async fn a_put_replaces_the_row_whose_name_differs_only_in_case(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("echo", "1")], &by("ann")).await.unwrap();
    store.write(&[put("Echo", "2")], &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!((names(&changes), changes.removed.len()), (vec!["Echo"], 0));
    assert_eq!(names(&store.changes_since(0).await.unwrap()), ["Echo"]);
}

/// C9: folding is the same in every database, whatever its collations.
pub(crate) async fn only_ascii_letters_are_folded(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("Ärger", "1"), put("ärger", "2"), put("arger", "3")], &by("ann")).await.unwrap();
    assert_eq!(store.count().await.unwrap(), 3);
    assert_eq!(row(&*store, "ÄRGER").await.config_json, "1");
    assert_eq!(row(&*store, "äRGER").await.config_json, "2");
    assert_eq!(row(&*store, "ARGER").await.config_json, "3");
    store.write(&[purge("ÄrgeR")], &by("ann")).await.unwrap();
    assert_eq!(store.changes_since(3).await.unwrap().removed, [key(None, "Ärger")]);
}

/// R114, R115, C16: one counter for all rows, each row bearing the value it changed at.
pub(crate) async fn every_change_moves_the_revision_by_one(subject: &dyn Subject) {
    let store = subject.open().await;
    let changes =
        [put("a", "1"), put("b", "1"), put("a", "2"), switch("b", false), purge("a"), put("a", "3")];
    for (index, change) in changes.iter().enumerate() {
        let revision = store.write(std::slice::from_ref(change), &by("ann")).await.unwrap();
        assert_eq!(revision, i64::try_from(index).unwrap() + 1, "{change:?}");
        assert_eq!(store.revision().await.unwrap(), revision);
    }
    let together = store.write(&[put("c", "1"), put("d", "1")], &by("ann")).await.unwrap();
    assert_eq!(together, 8);
    assert_eq!((row(&*store, "c").await.version, row(&*store, "d").await.version), (7, 8));
}

pub(crate) async fn only_what_changed_is_reported(subject: &dyn Subject) {
    let store = subject.open().await;
    let first = store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    assert_eq!(
        store.changes_since(first).await.unwrap(),
        Changes { revision: first, ..Changes::default() },
        "nothing new"
    );
    let second = store.write(&[put("b", "2"), purge("c")], &by("ann")).await.unwrap();
    let changes = store.changes_since(first).await.unwrap();
    assert_eq!((names(&changes), changes.revision), (vec!["b"], second));
    assert_eq!(changes.removed.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["c"]);
    let everything = store.changes_since(0).await.unwrap();
    assert_eq!((names(&everything), everything.revision), (vec!["a", "b"], second));
}

/// C15.
pub(crate) async fn updates_within_one_millisecond_are_all_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = store.write(&[put("a", "0")], &by("ann")).await.unwrap();
    for round in 1..200 {
        store.write(&[put("a", &round.to_string())], &by("ann")).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        assert_eq!((changes.rows.len(), changes.rows[0].config_json.clone()), (1, round.to_string()));
        seen = changes.revision;
    }
}

/// C15, C17.
pub(crate) async fn a_removal_is_seen_until_the_name_comes_back(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("Echo", "1"), put("other", "1")], &by("ann")).await.unwrap();
    let removed = store.write(&[purge("ECHO")], &by("ann")).await.unwrap();
    for since in [1, before] {
        assert_eq!(
            store
                .changes_since(since)
                .await
                .unwrap()
                .removed
                .iter()
                .map(|key| key.name.as_str())
                .collect::<Vec<_>>(),
            ["echo"]
        );
    }
    assert!(store.changes_since(removed).await.unwrap().removed.is_empty());
    store.write(&[put("eCHO", "2")], &by("ann")).await.unwrap();
    let changes = store.changes_since(before).await.unwrap();
    assert_eq!((names(&changes), changes.removed.len()), (vec!["eCHO"], 0));
}

pub(crate) async fn removing_or_switching_an_unknown_name_has_no_effect(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    let after = store.write(&[purge("b"), switch("b", false)], &by("ann")).await.unwrap();
    assert_eq!(before, after);
    assert_eq!(store.write(&[], &by("ann")).await.unwrap(), before);
}

/// R106, C17.
pub(crate) async fn switching_off_and_on_is_seen(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut seen = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    for enabled in [false, true] {
        store.write(&[switch("A", enabled)], &by("bob")).await.unwrap();
        let changes = store.changes_since(seen).await.unwrap();
        assert_eq!((changes.rows[0].enabled, changes.rows[0].updated_by.as_deref()), (enabled, Some("bob")));
        assert_eq!(changes.rows[0].config_json, "1");
        seen = changes.revision;
    }
}

/// R27: a batch in one transaction.
pub(crate) async fn all_changes_of_a_write_are_made_or_none(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch: Vec<Change> = (0..500).map(|number| put(&format!("t{number}"), "{}")).collect();
    let author = by("ann");
    let writing = store.write(&batch, &author);
    // Dropped after its first step, as when the client of a batch goes away.
    drop(tokio::time::timeout(std::time::Duration::ZERO, writing).await);
    let reader = subject.open().await;
    let count = reader.changes_since(0).await.unwrap().rows.len();
    assert!(count == 0 || count == 500, "{count} of 500 rows were written");
    let revision = store.write(&batch, &by("ann")).await.unwrap();
    assert_eq!(reader.changes_since(0).await.unwrap().rows.len(), 500);
    assert!(revision == 500 || revision == 1000, "{revision}");
}

pub(crate) async fn a_batch_is_made_in_its_order(subject: &dyn Subject) {
    let store = subject.open().await;
    let batch = [
        put("a", "1"),
        put("A", "2"),
        put("b", "1"),
        switch("a", false),
        of("acme", put("a", "3")),
        purge("B"),
        put("B", "4"),
        purge("none"),
        put("a", "5"),
        switch("b", false),
    ];
    assert_eq!(store.write(&batch, &by("ann")).await.unwrap(), 9);
    let changes = store.changes_since(0).await.unwrap();
    let told: Vec<_> = changes
        .rows
        .iter()
        .map(|row| {
            (row.tenant.as_deref(), row.name.as_str(), row.enabled, row.config_json.as_str(), row.version)
        })
        .collect();
    assert_eq!(
        told,
        [(Some("acme"), "a", true, "3", 5), (None, "a", true, "5", 8), (None, "B", false, "4", 9)]
    );
    // What is expected is expected at the place in the batch.
    let twice = [put("new", "1"), if_there(Expected::Absent, put("NEW", "2"))];
    let refused = store.write(&twice, &by("ann")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
    let again = [purge("a"), if_there(Expected::Absent, put("a", "6"))];
    assert_eq!(store.write(&again, &by("ann")).await.unwrap(), 11);
}

/// R127.
pub(crate) async fn handles_see_each_others_writes(subject: &dyn Subject) {
    let (one, two) = (subject.open().await, subject.open().await);
    for round in 0..20 {
        let (writer, reader) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let before = reader.revision().await.unwrap();
        let after = writer.write(&[put(&format!("t{round}"), "{}")], &by("ann")).await.unwrap();
        let changes = reader.changes_since(before).await.unwrap();
        assert_eq!(changes.revision, after);
        // Since 0 everything is reported, and before the first write the revision is 0.
        assert_eq!(changes.rows.len(), 1);
    }
}

pub(crate) async fn writers_at_once_lose_nothing(subject: &dyn Subject) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = subject.open().await;
        writers.spawn(async move {
            for round in 0..25 {
                store.write(&[put(&format!("w{writer}.{round}"), "{}")], &by("ann")).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let changes = subject.open().await.changes_since(0).await.unwrap();
    assert_eq!((changes.rows.len(), changes.revision), (200, 200));
    let versions: BTreeSet<i64> = changes.rows.iter().map(|row| row.version).collect();
    assert_eq!(versions.len(), 200, "no two changes share a revision");
}

/// R108.
pub(crate) async fn everything_survives_reopening(subject: &dyn Subject) {
    let query = HistoryQuery { most: 100, ..HistoryQuery::default() };
    let all = async |store: &dyn Store| {
        let changes = store.changes_since(1).await.unwrap();
        (
            Changes { age: None, ..changes },
            store.count().await.unwrap(),
            store.history(&query).await.unwrap(),
            store.state_at(4).await.unwrap(),
            store.audit(0, 100).await.unwrap(),
            store.audit_head().await.unwrap(),
            store.usage().await.unwrap(),
        )
    };
    let before = {
        let store = subject.open().await;
        let batch = [put("a", "1"), put("b", "2"), put("c", "3"), of("acme", put("a", "4"))];
        store.write(&batch, &by("ann")).await.unwrap();
        store.write(&[switch("a", false), purge("b")], &by("bob")).await.unwrap();
        store.record_uses(&[uses("a", 3)]).await.unwrap();
        all(&*store).await
    };
    let after = all(&*subject.open().await).await;
    assert_eq!(after, before);
    assert_eq!((after.1, after.2.len(), after.3.len(), after.4.len()), (3, 6, 4, 6));
}

pub(crate) async fn reading_while_writing_gives_the_rows_of_the_revision(subject: &dyn Subject) {
    let (writer, reader) = (subject.open().await, subject.open().await);
    let writing = tokio::spawn(async move {
        for round in 0..100 {
            writer
                .write(&[put(&format!("a{round}"), "{}"), put(&format!("b{round}"), "{}")], &by("ann"))
                .await
                .unwrap();
        }
    });
    loop {
        let finished = writing.is_finished();
        let changes = reader.changes_since(0).await.unwrap();
        assert_eq!(
            i64::try_from(changes.rows.len()).unwrap(),
            changes.revision,
            "every row is one change here"
        );
        assert_eq!(changes.revision % 2, 0, "half a write was seen");
        if finished {
            break;
        }
    }
    writing.await.unwrap();
    assert_eq!(reader.revision().await.unwrap(), 200);
}

/// R75.
pub(crate) async fn uses_are_counted_and_change_no_revision(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("Echo", "1"), put("b", "1")], &by("ann")).await.unwrap();
    assert!(store.usage().await.unwrap().is_empty());
    store.record_uses(&[uses("echo", 2), uses("b", 1)]).await.unwrap();
    store.record_uses(&[uses("echo", 3)]).await.unwrap();
    let usage = store.usage().await.unwrap();
    let counts: Vec<(&str, i64)> = usage.iter().map(|tool| (tool.tool.name.as_str(), tool.count)).collect();
    assert_eq!(counts, [("b", 1), ("echo", 5)]);
    assert!(usage.iter().all(|tool| tool.last_used.ends_with('Z')));
    assert_eq!(store.revision().await.unwrap(), before);
    store.write(&[purge("echo")], &by("ann")).await.unwrap();
    assert_eq!(store.usage().await.unwrap().len(), 1);
}

pub(crate) async fn a_key_is_made_once_and_shared_by_all(subject: &dyn Subject) {
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = subject.open().await;
        asking.spawn(async move { store.shared_key("sessions").await.unwrap() });
    }
    let keys: BTreeSet<[u8; 32]> = asking.join_all().await.into_iter().collect();
    assert_eq!(keys.len(), 1);
    let store = subject.open().await;
    assert!(keys.contains(&store.shared_key("sessions").await.unwrap()), "it is kept");
    assert!(!keys.contains(&store.shared_key("other").await.unwrap()), "each name has its own");
    assert_eq!(store.revision().await.unwrap(), 0, "a key is no definition");
}
