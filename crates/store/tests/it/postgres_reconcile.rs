//! PostgreSQL: triggers that are lost or switched off, and tables that take the place of another.

use toolrail_core::{HistoryQuery, Store, VersionKind};

use crate::behaviour::{Subject, by, of, purge, put};
use crate::postgres::{Database, database};

const TRIGGERS: &str = "SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('mcp_tool'::regclass, 'mcp_tool_tenant'::regclass) \
    AND tgname LIKE 'trg_mcp_tool_toolrail_%' AND tgenabled = 'A'";

async fn names(store: &dyn Store, since: i64) -> (Vec<String>, Vec<String>) {
    let changes = store.changes_since(since).await.unwrap();
    let mut removed: Vec<String> = changes.removed.into_iter().map(|key| key.name).collect();
    removed.sort();
    (changes.rows.into_iter().map(|row| row.name).collect(), removed)
}

/// The newest version of every definition is what is there.
async fn tells_the_truth(store: &dyn Store) {
    let revision = store.revision().await.unwrap();
    let mut there: Vec<_> = store
        .changes_since(0)
        .await
        .unwrap()
        .rows
        .into_iter()
        .map(|row| (row.tenant, row.name, row.enabled, row.config_json))
        .collect();
    let mut told: Vec<_> = store
        .state_at(revision)
        .await
        .unwrap()
        .into_iter()
        .map(|version| (version.tenant, version.name, version.enabled, version.config_json))
        .collect();
    there.sort();
    told.sort();
    assert_eq!(there, told);
    assert_eq!(store.reconcile().await.unwrap(), 0, "and there is nothing left to enter");
}

#[tokio::test]
async fn a_write_without_its_triggers_makes_them_anew_and_is_seen() {
    for lost in ["3_record", "2_number", "0_begin", "4_finish"] {
        let database = database().await;
        let store = database.open().await;
        let seen = store.write(&[put("t1", "{}"), put("t2", "{}")], &by("ann")).await.unwrap();
        database.run(&format!("DROP TRIGGER trg_mcp_tool_toolrail_{lost} ON mcp_tool")).await;
        let revision = store.write(&[purge("t2")], &by("ann")).await.unwrap();
        assert_eq!(revision, seen + 1, "{lost}");
        assert_eq!(names(&*store, seen).await, (vec![], vec!["t2".to_owned()]), "{lost}");
        assert_eq!(database.value(TRIGGERS).await, "14", "{lost}");
        let audit = store.audit(0, 10).await.unwrap();
        assert_eq!((audit[2].action.as_str(), audit[2].revision), ("purge", revision), "{lost}");
        tells_the_truth(&*store).await;
    }
}

async fn with_triggers_off(database: &Database, sql: &str) {
    let off = "ALTER TABLE mcp_tool DISABLE TRIGGER ALL";
    database.run(&format!("{off}; {sql}; ALTER TABLE mcp_tool ENABLE TRIGGER ALL")).await;
}

/// As `pg_restore --data-only --disable-triggers` does it.
#[tokio::test]
async fn rows_that_were_restored_with_triggers_off_are_seen() {
    let database = database().await;
    let store = database.open().await;
    with_triggers_off(
        &database,
        "INSERT INTO mcp_tool (name, config_json, version) \
         SELECT 't' || number, '{}', number % 3 FROM generate_series(1, 20) AS number",
    )
    .await;
    assert_eq!(store.reconcile().await.unwrap(), 20);
    let changes = store.changes_since(0).await.unwrap();
    assert_eq!((changes.rows.len(), changes.revision), (20, 20));
    assert_eq!(database.value(TRIGGERS).await, "14", "they fire for everybody again");
    tells_the_truth(&*store).await;
}

#[tokio::test]
async fn changes_made_with_triggers_off_are_entered_as_changes() {
    let database = database().await;
    let store = database.open().await;
    let changes = ["a", "b", "c", "d"].map(|name| put(name, r#"{"z":1,"a":2}"#));
    let seen = store.write(&changes, &by("ann")).await.unwrap();
    with_triggers_off(
        &database,
        "UPDATE mcp_tool SET enabled = FALSE WHERE name = 'a'; \
         UPDATE mcp_tool SET config_text = NULL, config_json = '5' WHERE name = 'b'; \
         DELETE FROM mcp_tool WHERE name = 'c'; INSERT INTO mcp_tool (name, config_json) VALUES ('new', '{}')",
    )
    .await;
    assert_eq!(store.reconcile().await.unwrap(), 4);
    let (rows, removed) = names(&*store, seen).await;
    assert_eq!((rows, removed), (vec!["a".into(), "b".into(), "new".into()], vec!["c".into()]));
    let history = store.history(&HistoryQuery { most: 4, ..HistoryQuery::default() }).await.unwrap();
    let kinds: Vec<_> = history.iter().map(|version| (version.name.as_str(), version.kind)).collect();
    let (created, updated) = (VersionKind::Created, VersionKind::Updated);
    assert_eq!(kinds, [("c", VersionKind::Removed), ("new", created), ("b", updated), ("a", updated)]);
    assert!(history.iter().all(|version| version.who.is_none() && version.via.is_none()));
    tells_the_truth(&*store).await;
}

#[tokio::test]
async fn an_older_state_of_the_table_alone_is_a_change_of_each_that_differs() {
    let database = database().await;
    let store = database.open().await;
    store.write(&[put("a", "1"), put("b", "1")], &by("ann")).await.unwrap();
    database.run("CREATE TABLE backup AS SELECT * FROM mcp_tool").await;
    let seen = store.write(&[put("a", "2"), put("c", "1")], &by("ann")).await.unwrap();
    with_triggers_off(&database, "DELETE FROM mcp_tool; INSERT INTO mcp_tool SELECT * FROM backup").await;
    assert_eq!(store.reconcile().await.unwrap(), 2);
    assert_eq!(names(&*store, seen).await, (vec!["a".to_owned()], vec!["c".to_owned()]));
    tells_the_truth(&*store).await;
}

const OTHER: &str = "CREATE TABLE mcp_tool (id BIGSERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, \
    enabled BOOLEAN NOT NULL DEFAULT TRUE, config_json JSONB NOT NULL, updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW()); \
    INSERT INTO mcp_tool (name, config_json) VALUES ('kept', '{}'), ('new', '{}')";

#[tokio::test]
async fn a_table_that_takes_the_place_of_another_is_adopted_while_running_and_at_the_start() {
    for restarted in [false, true] {
        let database = database().await;
        let store = database.open().await;
        let seen = store.write(&[put("kept", "{}"), put("gone", "{}")], &by("ann")).await.unwrap();
        database.run(&format!("ALTER TABLE mcp_tool RENAME TO old_tool; {OTHER}")).await;
        let store = if restarted { database.open().await } else { store };
        assert!(store.reconcile().await.unwrap() >= 2);
        let (rows, removed) = names(&*store, seen).await;
        assert!(rows.contains(&"new".to_owned()) && removed == ["gone"], "{rows:?} {removed:?}");
        let revision = store.revision().await.unwrap();
        database.run("UPDATE old_tool SET enabled = FALSE").await;
        assert_eq!(store.revision().await.unwrap(), revision, "the other counts no more");
        database.run("UPDATE mcp_tool SET enabled = FALSE WHERE name = 'new'").await;
        assert_eq!(store.revision().await.unwrap(), revision + 1);
        assert_eq!(store.write(&[of("acme", put("kept", "{}"))], &by("ann")).await.unwrap(), revision + 2);
        tells_the_truth(&*store).await;
    }
}

#[tokio::test]
async fn a_table_that_was_dropped_is_made_anew_and_its_definitions_are_gone() {
    let database = database().await;
    let store = database.open().await;
    let seen = store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    database.run("DROP TABLE mcp_tool CASCADE").await;
    store.reconcile().await.unwrap();
    assert_eq!(names(&*store, seen).await, (vec![], vec!["a".to_owned()]));
    store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    tells_the_truth(&*store).await;
}

/// Nothing that the triggers see is taken for something that they missed.
#[tokio::test]
async fn there_is_nothing_to_enter_after_changes_of_every_kind() {
    let database = database().await;
    let store = database.open().await;
    let odd = [put("nul", r#"{"x":"\u0000"}"#), put("twice", r#"{"a":1, "a":1.50}"#), put("five", "5")];
    store.write(&odd, &by("ann")).await.unwrap();
    for sql in [
        "INSERT INTO mcp_tool (name, config_json, tenant_id) VALUES ('a', '{}', ''), ('a', '{}', 'acme'), ('Ünï', '{}', NULL)",
        "UPDATE mcp_tool SET name = 'A' WHERE name = 'a' AND tenant_id = ''",
        "UPDATE mcp_tool SET name = 'b' WHERE name = 'A'",
        "UPDATE mcp_tool SET tenant_id = 'other' WHERE tenant_id = 'acme'",
        "UPDATE mcp_tool SET version = 0, updated_at = now() - interval '1 year'",
        "DELETE FROM mcp_tool WHERE name = 'five'",
        "UPDATE mcp_tool SET config_json = jsonb_build_object('x', 1) WHERE name = 'twice'",
    ] {
        database.run(sql).await;
        tells_the_truth(&*store).await;
    }
    database.run("TRUNCATE mcp_tool").await;
    tells_the_truth(&*store).await;
}
