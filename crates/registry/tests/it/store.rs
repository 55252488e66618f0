//! The store as a source: precedence, registrations, rows of other programs, use counts.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolrail_core::{Change, Changes, News, NewsKind, Revision, Row, Store, StoreError, Usage, async_trait};
use toolrail_registry::{BatchMode, Registration, SourceId, StoreSource, WriteError, Written};

use crate::support::{call, files, names, registry, tool};

/// A store in memory, which can be made to fail.
#[derive(Default)]
pub(crate) struct Rows {
    kept: Mutex<Vec<Row>>,
    revision: Mutex<Revision>,
    down: Mutex<bool>,
    uses: Mutex<Vec<(String, u32)>>,
}

impl Rows {
    fn check(&self) -> Result<(), StoreError> {
        if *self.down.lock().unwrap() {
            return Err(StoreError::Unavailable { store: "rows".into(), source: "it is down".into() });
        }
        Ok(())
    }
}

#[async_trait]
impl Store for Rows {
    fn describe(&self) -> String {
        "rows".into()
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.check()?;
        Ok(*self.revision.lock().unwrap())
    }

    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError> {
        self.check()?;
        let rows = self.kept.lock().unwrap().iter().filter(|row| row.version > since).cloned().collect();
        Ok(Changes { revision: *self.revision.lock().unwrap(), rows, removed: Vec::new() })
    }

    async fn find(&self, name: &str) -> Result<Option<Row>, StoreError> {
        Ok(self.kept.lock().unwrap().iter().find(|row| row.name == name).cloned())
    }

    async fn write(&self, changes: &[Change], _: &str) -> Result<Revision, StoreError> {
        self.check()?;
        let mut revision = self.revision.lock().unwrap();
        let mut rows = self.kept.lock().unwrap();
        for change in changes {
            *revision += 1;
            match change {
                Change::Put { name, enabled, config_json } => {
                    rows.retain(|row| row.name != *name);
                    rows.push(Row {
                        name: name.clone(),
                        enabled: *enabled,
                        config_json: config_json.clone(),
                        version: *revision,
                        updated_at: String::new(),
                        updated_by: None,
                    });
                }
                Change::SetEnabled { name, enabled } => {
                    for row in rows.iter_mut().filter(|row| row.name == *name) {
                        row.enabled = *enabled;
                        row.version = *revision;
                    }
                }
                Change::Purge { name } => rows.retain(|row| row.name != *name),
            }
        }
        Ok(*revision)
    }

    async fn record_uses(&self, calls_by_name: &[(String, u32)]) -> Result<(), StoreError> {
        self.check()?;
        self.uses.lock().unwrap().extend(calls_by_name.iter().cloned());
        Ok(())
    }

    async fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        Ok(Vec::new())
    }

    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.check()?;
        Ok([u8::try_from(name.len()).unwrap(); 32])
    }

    async fn leave(&self, _: &str, _: &[u8]) -> Result<(), StoreError> {
        self.check()
    }

    async fn collect(&self, _: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.check()?;
        Ok(Vec::new())
    }

    async fn announce(&self, _: NewsKind, _: &[Vec<u8>]) -> Result<(), StoreError> {
        self.check()
    }

    async fn news_after(&self, _: i64) -> Result<Vec<News>, StoreError> {
        self.check()?;
        Ok(Vec::new())
    }
}

pub(crate) fn registration(document: Value) -> Registration {
    Registration::from_request(document, "").unwrap()
}

/// R117: the store wins over files, even with a tool that is switched off.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_wins_over_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), tool("a", "from the file").to_string()).unwrap();
    let rows = Arc::new(Rows::default());
    let mut sources = files(folder.path());
    sources.push(Arc::new(StoreSource::new(rows.clone())));
    let registry = registry(Some(rows), sources, 10);
    registry.refresh().await;
    assert_eq!(registry.snapshot().entry("a").unwrap().source, SourceId::Files);
    let refused = registry.set_enabled("a", false, "test").await.unwrap_err();
    assert!(matches!(refused, WriteError::Elsewhere { .. }), "{refused}");

    registry
        .register(vec![registration(tool("a", "from the store"))], BatchMode::AllOrNothing, "test")
        .await
        .unwrap();
    assert_eq!(registry.snapshot().find("a").unwrap().description.as_deref(), Some("from the store"));
    registry.set_enabled("a", false, "test").await.unwrap();
    assert!(registry.snapshot().find("a").is_none());
}

/// R126: a store that fails leaves the last good snapshot in place; it catches up afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_leaves_the_last_good_snapshot() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    registry.register(vec![registration(tool("a", "d"))], BatchMode::AllOrNothing, "test").await.unwrap();
    *rows.down.lock().unwrap() = true;
    registry.refresh().await;
    assert_eq!(names(&registry), ["a"]);
    assert!(registry.snapshot().sources[0].failure.as_ref().unwrap().contains("it is down"));
    *rows.down.lock().unwrap() = false;
    registry.refresh().await;
    assert_eq!(registry.snapshot().sources[0].failure, None);
}

/// R27: a batch is written whole or each on its own, with a result for each.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_written_whole_or_each_on_its_own() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows))], 10);
    let batch = || {
        let bodies = [tool("a", "d"), json!({"name": "b", "type": "nope"}), tool("A", "again")];
        bodies.into_iter().map(registration).collect::<Vec<_>>()
    };
    let (results, _) = registry.register(batch(), BatchMode::AllOrNothing, "test").await.unwrap();
    let written: Vec<_> = results.iter().map(|result| result.written).collect();
    assert_eq!(written, [Written::HeldBack, Written::Refused, Written::Refused]);
    assert_eq!(names(&registry), [""; 0]);
    let (results, _) = registry.register(batch(), BatchMode::EachOnItsOwn, "test").await.unwrap();
    assert_eq!(results[0].written, Written::Created);
    assert_eq!(names(&registry), ["a"]);
    let (results, _) =
        registry.register(vec![registration(tool("A", "d"))], BatchMode::EachOnItsOwn, "test").await.unwrap();
    assert_eq!(results[0].written, Written::Refused, "another spelling of an existing name");
}

/// R82, R83: the wrapped and the bare form.
#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_wrapped_or_bare() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows))], 10);
    let mut nameless = tool("a", "d");
    nameless.as_object_mut().unwrap().remove("name");
    let wrapped = registration(json!({"name": "w", "enabled": false, "configJson": nameless}));
    let text = registration(json!({"name": "t", "configJson": tool("t", "d").to_string()}));
    let off = registration({
        let mut off = tool("off", "d");
        off["enabled"] = false.into();
        off
    });
    let (results, _) =
        registry.register(vec![wrapped, text, off], BatchMode::AllOrNothing, "test").await.unwrap();
    assert!(results.iter().all(|result| result.written == Written::Created), "{results:?}");
    assert_eq!(names(&registry), ["t"]);
    registry.set_enabled("off", true, "test").await.unwrap();
    registry.set_enabled("W", true, "test").await.unwrap();
    assert_eq!(names(&registry), ["off", "t", "w"]);
    let mismatch = registration(json!({"name": "x", "configJson": tool("y", "d")}));
    let (results, _) = registry.register(vec![mismatch], BatchMode::AllOrNothing, "test").await.unwrap();
    assert_eq!(results[0].problems[0].pointer, "/configJson/name");
    assert!(Registration::from_request(json!({"configJson": {}, "colour": 1}), "").is_err());
}

/// R107: rows of other programs: broken JSON, another name inside, its own word on `enabled`.
#[tokio::test(flavor = "multi_thread")]
async fn odd_rows_become_problems_and_the_rest_go_live() {
    let rows = Arc::new(Rows::default());
    let put = |name: &str, config_json: String| Change::Put { name: name.into(), enabled: true, config_json };
    let mut off = tool("off", "d");
    off["enabled"] = false.into();
    let changes = [
        put("broken", "{".into()),
        put("other", tool("name", "d").to_string()),
        put("off", off.to_string()),
        put("good", tool("good", "d").to_string()),
    ];
    rows.write(&changes, "sql").await.unwrap();
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows))], 10);
    registry.refresh().await;
    assert_eq!(names(&registry), ["good"]);
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.entry("broken").unwrap().state(), "broken");
    assert_eq!(snapshot.entry("other").unwrap().state(), "broken");
    assert_eq!(snapshot.entry("off").unwrap().state(), "disabled");
    registry.set_enabled("off", true, "test").await.unwrap();
    assert_eq!(names(&registry), ["good", "off"]);
}

/// R75: every call counts, also while the store is away or the definition is being replaced.
#[tokio::test(flavor = "multi_thread")]
async fn uses_are_counted_and_none_is_lost() {
    let rows = Arc::new(Rows::default());
    let registry = registry(Some(rows.clone()), vec![Arc::new(StoreSource::new(rows.clone()))], 10);
    let put = |text| registry.register(vec![registration(tool("a", text))], BatchMode::AllOrNothing, "test");
    put("one").await.unwrap();
    call(&registry, "a", "{}").await.unwrap();
    *rows.down.lock().unwrap() = true;
    registry.record_uses().await;
    *rows.down.lock().unwrap() = false;
    put("two").await.unwrap();
    call(&registry, "a", "{}").await.unwrap();
    registry.record_uses().await;
    registry.record_uses().await;
    assert_eq!(*rows.uses.lock().unwrap(), [("a".to_owned(), 2)]);
}
