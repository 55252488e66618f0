//! The part of the behaviour suite that is about how much history is kept.

use toolrail_core::{HistoryQuery, Retention, Revision, Store, StoreError};

use super::{Subject, by, of, purge, put};

async fn numbers(store: &dyn Store) -> Vec<Revision> {
    let query = HistoryQuery { most: 1_000, ..HistoryQuery::default() };
    store.history(&query).await.unwrap().iter().map(|version| version.revision).collect()
}

async fn oldest(store: &dyn Store, asked: Revision) -> Result<usize, Revision> {
    match store.state_at(asked).await {
        Ok(state) => Ok(state.len()),
        Err(StoreError::Forgotten { asked: told, oldest }) => {
            assert_eq!(told, asked);
            Err(oldest)
        }
        Err(other) => panic!("{other}"),
    }
}

pub(crate) async fn only_so_many_versions_are_kept(subject: &dyn Subject) {
    let store = subject.open().await;
    for round in 0..4 {
        let batch = [put("a", &round.to_string()), of("acme", put("A", &round.to_string()))];
        store.write(&batch, &by("ann")).await.unwrap();
    }
    store.write(&[put("b", "1"), purge("b")], &by("ann")).await.unwrap();
    let retention = Retention { versions: Some(2), days: None };
    assert_eq!(store.forget(&retention).await.unwrap(), 4);
    assert_eq!(numbers(&*store).await, [10, 9, 8, 7, 6, 5]);
    assert_eq!(store.forget(&retention).await.unwrap(), 0);

    // The newest that were forgotten, 3 and 4, were replaced by 5 and 6.
    assert_eq!(oldest(&*store, 5).await, Err(6));
    assert_eq!(oldest(&*store, 0).await, Err(6));
    assert_eq!(oldest(&*store, 6).await, Ok(2));
    assert_eq!(oldest(&*store, 9).await, Ok(3));

    // The newest version of each is always kept, also of what was removed.
    assert_eq!(store.forget(&Retention { versions: Some(0), days: None }).await.unwrap(), 3);
    assert_eq!(numbers(&*store).await, [10, 8, 7]);
    assert_eq!(oldest(&*store, 9).await, Err(10));
    assert_eq!(oldest(&*store, 10).await, Ok(2));
    assert_eq!(subject.open().await.revision().await.unwrap(), 10, "forgetting is no change");
    assert_eq!(oldest(&*subject.open().await, 9).await, Err(10), "it is remembered");
}

pub(crate) async fn versions_are_forgotten_after_so_many_days(subject: &dyn Subject) {
    let store = subject.open().await;
    for round in 0..3 {
        store.write(&[put("a", &round.to_string()), put("b", "1")], &by("ann")).await.unwrap();
    }
    assert_eq!(store.forget(&Retention { versions: None, days: Some(1) }).await.unwrap(), 0);
    assert_eq!(store.forget(&Retention { versions: Some(5), days: Some(0) }).await.unwrap(), 4);
    assert_eq!(numbers(&*store).await, [6, 5]);
    assert_eq!(oldest(&*store, 5).await, Err(6));
    assert_eq!(oldest(&*store, 6).await, Ok(2));
}

/// What was live a moment ago is not old, however long it had been live.
pub(crate) async fn the_days_of_a_version_begin_when_it_is_replaced(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1"), put("a", "2"), put("a", "3")], &by("ann")).await.unwrap();
    let a_day = Retention { versions: None, days: Some(1) };
    subject.sql("UPDATE mcp_tool_history SET at = '2020-01-01 00:00:00' WHERE revision = 1").await.unwrap();
    assert_eq!(store.forget(&a_day).await.unwrap(), 0);
    subject.sql("UPDATE mcp_tool_history SET at = '2020-01-02 00:00:00' WHERE revision = 2").await.unwrap();
    assert_eq!(store.forget(&a_day).await.unwrap(), 1);
    assert_eq!(numbers(&*store).await, [3, 2]);
}

pub(crate) async fn nothing_is_forgotten_unless_it_is_asked_for(subject: &dyn Subject) {
    let store = subject.open().await;
    store.write(&[put("a", "1"), put("a", "2"), purge("a")], &by("ann")).await.unwrap();
    assert_eq!(store.forget(&Retention::default()).await.unwrap(), 0);
    assert_eq!(store.forget(&Retention { versions: Some(3), days: Some(4_000_000) }).await.unwrap(), 0);
    assert_eq!(numbers(&*store).await, [3, 2, 1]);
    assert_eq!(oldest(&*store, 0).await, Ok(0));
}
