//! Writes that a replica cannot read back: what they take off is off at once, and nothing is claimed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolrail_registry::{BatchMode, Registry, StoreSource, Which};

use crate::rows::{Health, Rows, put, switch};
use crate::store::registration;
use crate::support::{author, names, registry, tool};

fn text(name: &str) -> String {
    tool(name, "d").to_string()
}

async fn with_tools(tools: &[&str]) -> (Arc<Rows>, Registry) {
    let rows = Arc::new(Rows::default());
    let changes: Vec<_> = tools.iter().map(|name| put(name, &text(name))).collect();
    rows.commit(&changes);
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    registry.refresh().await;
    (rows, registry)
}

/// R86, R88: an acknowledged switch or removal is effective, even if the store can no longer be read.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_switched_off_or_removed_is_off_though_it_cannot_be_read_back() {
    let (rows, registry) = with_tools(&["a", "b", "c", "d"]).await;
    let lists = *registry.feed().lists().borrow();
    rows.set(Health::Unreadable);
    let off = registry.changes().set_enabled(&Which::shared("a"), false, &author()).await.unwrap();
    let again = registry.changes().set_enabled(&Which::shared("A"), false, &author()).await.unwrap();
    registry.changes().purge(&Which::shared("B"), &author()).await.unwrap();
    let mut replaced = tool("d", "new");
    replaced["enabled"] = false.into();
    registry
        .changes()
        .register(vec![registration(replaced)], BatchMode::AllOrNothing, &author())
        .await
        .unwrap();
    let snapshot = registry.snapshot();
    assert_eq!(names(&registry), ["c"]);
    assert_eq!(snapshot.entry("a").unwrap().state(), "disabled");
    assert!(snapshot.entry("b").is_none());
    assert!(
        snapshot.revision < off.revision && again.revision == off.revision,
        "it says that it was not read"
    );
    assert!(registry.feed().lists().borrow().tools > lists.tools, "clients hear of it");
    rows.set(Health::Well);
    registry.changes().set_enabled(&Which::shared("a"), true, &author()).await.unwrap();
    assert_eq!((names(&registry), registry.snapshot().revision), (vec!["a".to_owned(), "c".to_owned()], 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_replica_switched_off_is_off_here_once_somebody_asks() {
    let (rows, registry) = with_tools(&["a"]).await;
    rows.set(Health::Unreadable);
    rows.commit(&[switch("a", false)]);
    registry.changes().set_enabled(&Which::shared("a"), false, &author()).await.unwrap();
    assert_eq!(names(&registry), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_registered_and_not_read_back_is_not_there_yet() {
    let (rows, registry) = with_tools(&["a"]).await;
    rows.set(Health::Unreadable);
    let batch = vec![registration(tool("new", "d"))];
    let (_, revision) = registry.changes().register(batch, BatchMode::AllOrNothing, &author()).await.unwrap();
    assert!(registry.snapshot().revision < revision && registry.snapshot().entry("new").is_none());
    rows.set(Health::Well);
    registry.refresh().await;
    assert_eq!((names(&registry).len(), registry.snapshot().revision), (2, revision));
}

/// A database that was replaced knows nothing of what was written to the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_database_is_believed_over_what_was_written() {
    let (rows, registry) = with_tools(&["a", "b"]).await;
    let other = Rows::default();
    other.commit(&[put("a", &text("a"))]);
    rows.set(Health::Unreadable);
    registry.changes().purge(&Which::shared("a"), &author()).await.unwrap();
    assert_eq!(names(&registry), ["b"]);
    rows.replace(&other);
    rows.set(Health::Well);
    registry.refresh().await;
    assert_eq!((names(&registry), rows.asked.load(Ordering::SeqCst)), (vec!["a".to_owned()], 2));
}
