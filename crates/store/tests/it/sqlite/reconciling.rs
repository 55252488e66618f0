//! Triggers that are lost, tables that take the place of another, and rows that changed meanwhile.

use toolrail_core::{DefinitionStore as _, HistoryQuery, HistoryStore as _, Store, VersionKind};

use super::folder;
use crate::behaviour::{by, purge, put};

const DROP_ALL: &str = "DROP TRIGGER trg_mcp_tool_inserted; DROP TRIGGER trg_mcp_tool_updated; \
    DROP TRIGGER trg_mcp_tool_deleted; DROP TRIGGER trg_mcp_tool_replacing; DROP TRIGGER trg_mcp_tool_renumbering;";

async fn names(store: &dyn Store, since: i64) -> (Vec<String>, Vec<String>) {
    let changes = store.changes_since(since).await.unwrap();
    let mut removed: Vec<String> = changes.removed.into_iter().map(|key| key.name).collect();
    let mut rows: Vec<String> = changes.rows.into_iter().map(|row| row.name).collect();
    rows.sort();
    removed.sort();
    (rows, removed)
}

async fn tells_the_truth(store: &dyn Store) {
    assert_eq!(store.reconcile().await.unwrap(), 0, "there is nothing left to enter");
    let told = store.state_at(store.revision().await.unwrap()).await.unwrap();
    assert_eq!(store.changes_since(0).await.unwrap().rows.len(), told.len());
}

#[tokio::test]
async fn a_write_without_its_triggers_makes_them_anew_and_is_seen() {
    for lost in ["deleted", "updated", "inserted", "replacing"] {
        let folder = folder().await;
        let store = folder.store().await;
        let seen = store.write(&[put("t1", "{}"), put("t2", "{}")], &by("ann")).await.unwrap();
        folder.run(&format!("DROP TRIGGER trg_mcp_tool_{lost}")).await;
        let revision = store.write(&[put("t1", "[]"), purge("t2")], &by("ann")).await.unwrap();
        assert_eq!(revision, seen + 2, "{lost}");
        assert_eq!(names(&store, seen).await, (vec!["t1".to_owned()], vec!["t2".to_owned()]), "{lost}");
        tells_the_truth(&store).await;
    }
}

#[tokio::test]
async fn what_changed_while_the_triggers_were_away_is_entered() {
    let folder = folder().await;
    let store = folder.store().await;
    let seen = store.write(&[put("a", "{}"), put("b", "{}"), put("c", "{}")], &by("ann")).await.unwrap();
    assert_eq!(store.reconcile().await.unwrap(), 0);
    folder
        .run(&format!(
            "{DROP_ALL} UPDATE mcp_tool SET enabled = 0 WHERE name = 'a'; DELETE FROM mcp_tool WHERE name = 'b'; \
             INSERT INTO mcp_tool (name, config_json) VALUES ('new', '{{}}')"
        ))
        .await;
    assert_eq!(store.reconcile().await.unwrap(), 3);
    assert_eq!(names(&store, seen).await, (vec!["a".into(), "new".into()], vec!["b".into()]));
    let history = store.history(&HistoryQuery { most: 3, ..HistoryQuery::default() }).await.unwrap();
    assert_eq!(history.iter().filter(|version| version.kind == VersionKind::Removed).count(), 1);
    tells_the_truth(&store).await;
}

#[tokio::test]
async fn a_table_that_takes_the_place_of_another_is_watched() {
    let folder = folder().await;
    let store = folder.store().await;
    let seen = store.write(&[put("a", "{}"), put("b", "{}")], &by("ann")).await.unwrap();
    folder
        .run(
            "CREATE TABLE swapped (id INTEGER PRIMARY KEY, name TEXT NOT NULL, enabled BOOLEAN NOT NULL DEFAULT 1, config_json TEXT NOT NULL); \
             INSERT INTO swapped SELECT id, name, enabled, config_json FROM mcp_tool WHERE name = 'a'; \
             INSERT INTO swapped (name, config_json) VALUES ('other', '{}'); \
             DROP TABLE mcp_tool; ALTER TABLE swapped RENAME TO mcp_tool",
        )
        .await;
    assert!(store.reconcile().await.unwrap() > 0);
    let (rows, removed) = names(&store, seen).await;
    assert_eq!((rows, removed), (vec!["a".into(), "other".into()], vec!["b".into()]));
    folder.run("DELETE FROM mcp_tool WHERE name = 'other'").await;
    assert_eq!(names(&store, 0).await.0, ["a"]);
    tells_the_truth(&store).await;
}
