//! Files of earlier versions, and files anywhere.

use toolrail_core::{
    DefinitionStore as _, HistoryQuery, HistoryStore as _, RecordStore as _, RecordWritten,
    ReplicaStore as _, Store, StoreError, UseStore as _, VersionKind,
};
use toolrail_store::{StoreUrl, open};

use super::folder;
use crate::behaviour::{by, put, put_record};

/// The schema as it was before there were tenants.
const BEFORE_TENANTS: &[&str] = &[
    include_str!("../../../src/sqlite/migrations/0001_tools.sql"),
    include_str!("../../../src/sqlite/migrations/0002_keys.sql"),
    include_str!("../../../src/sqlite/migrations/0003_messages.sql"),
    include_str!("../../../src/sqlite/migrations/0004_kinds_of_news.sql"),
    "PRAGMA user_version = 4",
];

const ROWS: &str = "
    INSERT INTO mcp_tool (name, enabled, config_json) VALUES ('Echo', 1, '{\"a\":1}'), ('b', 0, '[]'), ('c', 1, '{}');
    UPDATE mcp_tool SET config_json = '{\"a\":2}', updated_by = 'ann' WHERE name = 'Echo';
    DELETE FROM mcp_tool WHERE name = 'c';
    INSERT INTO mcp_tool_use VALUES ('echo', 7, '2026-01-01T00:00:00.000Z');
    INSERT INTO toolrail_keys (name, secret) VALUES ('sessions', randomblob(32));
    INSERT INTO toolrail_news (body, kind) VALUES (x'01', 1);
";

/// R108.
#[tokio::test]
async fn a_file_without_tenants_and_history_is_migrated_without_loss() {
    let folder = folder().await;
    for sql in BEFORE_TENANTS.iter().chain([&ROWS]) {
        folder.run(sql).await;
    }
    folder.run("CREATE VIEW live AS SELECT * FROM mcp_tool WHERE enabled; CREATE TABLE log (tool REFERENCES mcp_tool (id) ON DELETE CASCADE); INSERT INTO log VALUES (1)").await;
    let store = folder.store().await;
    let everything = store.changes_since(0).await.unwrap();
    let rows: Vec<_> = everything
        .rows
        .iter()
        .map(|row| {
            (row.name.as_str(), row.enabled, row.config_json.as_str(), row.version, row.updated_by.as_deref())
        })
        .collect();
    assert_eq!(rows, [("b", false, "[]", 2, None), ("Echo", true, "{\"a\":2}", 4, Some("ann"))]);
    assert_eq!(everything.revision, 5);
    assert_eq!(store.changes_since(3).await.unwrap().removed.len(), 1);
    assert_eq!(store.usage().await.unwrap()[0].count, 7);
    assert_eq!(store.news_after(0).await.unwrap().len(), 1);
    folder.run("INSERT INTO log SELECT tool FROM log; INSERT INTO log SELECT id FROM live").await;

    // Each row has a first version; what was before is not known.
    let history = store.history(&HistoryQuery { most: 10, ..HistoryQuery::default() }).await.unwrap();
    let told: Vec<_> =
        history.iter().map(|version| (version.revision, version.kind, version.who.as_deref())).collect();
    assert_eq!(told, [(4, VersionKind::Created, Some("ann")), (2, VersionKind::Created, None)]);
    assert_eq!(store.state_at(5).await.unwrap().len(), 2);
    let error = store.state_at(4).await.unwrap_err();
    assert!(matches!(error, StoreError::Forgotten { asked: 4, oldest: 5 }), "{error}");

    // No id is used again, and names are free for tenants.
    folder.run("INSERT INTO mcp_tool (name, config_json, tenant_id) VALUES ('Echo', '{}', 'acme')").await;
    folder.run("INSERT INTO log SELECT id FROM mcp_tool WHERE id = 4 AND tenant_id = 'acme'").await;
    assert_eq!(store.write(&[put("echo", "3")], &by("ann")).await.unwrap(), 7);
    assert_eq!(store.count().await.unwrap(), 3);
    assert_eq!(store.write_record(&put_record("key", "a", "1")).await.unwrap(), RecordWritten::Done(1));
    store.close().await;
    assert_eq!(folder.store().await.revision().await.unwrap(), 7, "migrated once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_is_migrated_once_however_many_open_it() {
    let folder = folder().await;
    for sql in BEFORE_TENANTS.iter().chain([&ROWS]) {
        folder.run(sql).await;
    }
    let mut opening = tokio::task::JoinSet::new();
    for number in 0..6 {
        let url = StoreUrl::Sqlite(folder.file());
        opening.spawn(async move {
            let store = open(&url).await.unwrap();
            store.write(&[put(&format!("new{number}"), "{}")], &by("ann")).await.unwrap();
        });
    }
    opening.join_all().await;
    let store = folder.store().await;
    assert_eq!((store.revision().await.unwrap(), store.count().await.unwrap()), (11, 8));
    let query = HistoryQuery { most: 100, ..HistoryQuery::default() };
    assert_eq!(store.history(&query).await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_file_may_lie_anywhere() {
    let parent = tempfile::tempdir().unwrap();
    for file in ["deep/er/tools.sqlite", "with blank & %41?.db", "plain"] {
        let file = parent.path().join(file);
        for _ in 0..2 {
            let store = open(&StoreUrl::Sqlite(file.clone())).await.unwrap();
            assert!(file.exists());
            assert_eq!(store.describe(), format!("sqlite {}", file.display()));
            store.write(&[put("a", "1")], &by("ann")).await.unwrap();
            store.close().await;
        }
        assert_eq!(open(&StoreUrl::Sqlite(file)).await.unwrap().revision().await.unwrap(), 2);
    }
    assert!(open(&StoreUrl::Sqlite(parent.path().to_owned())).await.is_err());
    let folder = StoreUrl::in_folder(parent.path());
    assert_eq!(folder, StoreUrl::Sqlite(parent.path().join("toolrail.db")));
}
