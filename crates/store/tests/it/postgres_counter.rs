//! PostgreSQL: the revision, whatever others do in one statement or to the counter itself.

use std::sync::Arc;

use toolrail_core::{HistoryQuery, Store};

use crate::behaviour::{Subject, by, put};
use crate::postgres::{Database, database, execute};

/// Three tools, at revision 3.
async fn three(database: &Database) -> Arc<dyn Store> {
    let store = database.open().await;
    store.write(&[put("a", "{}"), put("b", "{}"), put("c", "{}")], &by("ann")).await.unwrap();
    store
}

async fn newest_versions(store: &dyn Store) -> Vec<i64> {
    let history = store.history(&HistoryQuery { most: 100, ..HistoryQuery::default() }).await.unwrap();
    history.iter().map(|version| version.revision).take_while(|revision| *revision > 3).collect()
}

#[tokio::test]
async fn a_statement_of_several_parts_numbers_each_change_once() {
    let new = "INSERT INTO mcp_tool (name, config_json) VALUES ('new', '{}')";
    let function = "CREATE FUNCTION f(n TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$ BEGIN \
        INSERT INTO mcp_tool (name, config_json) VALUES (n || '_f', '{}'); RETURN n; END $$";
    for (statement, changes) in [
        (format!("WITH x AS (UPDATE mcp_tool SET enabled = FALSE WHERE name = 'a') {new}"), 2),
        (format!("WITH x AS (DELETE FROM mcp_tool WHERE name <> 'c') {new}"), 3),
        (format!("WITH x AS ({new}) UPDATE mcp_tool SET enabled = FALSE"), 4),
        (format!("WITH x AS ({new} RETURNING name) DELETE FROM mcp_tool USING x"), 4),
        (
            format!(
                "{function}; INSERT INTO mcp_tool (name, config_json) SELECT f('n' || i), '{{}}' FROM generate_series(1, 3) AS i"
            ),
            6,
        ),
        (format!("{new}; DELETE FROM mcp_tool; {new}; TRUNCATE mcp_tool; {new}"), 8),
    ] {
        let database = database().await;
        let store = three(&database).await;
        database.run(&statement).await;
        let revision = store.revision().await.unwrap();
        assert_eq!(revision, 3 + changes, "{statement}");
        let expected: Vec<i64> = (4..=revision).rev().collect();
        assert_eq!(newest_versions(&*store).await, expected, "{statement}");
        assert_eq!(store.write(&[put("d", "{}")], &by("ann")).await.unwrap(), revision + 1);
    }
}

#[tokio::test]
async fn what_a_savepoint_takes_back_is_in_nobodys_way() {
    let database = database().await;
    let store = three(&database).await;
    let insert = |name: &str| format!("INSERT INTO mcp_tool (name, config_json) VALUES ('{name}', '{{}}')");
    let (one, two, three) = (insert("x"), insert("y"), insert("z"));
    database.run(&format!("SAVEPOINT s; {one}; ROLLBACK TO s; {two}")).await;
    assert_eq!(store.revision().await.unwrap(), 4, "no gap");
    database.run(&format!("{one}; SAVEPOINT s; {three}; ROLLBACK TO s; {three}")).await;
    let revision = store.revision().await.unwrap();
    assert_eq!(store.changes_since(4).await.unwrap().rows.len(), 2);
    assert_eq!(store.write(&[put("d", "{}")], &by("ann")).await.unwrap(), revision + 1);
}

/// It may come with a dump of another server, whose transactions have other numbers.
#[tokio::test]
async fn who_keeps_the_count_is_believed_only_in_the_same_transaction() {
    let database = database().await;
    let store = three(&database).await;
    assert_eq!(database.value("SELECT held_by FROM mcp_config_version").await, "NULL");
    let mut connection = database.connection().await;
    // The very next transaction of a quiet server, or one of the next of a busy one.
    for ahead in 1..=3 {
        let hold = format!("UPDATE mcp_config_version SET held_by = txid_current() + {ahead}");
        execute(&mut connection, &hold).await.unwrap();
        let before = store.revision().await.unwrap();
        let insert = format!("INSERT INTO mcp_tool (name, config_json) VALUES ('x{ahead}', '{{}}')");
        execute(&mut connection, &insert).await.unwrap();
        assert_eq!(store.revision().await.unwrap(), before + 1);
    }
    store.write(&[put("a", "5")], &by("ann")).await.unwrap();
}

#[tokio::test]
async fn a_revision_that_was_set_back_goes_on_from_the_history() {
    for write_first in [true, false] {
        let database = database().await;
        let store = three(&database).await;
        database.run("UPDATE mcp_config_version SET version = 1").await;
        if write_first {
            assert_eq!(store.write(&[put("a", "5")], &by("ann")).await.unwrap(), 4);
        } else {
            database.run("UPDATE mcp_tool SET enabled = FALSE WHERE name = 'a'").await;
            assert_eq!(store.revision().await.unwrap(), 4);
        }
        assert_eq!(newest_versions(&*store).await, [4]);
    }
    let database = database().await;
    let store = three(&database).await;
    database.run("UPDATE mcp_config_version SET version = 1; TRUNCATE mcp_tool").await;
    assert_eq!(store.revision().await.unwrap(), 6);
}

#[tokio::test]
async fn what_a_replica_would_write_is_counted_too() {
    let database = database().await;
    let store = three(&database).await;
    database
        .run("SET LOCAL session_replication_role = replica; DELETE FROM mcp_tool WHERE name = 'a'; UPDATE mcp_tool SET enabled = FALSE")
        .await;
    let changes = store.changes_since(3).await.unwrap();
    assert_eq!((changes.revision, changes.rows.len(), changes.removed.len()), (6, 2, 1));
    database.run("SET LOCAL session_replication_role = replica; TRUNCATE mcp_tool").await;
    assert_eq!(store.revision().await.unwrap(), 8);
}
