//! The part of the behaviour suite that is about lost updates: a change says what it expects to find (C8).

use toolrail_core::{Action, Change, Expected, Row, StoreError, VersionKind};

use super::{Subject, by, if_there, of, purge, put, row, row_of, switch};

fn conflict(error: StoreError) -> (String, Expected, Option<Row>) {
    match error {
        StoreError::Conflict { name, expected, found } => (name, expected, found.map(|row| *row)),
        other => panic!("no conflict: {other}"),
    }
}

pub(crate) async fn a_change_is_made_only_if_what_was_expected_is_there(subject: &dyn Subject) {
    use Expected::{Absent, Anything, Version};
    let store = subject.open().await;
    let make = async |change: Change| store.write(&[change], &by("ann")).await;
    let first = make(if_there(Absent, put("a", "1"))).await.unwrap();
    make(if_there(Absent, put("A", "2"))).await.unwrap_err();
    make(if_there(Version(first + 1), put("a", "2"))).await.unwrap_err();
    assert_eq!(store.revision().await.unwrap(), first);

    let second = make(if_there(Version(first), put("A", "2"))).await.unwrap();
    for change in [put("a", "3"), switch("a", false), purge("a")] {
        make(if_there(Version(first), change)).await.unwrap_err();
    }
    assert_eq!(
        (row(&*store, "a").await.config_json.as_str(), row(&*store, "a").await.version),
        ("2", second)
    );

    let third = make(if_there(Version(second), switch("a", false))).await.unwrap();
    let fourth = make(if_there(Anything, put("a", "4"))).await.unwrap();
    assert_eq!((third, fourth), (second + 1, second + 2));
    make(if_there(Version(fourth), purge("a"))).await.unwrap();
    assert_eq!(store.find(None, "a").await.unwrap(), None);

    for change in [put("a", "5"), switch("a", true), purge("a")] {
        make(if_there(Version(fourth), change)).await.unwrap_err();
    }
    make(if_there(Absent, put("a", "5"))).await.unwrap();
}

pub(crate) async fn a_conflict_tells_what_is_there(subject: &dyn Subject) {
    let store = subject.open().await;
    let version = store.write(&[put("Echo", r#"{"a":1}"#)], &by("ann")).await.unwrap();
    let there = row(&*store, "echo").await;
    for (expected, change) in [
        (Expected::Absent, put("echo", "2")),
        (Expected::Version(version + 7), put("echo", "2")),
        (Expected::Version(version + 7), switch("echo", false)),
        (Expected::Version(version + 7), purge("echo")),
    ] {
        let error = store.write(&[if_there(expected, change)], &by("bob")).await.unwrap_err();
        assert!(error.to_string().contains("\"echo\""), "{error}");
        assert_eq!(conflict(error), ("echo".to_owned(), expected, Some(there.clone())));
    }
    let expected = Expected::Version(version);
    let error = store.write(&[if_there(expected, put("other", "2"))], &by("bob")).await.unwrap_err();
    assert_eq!(conflict(error), ("other".to_owned(), expected, None));
}

pub(crate) async fn a_conflict_in_a_batch_makes_nothing(subject: &dyn Subject) {
    let store = subject.open().await;
    let before = store.write(&[put("a", "1"), put("b", "1")], &by("ann")).await.unwrap();
    let batch = [
        put("new", "1"),
        put("a", "2"),
        switch("b", false),
        if_there(Expected::Version(before + 1), put("b", "2")),
        purge("a"),
    ];
    let error = store.write(&batch, &by("bob")).await.unwrap_err();
    assert_eq!(conflict(error).0, "b");
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(store.count().await.unwrap(), 2);
    assert_eq!(row(&*store, "a").await.config_json, "1");
    assert!(row(&*store, "b").await.enabled);
    let query = toolrail_core::HistoryQuery { most: 10, ..Default::default() };
    let versions = store.history(&query).await.unwrap();
    assert!(versions.iter().all(|version| version.kind == VersionKind::Created), "{versions:?}");
    assert_eq!(store.audit(0, 10).await.unwrap().len(), 2);
}

pub(crate) async fn what_is_expected_is_told_apart_by_tenant(subject: &dyn Subject) {
    let store = subject.open().await;
    let shared = store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    let own = if_there(Expected::Absent, of("acme", put("a", "2")));
    let own = store.write(&[own], &by("ann")).await.unwrap();
    let wrong = if_there(Expected::Version(shared), of("acme", put("a", "3")));
    let found = conflict(store.write(&[wrong], &by("ann")).await.unwrap_err()).2.unwrap();
    assert_eq!((found.tenant.as_deref(), found.version), (Some("acme"), own));
    let right = if_there(Expected::Version(own), of("acme", put("a", "3")));
    store.write(&[right], &by("ann")).await.unwrap();
    assert_eq!(row_of(&*store, "acme", "a").await.config_json, "3");
    assert_eq!(row(&*store, "a").await.config_json, "1");
}

pub(crate) async fn of_writers_at_once_with_one_expectation_one_wins(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut version = store.write(&[put("a", "0")], &by("ann")).await.unwrap();
    for _ in 0..10 {
        let mut writers = tokio::task::JoinSet::new();
        for number in 0..4 {
            let store = subject.open().await;
            let action = Action::Put { enabled: true, config_json: number.to_string() };
            let expected = Expected::Version(version);
            let change = Change { tenant: None, name: "a".into(), expected, action };
            writers.spawn(async move { store.write(&[change], &by("ann")).await });
        }
        let results = writers.join_all().await;
        let won: Vec<i64> = results.iter().filter_map(|result| result.as_ref().ok().copied()).collect();
        assert_eq!(won, [version + 1]);
        for lost in results.into_iter().filter_map(Result::err) {
            assert_eq!(conflict(lost).2.unwrap().version, version + 1);
        }
        version = won[0];
    }
}
