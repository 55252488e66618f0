//! The last good definitions in a file, and a store that is opened late.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolrail_core::{DefinitionStore as _, Store, StoreError};
use toolrail_registry::{BatchMode, LateStore, Registry, StoreSource, Which, WriteError};

use crate::rows::{Health, Rows, of, purge, put, switch};
use crate::store::registration;
use crate::support::{author, builder, names, registry, tool};

fn over(rows: &Arc<Rows>, file: &std::path::Path) -> Registry {
    builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10).with_fallback(file).build()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_the_store_serves_its_last_good_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let rows = Arc::new(Rows::default());
    let text = |name: &str| tool(name, "d").to_string();
    rows.commit(&[put("a", &text("a")), put("b", &text("b")), put("broken", "{"), switch("b", false)]);
    let revision = rows.commit(&[of("acme", put("c", &text("c")))]);
    let before = over(&rows, &file);
    before.refresh().await;
    before.intake().keep_last_good().await;

    rows.set_down(true);
    let after = over(&rows, &file);
    after.refresh().await;
    assert_eq!(names(&after), ["a"]);
    let snapshot = after.snapshot();
    assert_eq!((snapshot.revision, snapshot.entry("b").unwrap().state()), (revision, "disabled"));
    assert_eq!(snapshot.entry("broken").unwrap().state(), "broken");
    assert!(after.catalogue(Some("acme")).find("c").is_some());
    let status = &snapshot.sources[0];
    let failure = status.failure.as_ref().unwrap();
    assert!(
        failure
            .ends_with(&format!("it is down; the last good definitions are served, of revision {revision}")),
        "{failure}"
    );
    assert!(status.since.as_ref().unwrap().ends_with('Z'));

    rows.set_down(false);
    rows.commit(&[put("d", &text("d"))]);
    after.refresh().await;
    assert_eq!(
        (names(&after), after.snapshot().sources[0].failure.as_ref()),
        (vec!["a".into(), "d".into()], None)
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_file_is_for_its_owner_only_and_written_only_after_changes() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let rows = Arc::new(Rows::default());
    rows.commit(&[put("a", &tool("a", "d").to_string())]);
    let registry = over(&rows, &file);
    registry.refresh().await;
    registry.intake().keep_last_good().await;
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    fs::remove_file(&file).unwrap();
    registry.refresh().await;
    registry.intake().keep_last_good().await;
    assert!(!file.exists(), "nothing changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_whole_or_of_another_store_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let rows = Arc::new(Rows::default());
    rows.set_down(true);
    let line =
        serde_json::json!({"name": "a", "enabled": true, "config": tool("a", "d").to_string(), "version": 1});
    for (head, used) in [
        (r#"{"store":"rows","revision":1,"rows":1}"#, 1),
        (r#"{"store":"rows","revision":1,"rows":2}"#, 0),
        (r#"{"store":"others","revision":1,"rows":1}"#, 0),
        ("nonsense", 0),
    ] {
        fs::write(&file, format!("{head}\n{line}\n")).unwrap();
        let registry = over(&rows, &file);
        registry.refresh().await;
        assert_eq!(names(&registry).len(), used, "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_opened_late_refuses_writes_until_then() {
    let rows: Arc<Rows> = Arc::new(Rows::ringing());
    rows.commit(&[put("a", &tool("a", "d").to_string())]);
    let is_there = Arc::new(AtomicBool::new(false));
    let open = {
        let (rows, is_there) = (Arc::clone(&rows), Arc::clone(&is_there));
        move || -> toolrail_registry::OpeningStore {
            let opened: Result<Arc<dyn Store>, StoreError> = if is_there.load(Ordering::SeqCst) {
                Ok(rows.clone())
            } else {
                Err(StoreError::Unavailable { store: "rows".into(), source: "connection refused".into() })
            };
            Box::pin(async move { opened })
        }
    };
    let store = Arc::new(LateStore::new("rows", Box::new(open)));
    let registry = registry(store.clone(), vec![Arc::new(StoreSource::new(store.clone()))], 10);
    registry.refresh().await;
    let failure = registry.snapshot().sources[0].failure.clone().unwrap();
    assert_eq!(failure, "the store rows is unavailable: connection refused");
    let batch = vec![registration(tool("b", "d"))];
    let refused =
        registry.changes().register(batch.clone(), BatchMode::AllOrNothing, &author()).await.unwrap_err();
    assert!(matches!(refused, WriteError::Store(StoreError::Unavailable { .. })), "{refused}");
    assert!(store.bell().is_none());

    is_there.store(true, Ordering::SeqCst);
    let opened = async {
        while store.opened().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), opened).await.unwrap();
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    registry.changes().register(batch, BatchMode::AllOrNothing, &author()).await.unwrap();
    assert_eq!(names(&registry), ["a", "b"]);
    assert!(store.bell().is_some());
}

/// Which loads tell how far they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_load_tells_how_far_it_is() {
    let rows = Arc::new(Rows::default());
    rows.page.store(10, Ordering::SeqCst);
    let many: Vec<_> = (0..25).map(|number| format!("t{number:02}")).collect();
    rows.commit(&many.iter().map(|name| put(name, &tool(name, "d").to_string())).collect::<Vec<_>>());
    let told: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let hears = Arc::clone(&told);
    let registry = builder(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10)
        .with_progress(Arc::new(move |progress| hears.lock().unwrap().push((progress.done, progress.total))))
        .build();
    registry.refresh().await;
    assert_eq!(*told.lock().unwrap(), [(10, 25), (20, 25), (25, 25)]);
    rows.commit(&[put("one", &tool("one", "d").to_string())]);
    registry.refresh().await;
    assert_eq!(told.lock().unwrap().len(), 3, "one change is not worth a word");
}

/// F4: what was refused stays refused, though the definitions are written only now and then.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_off_stays_off_after_a_crash_without_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let rows = Arc::new(Rows::default());
    let tools = ["ours", "purged", "theirs", "deleted", "unread", "back", "stays"];
    rows.commit(&tools.map(|name| put(name, &tool(name, "d").to_string())));
    let before = over(&rows, &file);
    before.refresh().await;
    before.intake().keep_last_good().await;
    before.changes().set_enabled(&Which::shared("ours"), false, &author()).await.unwrap();
    before.changes().purge(&Which::shared("purged"), &author()).await.unwrap();
    before.changes().set_enabled(&Which::shared("back"), false, &author()).await.unwrap();
    before.changes().set_enabled(&Which::shared("back"), true, &author()).await.unwrap();
    // What others do is heard.
    rows.commit(&[switch("theirs", false), purge("deleted")]);
    before.refresh().await;
    rows.set(Health::Unreadable);
    before.changes().set_enabled(&Which::shared("unread"), false, &author()).await.unwrap();
    drop(before);

    rows.set_down(true);
    let after = over(&rows, &file);
    after.refresh().await;
    assert_eq!(names(&after), ["back", "stays"]);
    let snapshot = after.snapshot();
    for (name, state) in [("ours", Some("disabled")), ("theirs", Some("disabled")), ("purged", None)] {
        assert_eq!(snapshot.entry(name).map(|entry| entry.state()), state, "{name}");
    }

    rows.set_down(false);
    after.refresh().await;
    after.intake().keep_last_good().await;
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the definitions have it all now");
    after.changes().set_enabled(&Which::shared("ours"), true, &author()).await.unwrap();
    assert_eq!(names(&after), ["back", "ours", "stays"]);
}

/// Nothing that was acknowledged is lost, and nothing is lost silently.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_off_while_the_folder_takes_no_writes_is_written_when_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let journal = folder.path().join("last-good.jsonl.off");
    let rows = Arc::new(Rows::default());
    rows.commit(&["off", "gone", "back", "stays"].map(|name| put(name, &tool(name, "d").to_string())));
    let before = Arc::new(over(&rows, &file));
    before.refresh().await;
    before.intake().keep_last_good().await;
    // Root may write what is forbidden to others, but nobody writes lines into a folder; nor the definitions, which would
    // make the lines needless.
    let in_the_way = [folder.path().join(format!("last-good.jsonl.{}", std::process::id())), journal];
    for path in &in_the_way {
        fs::create_dir(path).unwrap();
    }
    assert_eq!(before.journal_failure(), None);
    before.changes().set_enabled(&Which::shared("off"), false, &author()).await.unwrap();
    let first = before.journal_failure().unwrap();
    before.changes().purge(&Which::shared("gone"), &author()).await.unwrap();
    before.changes().set_enabled(&Which::shared("back"), false, &author()).await.unwrap();
    before.changes().set_enabled(&Which::shared("back"), true, &author()).await.unwrap();
    assert_eq!(names(&before), ["back", "stays"], "the store has it");
    assert_eq!(before.journal_failure().unwrap().since, first.since);
    assert!(!file.exists(), "rather nothing than what was refused");

    let following = tokio::spawn({
        let before = Arc::clone(&before);
        async move { before.follow().await }
    });
    for path in &in_the_way {
        fs::remove_dir(path).unwrap();
    }
    let written = async {
        while before.journal_failure().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), written).await.unwrap();
    following.abort();
    drop(before);

    rows.set_down(true);
    let after = over(&rows, &file);
    after.refresh().await;
    assert_eq!(names(&after), ["back", "stays"]);
    let snapshot = after.snapshot();
    assert_eq!(snapshot.entry("off").map(|entry| entry.state()), Some("disabled"));
}

/// What the definitions have needs no line any more.
#[tokio::test(flavor = "multi_thread")]
async fn lines_that_wait_are_forgotten_when_the_definitions_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("last-good.jsonl");
    let rows = Arc::new(Rows::default());
    rows.commit(&[put("off", &tool("off", "d").to_string())]);
    let registry = over(&rows, &file);
    registry.refresh().await;
    registry.intake().keep_last_good().await;
    fs::create_dir(folder.path().join("last-good.jsonl.off")).unwrap();
    registry.changes().set_enabled(&Which::shared("off"), false, &author()).await.unwrap();
    assert!(registry.journal_failure().is_some());
    registry.intake().keep_last_good().await;
    assert_eq!(registry.journal_failure(), None);
}
