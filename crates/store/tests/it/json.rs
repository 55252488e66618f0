//! The store in a JSON file: the behaviour suite, and what only a file that people read and edit can get wrong.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_core::{
    Action, AuditCheck, Change, HistoryQuery, NewsKind, RecordWrite, RecordWritten, Store, StoreError,
    ToolKey, Uses, async_trait,
};
use toolrail_store::{StoreUrl, open};

use crate::behaviour::{Subject, by, of, purge, put, put_record, suite};

/// One process uses a file, so every handle to it is the same.
struct Shared {
    store: Arc<dyn Store>,
    _folder: TempDir,
}

async fn shared() -> Shared {
    let folder = Folder::new();
    Shared { store: folder.open().await, _folder: folder.folder }
}

#[async_trait]
impl Subject for Shared {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    async fn sql(&self, _: &str) -> Result<(), String> {
        unreachable!("nobody writes a file by SQL")
    }
}

suite! { @without_other_programs shared }

struct Folder {
    folder: TempDir,
    file: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("inner/tools.json");
        Self { folder, file }
    }

    async fn open(&self) -> Arc<dyn Store> {
        self.try_open().await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn try_open(&self) -> Result<Arc<dyn Store>, StoreError> {
        open(&StoreUrl::Json(self.file.clone())).await
    }

    fn read(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(&self.file).unwrap()).unwrap()
    }

    /// As an editor does it: another file takes the place.
    fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut value = self.read();
        edit(&mut value);
        self.replace(&serde_json::to_string_pretty(&value).unwrap());
    }

    fn replace(&self, text: &str) {
        let beside = self.folder.path().join("edited");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, &self.file).unwrap();
    }
}

async fn told(store: &dyn Store) -> Vec<(Option<String>, String, bool, String)> {
    let rows = store.changes_since(0).await.unwrap().rows;
    rows.into_iter().map(|row| (row.tenant, row.name, row.enabled, row.config_json)).collect()
}

fn row(
    tenant: Option<&str>,
    name: &str,
    enabled: bool,
    config: &str,
) -> (Option<String>, String, bool, String) {
    (tenant.map(Into::into), name.into(), enabled, config.into())
}

#[tokio::test]
async fn everything_is_there_again_after_a_restart_and_what_was_acknowledged_after_a_crash() {
    let folder = Folder::new();
    let store = folder.open().await;
    store.write(&[put("b", "{\"x\":1.50}"), of("acme", put("A", "{\"x\":1}"))], &by("ann")).await.unwrap();
    store.write(&[put("b", "no json"), put("gone", "1"), purge("gone")], &by("bob")).await.unwrap();
    let key = store.shared_key("mcp").await.unwrap();
    store.announce(NewsKind::Lasting, &[b"\x00news".to_vec()]).await.unwrap();
    store.write_record(&put_record("key", "a", "{\"hash\": \"\u{e9}\"}")).await.unwrap();
    store.write_record(&put_record("key", "b", "")).await.unwrap();
    store.write_record(&RecordWrite { body: None, ..put_record("key", "b", "") }).await.unwrap();
    let query = HistoryQuery { most: 100, ..HistoryQuery::default() };
    let all = async |store: &dyn Store| {
        let mut rows = store.changes_since(0).await.unwrap();
        rows.age = None;
        (
            rows,
            store.changes_since(2).await.unwrap().removed,
            store.history(&query).await.unwrap(),
            store.audit(0, 100).await.unwrap(),
            store.audit_head().await.unwrap(),
            store.state_at(3).await.unwrap(),
            store.news_after(0).await.unwrap(),
            store.records_after(0, &[]).await.unwrap(),
        )
    };
    let before = all(&*store).await;
    drop(store);
    let store = folder.open().await;
    assert_eq!(all(&*store).await, before);
    assert_eq!(store.shared_key("mcp").await.unwrap(), key);
    let mut check = AuditCheck::default();
    before.3.iter().for_each(|entry| check.take(entry).unwrap());
    assert_eq!(check.finish(before.4.as_ref()).unwrap().number, 5);
    let uses = Uses { tool: ToolKey { tenant: None, name: "b".into() }, calls: 3 };
    store.record_uses(&[uses]).await.unwrap();
    store.close().await;
    let store = folder.open().await;
    assert_eq!(store.usage().await.unwrap()[0].count, 3);
    assert_eq!(store.write(&[put("new", "{}")], &by("ann")).await.unwrap(), 6);
}

#[tokio::test]
async fn the_file_is_readable_and_for_its_owner_only() {
    let folder = Folder::new();
    let store = folder.open().await;
    store
        .write(&[of("acme", put("Echo", "{\"type\":\"http\"}")), put("odd", "{ }")], &by("ann"))
        .await
        .unwrap();
    let expected = json!([
        {"name": "odd", "enabled": true, "configText": "{ }"},
        {"name": "Echo", "tenant": "acme", "enabled": true, "config": {"type": "http"}},
    ]);
    assert_eq!(folder.read()["tools"], expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&folder.file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let names: Vec<_> = std::fs::read_dir(folder.file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "the file and its lock: {names:?}");
}

#[tokio::test]
async fn what_is_edited_in_the_file_is_taken_over_as_another_programs_writes_are() {
    let folder = Folder::new();
    let store = folder.open().await;
    store.write(&[put("a", "{\"n\":1}"), put("b", "{}"), put("c", "{}")], &by("ann")).await.unwrap();
    folder.edit(|file| {
        let tools = file["tools"].as_array_mut().unwrap();
        tools[0]["config"]["n"] = json!(2);
        tools[1]["enabled"] = json!(false);
        tools.remove(2);
        tools.push(json!({"name": "D", "tenant": "acme", "config": {"new": true}}));
    });
    let changes = store.changes_since(3).await.unwrap();
    assert_eq!((changes.revision, changes.removed[0].name.as_str()), (7, "c"));
    let expected = [
        row(None, "a", true, "{\"n\":2}"),
        row(None, "b", false, "{}"),
        row(Some("acme"), "D", true, "{\"new\":true}"),
    ];
    let mut rows = told(&*store).await;
    rows.sort();
    assert_eq!(rows, expected);
    let a = store.find(None, "a").await.unwrap().unwrap();
    assert_eq!(a.updated_by, None, "nobody signed");
    let of_a = HistoryQuery { of: Some(ToolKey { tenant: None, name: "a".into() }), before: None, most: 9 };
    assert_eq!(store.history(&of_a).await.unwrap().len(), 2);
    assert_eq!(store.audit(0, 9).await.unwrap().len(), 3, "no administrative change");
    // Also while nobody uses it.
    store.close().await;
    folder.edit(|file| file["tools"][0]["enabled"] = json!(false));
    let store = folder.open().await;
    assert_eq!(store.revision().await.unwrap(), 8);
    assert!(!store.find(None, "a").await.unwrap().unwrap().enabled);
}

#[tokio::test]
async fn a_broken_file_is_refused_with_its_place_and_never_written_over() {
    let folder = Folder::new();
    let store = folder.open().await;
    store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    let good = std::fs::read_to_string(&folder.file).unwrap();
    for (broken, told) in [
        ("{\n  \"tools\": [{\"name\": \"a\", }]\n}", "line 2 column"),
        ("{\"tools\": [{\"name\": \"a\", \"enabeld\": true}]}", "unknown field `enabeld`"),
        ("{\"tools\": [{\"name\": \"a\"}, {\"name\": \"A\"}]}", "stands in the file twice"),
        ("", "line 1 column 0"),
    ] {
        folder.replace(broken);
        for error in [store.revision().await.err(), store.write(&[put("b", "{}")], &by("ann")).await.err()] {
            let error = error.unwrap().to_string();
            assert!(error.contains(told) && error.contains("tools.json"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&folder.file).unwrap(), broken, "it is the editor's");
    }
    std::fs::remove_file(&folder.file).unwrap();
    let gone = store.revision().await.unwrap_err().to_string();
    assert!(gone.contains("was removed while it was in use"), "{gone}");
    folder.replace(&good);
    assert_eq!(store.write(&[put("b", "{}")], &by("ann")).await.unwrap(), 2);
    drop(store);
    folder.replace("{\n\n oops");
    let refused = folder.try_open().await.err().unwrap().to_string();
    assert!(refused.contains("line 3 column 2"), "{refused}");
    assert_eq!(std::fs::read_to_string(&folder.file).unwrap(), "{\n\n oops");
}

#[tokio::test]
async fn a_file_from_before_there_were_records_takes_some() {
    let folder = Folder::new();
    folder.open().await.close().await;
    folder.edit(|file| {
        let state = file["state"].as_object_mut().unwrap();
        state.remove("toolrail_record").unwrap();
        let meta = state["toolrail_meta"].as_array_mut().unwrap();
        meta.retain(|row| row["name"] != "record_number");
    });
    for number in 1..3 {
        let store = folder.open().await;
        let written = store.write_record(&put_record("key", "a", "1")).await.unwrap();
        assert_eq!(written, RecordWritten::Done(number));
        store.close().await;
    }
}

#[tokio::test]
async fn a_file_written_by_hand_is_a_store() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.file.parent().unwrap()).unwrap();
    std::fs::write(&folder.file, r#"{"tools": [{"name": "a", "config": {"x": 1}}, {"name": "b"}]}"#).unwrap();
    let store = folder.open().await;
    assert_eq!(told(&*store).await, [row(None, "a", true, "{\"x\":1}"), row(None, "b", true, "null")]);
    assert_eq!(store.revision().await.unwrap(), 2);
}

#[tokio::test]
async fn a_second_gateway_is_refused_with_what_to_do() {
    let folder = Folder::new();
    let store = folder.open().await;
    let refused = folder.try_open().await.err().unwrap().to_string();
    assert!(refused.contains("another gateway uses it") && refused.contains("sqlite:"), "{refused}");
    store.close().await;
    folder.open().await;
}

/// What could not be written has not happened.
#[cfg(unix)]
#[tokio::test]
async fn a_change_that_cannot_be_written_is_not_made() {
    let folder = Folder::new();
    let store = folder.open().await;
    store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    // A folder where the draft would be: permissions do not stop the superuser.
    let draft = folder.file.with_file_name(format!(".tools.json.{}", std::process::id()));
    std::fs::create_dir(&draft).unwrap();
    let off = Change { action: Action::SetEnabled(false), ..put("a", "") };
    store.write(std::slice::from_ref(&off), &by("ann")).await.unwrap_err();
    assert!(store.find(None, "a").await.unwrap().unwrap().enabled);
    assert_eq!(store.revision().await.unwrap(), 1);
    store.write_record(&put_record("key", "a", "1")).await.unwrap_err();
    assert_eq!((store.record_number().await.unwrap(), store.record("key", "a").await.unwrap()), (0, None));
    // An editor that empties the file first must not make the store forget everything.
    let good = std::fs::read_to_string(&folder.file).unwrap();
    std::fs::write(&folder.file, "").unwrap();
    store.write(std::slice::from_ref(&off), &by("ann")).await.unwrap_err();
    std::fs::write(&folder.file, &good).unwrap();
    assert!(store.find(None, "a").await.unwrap().unwrap().enabled);
    std::fs::remove_dir(&draft).unwrap();
    assert_eq!(store.write(&[off], &by("ann")).await.unwrap(), 2);
}
