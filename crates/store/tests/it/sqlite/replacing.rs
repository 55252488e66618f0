//! The ways of writing that go past the triggers or the numbers: what is seen and what history says must be right.

use std::collections::BTreeMap;

use toolrail_core::{DefinitionStore as _, HistoryQuery, HistoryStore as _, ToolKey, VersionKind};
use toolrail_store::SqliteStore;

use super::folder;
use crate::behaviour::{Subject, by, put};

/// The ways of writing that skip some triggers: each must be seen all the same.
#[tokio::test]
async fn replacing_statements_are_seen() {
    const CASES: &[(&str, &[&str], &[&str])] = &[
        ("REPLACE INTO mcp_tool (name, enabled, config_json) VALUES ('a', 1, 'new')", &["a"], &[]),
        ("INSERT OR REPLACE INTO mcp_tool (name, enabled, config_json) VALUES ('A', 1, 'new')", &["A"], &[]),
        ("INSERT OR REPLACE INTO mcp_tool (id, name, config_json) VALUES (1, 'z', 'new')", &["z"], &["a"]),
        ("INSERT OR REPLACE INTO mcp_tool (id, name, config_json) VALUES (1, 'B', 'new')", &["B"], &["a"]),
        ("INSERT OR IGNORE INTO mcp_tool (id, name, config_json) VALUES (1, 'z', 'new')", &[], &[]),
        (
            "INSERT INTO mcp_tool (name, config_json) VALUES ('a', 'new') \
             ON CONFLICT (coalesce(tenant_id, ''), lower(name)) DO UPDATE SET config_json = excluded.config_json",
            &["a"],
            &[],
        ),
        (
            "INSERT INTO mcp_tool (id, name, config_json) VALUES (1, 'a', 'new') \
             ON CONFLICT (id) DO UPDATE SET name = 'z', config_json = excluded.config_json",
            &["z"],
            &["a"],
        ),
        ("UPDATE OR REPLACE mcp_tool SET name = 'b', config_json = 'new' WHERE name = 'a'", &["b"], &["a"]),
        ("UPDATE OR REPLACE mcp_tool SET id = 2, config_json = 'new' WHERE id = 1", &["a"], &["b"]),
        (
            "PRAGMA recursive_triggers = 1; REPLACE INTO mcp_tool (name, config_json) VALUES ('a', 'new')",
            &["a"],
            &[],
        ),
        (
            "DELETE FROM mcp_tool WHERE name = 'a'; REPLACE INTO mcp_tool (name, config_json) VALUES ('a', 'new')",
            &["a"],
            &[],
        ),
    ];
    for (sql, changed, removed) in CASES {
        let folder = folder().await;
        let store = folder.store().await;
        let before =
            store.write(&[put("a", "old"), put("b", "old"), put("c", "old")], &by("ann")).await.unwrap();
        // An older tombstone of a name must not hide its return, nor a later removal.
        folder
            .run("DELETE FROM mcp_tool WHERE name = 'c'; INSERT INTO mcp_tool_tombstone VALUES ('', 'z', 1)")
            .await;
        let seen = store.revision().await.unwrap();
        assert_eq!(seen, before + 1);
        folder.run(sql).await;
        let changes = store.changes_since(seen).await.unwrap();
        let found: Vec<(&str, &str)> =
            changes.rows.iter().map(|row| (row.name.as_str(), row.config_json.as_str())).collect();
        let expected: Vec<(&str, &str)> = changed.iter().map(|name| (*name, "new")).collect();
        assert_eq!(
            (found, changes.removed),
            (expected, removed.iter().map(|name| ToolKey { tenant: None, name: (*name).into() }).collect()),
            "{sql}"
        );
        check_history(&store, sql).await;
    }
}

/// Tenants and names.
type Keys<'a> = &'a [(Option<&'a str>, &'a str)];

#[tokio::test]
async fn replacing_statements_tell_tenants_apart() {
    let cases: [(&str, Keys<'_>, Keys<'_>); 4] = [
        (
            "REPLACE INTO mcp_tool (name, tenant_id, config_json) VALUES ('A', 'acme', 'new')",
            &[(Some("acme"), "A")],
            &[],
        ),
        (
            "REPLACE INTO mcp_tool (name, tenant_id, config_json) VALUES ('a', 'umbrella', 'new')",
            &[(Some("umbrella"), "a")],
            &[],
        ),
        (
            "REPLACE INTO mcp_tool (id, name, tenant_id, config_json) VALUES (1, 'a', 'acme', 'new')",
            &[(Some("acme"), "a")],
            &[(None, "a")],
        ),
        (
            "UPDATE OR REPLACE mcp_tool SET tenant_id = 'acme', config_json = 'new' WHERE id = 1",
            &[(Some("acme"), "a")],
            &[(None, "a")],
        ),
    ];
    for (sql, changed, removed) in cases {
        let folder = folder().await;
        let store = folder.store().await;
        folder.run("INSERT INTO mcp_tool (name, tenant_id, config_json) VALUES ('a', NULL, 'old'), ('a', 'acme', 'old')").await;
        folder.run(sql).await;
        let changes = store.changes_since(2).await.unwrap();
        let found: Vec<_> =
            changes.rows.iter().map(|row| (row.tenant.as_deref(), row.name.as_str())).collect();
        let gone: Vec<_> =
            changes.removed.iter().map(|key| (key.tenant.as_deref(), key.name.as_str())).collect();
        assert_eq!((&found[..], &gone[..]), (changed, removed), "{sql}");
        let state = store.state_at(i64::MAX).await.unwrap();
        let rows = store.changes_since(0).await.unwrap().rows;
        let mut told: Vec<_> = state.into_iter().map(|version| (version.revision, version.tenant)).collect();
        told.sort_unstable();
        assert_eq!(told, rows.into_iter().map(|row| (row.version, row.tenant)).collect::<Vec<_>>(), "{sql}");
    }
}

/// What history says of now is what stands in the table, and no two versions have one number.
async fn check_history(store: &SqliteStore, sql: &str) {
    let rows = store.changes_since(0).await.unwrap().rows;
    let mut there: Vec<(String, String, i64)> =
        rows.into_iter().map(|row| (row.name, row.config_json, row.version)).collect();
    there.sort_unstable();
    let state = store.state_at(i64::MAX).await.unwrap();
    let mut told: Vec<(String, String, i64)> =
        state.into_iter().map(|version| (version.name, version.config_json, version.revision)).collect();
    told.sort_unstable();
    assert_eq!(told, there, "{sql}");
    let versions = store.history(&HistoryQuery { most: 100, ..HistoryQuery::default() }).await.unwrap();
    assert!(versions.is_sorted_by(|newer, older| newer.revision > older.revision), "{sql}: {versions:?}");
    let mut last: BTreeMap<String, VersionKind> = BTreeMap::new();
    for version in versions.iter().rev() {
        let before = last.insert(version.name.to_lowercase(), version.kind);
        let new = matches!(before, None | Some(VersionKind::Removed));
        assert_eq!(new, version.kind == VersionKind::Created, "{sql}: {versions:?}");
    }
}

/// Versions are ours to give: readers go by them.
#[tokio::test]
async fn a_version_that_another_program_makes_up_is_put_right() {
    let folder = folder().await;
    let store = folder.store().await;
    store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    for sql in [
        "UPDATE mcp_tool SET version = 999",
        "UPDATE mcp_tool SET version = 0 WHERE name = 'b'",
        "UPDATE mcp_tool SET version = NULL WHERE name = 'b'",
        "UPDATE mcp_tool SET version = 1 WHERE name = 'b'",
        "PRAGMA recursive_triggers = 1; UPDATE mcp_tool SET version = 2 WHERE name = 'a'",
    ] {
        drop(folder.sql(sql).await);
        let rows = store.changes_since(0).await.unwrap().rows;
        assert_eq!(rows.iter().map(|row| row.version).collect::<Vec<_>>(), [1, 2, 3], "{sql}");
    }
    folder.run("UPDATE mcp_tool SET enabled = 0, version = version + 1 WHERE name = 'c'").await;
    folder.run("UPDATE mcp_tool SET enabled = 0, version = version + 1 WHERE name = 'a'").await;
    let versions: Vec<i64> =
        store.changes_since(0).await.unwrap().rows.iter().map(|row| row.version).collect();
    assert_eq!(versions, [2, 4, 5]);
    check_history(&store, "version + 1").await;
}
