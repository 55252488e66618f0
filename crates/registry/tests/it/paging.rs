//! Stores are read page by page, and what they do not tell is found out.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use toolrail_core::DefinitionForm;
use toolrail_registry::{Compiler, Registry, RegistryLimits, StoreSource};

use crate::rows::{Rows, purge, put};
use crate::support::{Echo, builder, names, registry, tool};

fn many(count: usize) -> Vec<toolrail_core::Change> {
    let name = |number: usize| format!("t{number:04}");
    (0..count).map(|number| put(&name(number), &tool(&name(number), "d").to_string())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_of_many_pages_is_whole() {
    let rows = Arc::new(Rows::default());
    rows.page.store(100, Ordering::SeqCst);
    rows.commit(&many(1_050));
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10_000);
    registry.refresh().await;
    assert_eq!((names(&registry).len(), rows.asked.load(Ordering::SeqCst)), (1_050, 11));
    rows.commit(&[purge("t0000"), put("new", &tool("new", "d").to_string())]);
    registry.refresh().await;
    assert_eq!((names(&registry).len(), rows.asked.load(Ordering::SeqCst)), (1_050, 12));
    assert!(registry.snapshot().find("t0000").is_none() && registry.snapshot().find("new").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_fails_half_way_publishes_nothing() {
    let rows = Arc::new(Rows::default());
    rows.page.store(10, Ordering::SeqCst);
    rows.commit(&many(30));
    let failing = Arc::clone(&rows);
    let registry = builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10_000)
        .with_progress(Arc::new(move |_| failing.set_down(true)))
        .build();
    registry.refresh().await;
    assert_eq!((names(&registry).len(), registry.snapshot().sources.len()), (0, 1));
    assert!(registry.snapshot().sources[0].failure.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_replaced_is_read_anew() {
    let (rows, other) = (Arc::new(Rows::default()), Rows::default());
    rows.commit(&many(5));
    other.commit(&[put("other", &tool("other", "d").to_string())]);
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    registry.refresh().await;
    rows.replace(&other);
    registry.refresh().await;
    assert_eq!(names(&registry), ["other"]);
}

/// A long reading of changes that fails again and again comes to its end all the same.
#[tokio::test(flavor = "multi_thread")]
async fn changes_that_were_read_before_a_failure_are_not_read_again() {
    let rows = Arc::new(Rows::default());
    rows.page.store(10, Ordering::SeqCst);
    let failing = Arc::clone(&rows);
    let registry = builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10_000)
        .with_progress(Arc::new(move |_| failing.set_down(true)))
        .build();
    registry.refresh().await;
    rows.commit(&many(25));
    for expected in [20, 25] {
        registry.refresh().await;
        let snapshot = registry.snapshot();
        assert_eq!((names(&registry).len(), snapshot.revision), (expected, i64::try_from(expected).unwrap()));
        assert_eq!(snapshot.sources[0].failure.is_some(), expected < 25);
        rows.set_down(false);
    }
    assert_eq!(rows.asked.load(Ordering::SeqCst), 4, "an empty one and three pages");
}

/// Restored from a backup and changed as often as before, or oftener: the revision alone cannot tell.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_restored_and_changed_since_is_read_anew() {
    for changes in [2, 3, 7] {
        let (rows, backup) = (Arc::new(Rows::default()), Rows::default());
        rows.commit(&many(3));
        backup.replace(&rows);
        rows.commit(&[purge("t0000"), put("lost", &tool("lost", "d").to_string())]);
        let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
        registry.refresh().await;
        assert_eq!(names(&registry), ["lost", "t0001", "t0002"]);
        let later: Vec<_> = (0..changes).map(|_| put("later", &tool("later", "d").to_string())).collect();
        backup.commit(&later);
        rows.replace(&backup);
        registry.refresh().await;
        assert_eq!(names(&registry), ["later", "t0000", "t0001", "t0002"], "after {changes} changes");
        let asked = rows.asked.load(Ordering::SeqCst);
        registry.refresh().await;
        assert_eq!(rows.asked.load(Ordering::SeqCst), asked, "once is enough");
    }
}

/// A restored database whose reading fails half way is still another one afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn reading_anew_is_begun_again_after_it_failed_half_way() {
    let (rows, backup) = (Arc::new(Rows::default()), Rows::default());
    rows.commit(&many(30));
    backup.replace(&rows);
    rows.commit(&[put("lost", &tool("lost", "d").to_string())]);
    let failing = Arc::clone(&rows);
    let registry = builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 100)
        .with_progress(Arc::new(move |_| failing.set_down(true)))
        .build();
    registry.refresh().await;
    backup.commit(&[put("later", &tool("later", "d").to_string())]);
    rows.replace(&backup);
    rows.page.store(10, Ordering::SeqCst);
    registry.refresh().await;
    assert!(registry.snapshot().find("lost").is_some(), "nothing of it is published yet");
    rows.page.store(100, Ordering::SeqCst);
    rows.set_down(false);
    registry.refresh().await;
    assert!(registry.snapshot().find("lost").is_none() && registry.snapshot().find("later").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_went_without_a_trace_are_found_out_by_counting() {
    let rows = Arc::new(Rows::default());
    rows.commit(&many(5));
    let compiler = Compiler::new(DefinitionForm::new(vec![Arc::new(Echo)]), Box::new(|_, executor| executor));
    let limits = RegistryLimits { recount: Duration::ZERO, ..RegistryLimits::default() };
    let source = Arc::new(StoreSource::new(rows.clone()));
    let registry = Registry::new(compiler, rows.clone(), vec![source], limits);
    registry.refresh().await;
    assert_eq!(names(&registry).len(), 5);
    rows.truncate();
    registry.refresh().await;
    assert_eq!(names(&registry).len(), 0);
    let asked = rows.asked.load(Ordering::SeqCst);
    registry.refresh().await;
    assert_eq!(rows.asked.load(Ordering::SeqCst), asked, "once is enough");
}
