//! How changes are followed: at once where the store rings, merged where they come in bursts, and without waiting for a
//! source that hangs.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use toolrail_core::{Change, DefinitionForm};
use toolrail_registry::{BatchMode, Compiler, Registry, RegistryLimits, StoreSource};

use crate::rows::{Health, Rows, put};
use crate::store::registration;
use crate::support::{Echo, author, files, names, registry, tool};

const DEADLINE: Duration = Duration::from_secs(20);

fn described(name: &str) -> Change {
    put(name, &tool(name, "d").to_string())
}

async fn until(registry: &Registry, name: &str) {
    let mut lists = registry.feed().lists();
    let there = async {
        while registry.snapshot().find(name).is_none() {
            lists.changed().await.unwrap();
        }
    };
    tokio::time::timeout(DEADLINE, there).await.unwrap_or_else(|_| panic!("{name} does not come"));
}

/// One that looks at its sources by itself only when they ring.
fn ringing(rows: &Arc<Rows>, folder: Option<&std::path::Path>, window: Duration) -> Arc<Registry> {
    let compiler = Compiler::new(DefinitionForm::new(vec![Arc::new(Echo)]), Box::new(|_, executor| executor));
    let limits = RegistryLimits { poll: Duration::from_hours(1), window, ..RegistryLimits::default() };
    let mut sources = folder.map(files).unwrap_or_default();
    sources.push(Arc::new(StoreSource::new(rows.clone())));
    Arc::new(Registry::new(compiler, rows.clone(), sources, limits))
}

fn follow(registry: &Arc<Registry>) -> tokio::task::JoinHandle<()> {
    let following = Arc::clone(registry);
    tokio::spawn(async move { following.follow().await })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_rings_is_looked_at_at_once() {
    let rows = Arc::new(Rows::ringing());
    let registry = ringing(&rows, None, Duration::from_millis(300));
    registry.refresh().await;
    let follower = follow(&registry);
    for name in ["a", "b", "c"] {
        rows.commit(&[described(name)]);
        until(&registry, name).await;
    }
    follower.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_ring_is_polled() {
    let rows = Arc::new(Rows::default());
    let registry = Arc::new(registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10));
    registry.refresh().await;
    let follower = follow(&registry);
    rows.commit(&[described("a")]);
    until(&registry, "a").await;
    follower.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn bursts_are_merged() {
    let rows = Arc::new(Rows::ringing());
    let registry = ringing(&rows, None, Duration::from_millis(300));
    registry.refresh().await;
    let follower = follow(&registry);
    let asked = rows.asked.load(Ordering::SeqCst);
    for number in 0..2_000 {
        rows.commit(&[described(&format!("t{number}"))]);
    }
    rows.commit(&[described("last")]);
    until(&registry, "last").await;
    let asked = rows.asked.load(Ordering::SeqCst) - asked;
    assert!(asked < 100, "{asked} readings for 2,001 changes");
    assert_eq!(registry.snapshot().tool_count(), 2_001);
    follower.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_holds_up_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let rows = Arc::new(Rows::ringing());
    let registry = ringing(&rows, Some(folder.path()), Duration::from_millis(300));
    registry.refresh().await;
    let follower = follow(&registry);
    rows.set(Health::Hanging);
    rows.commit(&[described("stored")]);
    fs::write(folder.path().join("a.json"), tool("filed", "d").to_string()).unwrap();
    until(&registry, "filed").await;
    assert!(registry.snapshot().find("stored").is_none());
    rows.set(Health::Well);
    until(&registry, "stored").await;
    follower.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_never_answers_is_failing() {
    let rows = Arc::new(Rows::default());
    let compiler = Compiler::new(DefinitionForm::new(vec![Arc::new(Echo)]), Box::new(|_, executor| executor));
    let limits = RegistryLimits { patience: Duration::from_millis(20), ..RegistryLimits::default() };
    let source = Arc::new(StoreSource::new(rows.clone()));
    let registry = Registry::new(compiler, rows.clone(), vec![source], limits);
    rows.commit(&[described("a")]);
    registry.refresh().await;
    rows.set(Health::Hanging);
    tokio::time::timeout(DEADLINE, registry.refresh()).await.unwrap();
    let failure = registry.snapshot().sources[0].failure.clone().unwrap();
    assert_eq!(failure, "rows did not answer within 20ms");
    assert_eq!(names(&registry), ["a"]);
}

/// R128: what was written is there when the write is answered, however many write at once.
#[tokio::test(flavor = "multi_thread")]
async fn every_write_is_there_when_it_is_answered() {
    let rows = Arc::new(Rows::ringing());
    let registry = ringing(&rows, None, Duration::from_millis(300));
    registry.refresh().await;
    let follower = follow(&registry);
    let writers: Vec<_> = (0..16)
        .map(|number| {
            let registry = Arc::clone(&registry);
            tokio::spawn(async move {
                for round in 0..10 {
                    let name = format!("t{number}.{round}");
                    let batch = vec![registration(tool(&name, "d"))];
                    registry.changes().register(batch, BatchMode::AllOrNothing, &author()).await.unwrap();
                    assert!(registry.snapshot().find(&name).is_some(), "{name}");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(names(&registry).len(), 160);
    follower.abort();
}
