//! What a reload logs.

use std::cell::RefCell;
use std::fs;
use std::sync::{Arc, Once};

use serde_json::{Value, json};
use toolrail_registry::StoreSource;

use crate::rows::{Rows, put, switch};
use crate::support::{files, no_rows, registry, tool};

thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What this thread logs; a registry works on the thread of its test.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn start() -> Self {
        static ONCE: Once = Once::new();
        // One for all threads: whether an event is wanted is found out once, on whichever thread comes first.
        ONCE.call_once(|| {
            let subscriber = tracing_subscriber::fmt()
                .with_writer(|| Self)
                .without_time()
                .with_ansi(false)
                .with_target(false)
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
        Self
    }

    #[expect(clippy::unused_self, reason = "only after the start is there a log")]
    fn take(&self) -> Vec<String> {
        let bytes = LOGGED.take();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_logs_what_it_changed() {
    let log = Log::start();
    let rows = Arc::new(Rows::default());
    let registry = registry(rows.clone(), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    let put = |name: &str, document: Value| put(name, &document.to_string());
    let broken = json!({"name": "b", "echo": {"nope": 1}});
    rows.commit(&[put("a", tool("a", "d")), put("b", broken)]);
    registry.refresh().await;
    let first = log.take();
    assert!(first.len() == 1 && first[0].contains("definition has an error"), "{first:#?}");

    let changes = [put("a", tool("a", "new")), put("b", tool("b", "d")), put("c", tool("c", "d"))];
    rows.commit(&changes);
    registry.refresh().await;
    // The revision that the change led to, not the one before it.
    let revision = registry.snapshot().revision;
    let line = |what: &str, name: &str| {
        format!(
            " INFO definition {what} name={name:?} origin=\"store row \\\"{name}\\\"\" revision={revision}"
        )
    };
    assert_eq!(log.take(), [line("updated", "a"), line("live again", "b"), line("created", "c")]);
    rows.commit(&[switch("a", false)]);
    registry.refresh().await;
    assert!(log.take()[0].contains("definition switched off"));
    let many: Vec<_> =
        (0..25).map(|number| put(&format!("t{number}"), tool(&format!("t{number}"), "d"))).collect();
    rows.commit(&many);
    registry.refresh().await;
    let told = log.take();
    assert_eq!(told.len(), 21, "{told:#?}");
    let revision = registry.snapshot().revision;
    assert_eq!(
        told[20],
        format!(" INFO more definitions changed source=\"store\" revision={revision} more=5")
    );
    registry.refresh().await;
    assert_eq!(log.take(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_of_a_file_is_logged_once() {
    let log = Log::start();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "name: [a\n").unwrap();
    let registry = registry(no_rows(), files(folder.path()), 10);
    registry.refresh().await;
    let first = log.take();
    assert!(first.len() == 1 && first[0].contains("source has a problem"), "{first:#?}");
    fs::write(folder.path().join("b.json"), tool("b", "d").to_string()).unwrap();
    registry.refresh().await;
    assert_eq!(log.take(), [" INFO definition created name=\"b\" origin=\"b.json\" revision=0"]);
    fs::remove_file(folder.path().join("b.json")).unwrap();
    registry.refresh().await;
    assert_eq!(log.take(), [" INFO definition removed name=\"b\" origin=\"b.json\" revision=0"]);
}
