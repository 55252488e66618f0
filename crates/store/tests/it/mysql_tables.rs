//! MySQL and MariaDB: tables that are not what they should be, or are not any more: other kinds of columns, swapped or
//! restored by themselves, a revision set back.

use std::time::Duration;

use sqlx::{Connection as _, Executor as _};
use tokio::time::{Instant, timeout};
use toolrail_core::{HistoryQuery, Store, StoreError, VersionKind};
use toolrail_store::StoreUrl;

use crate::behaviour::{by, of, put};
use crate::mysql::{Database, connect, database};

async fn refused(database: &Database) -> String {
    toolrail_store::open(&StoreUrl::Mysql(database.url())).await.err().unwrap().to_string()
}

async fn names_since(store: &dyn Store, since: i64) -> (Vec<String>, Vec<String>) {
    let changes = store.changes_since(since).await.unwrap();
    let removed = changes.removed.into_iter().map(|key| key.name).collect();
    (changes.rows.into_iter().map(|row| row.name).collect(), removed)
}

#[tokio::test]
async fn columns_of_the_wrong_kind_are_refused_and_nothing_is_changed() {
    for (columns, told) in [
        (
            "name VARCHAR(128), enabled ENUM('Y','N') DEFAULT 'Y', config_json JSON",
            "enabled of the type enum",
        ),
        ("name VARCHAR(128), enabled CHAR(1) DEFAULT 'Y', config_json JSON", "enabled of the type char"),
        (
            "name VARCHAR(128), enabled INT DEFAULT 1, config_json LONGBLOB",
            "config_json of the type longblob",
        ),
        ("name INT, enabled INT DEFAULT 1, config_json TEXT", "name of the type int"),
        ("name TEXT, version VARCHAR(9), config_json TEXT", "version of the type varchar"),
    ] {
        let database = database().await;
        database.run(&format!("CREATE TABLE mcp_tool (id INT AUTO_INCREMENT PRIMARY KEY, {columns})")).await;
        let error = refused(&database).await;
        assert!(error.contains(told) && error.contains("MODIFY COLUMN"), "{error}");
        // Nothing was made, and the other program goes on.
        database
            .run(
                "INSERT INTO mcp_tool (name, config_json) VALUES ('1', '{}'); UPDATE mcp_tool SET name = '2'",
            )
            .await;
        database.run("CREATE TABLE mcp_config_version (id INT)").await;
    }
}

#[tokio::test]
async fn a_view_is_refused_in_words() {
    let database = database().await;
    database
        .run(
            "CREATE TABLE tools (id INT AUTO_INCREMENT PRIMARY KEY, name TEXT, config_json TEXT); \
             CREATE VIEW mcp_tool AS SELECT * FROM tools",
        )
        .await;
    let error = refused(&database).await;
    assert!(error.contains("mcp_tool is a view"), "{error}");
}

#[tokio::test]
async fn a_revision_of_another_whole_type_goes_on() {
    for kind in ["BIGINT UNSIGNED", "INT", "SMALLINT UNSIGNED"] {
        let database = database().await;
        database
            .run(&format!(
                "CREATE TABLE mcp_config_version (id INT, version {kind}); INSERT INTO mcp_config_version VALUES (1, 41)"
            ))
            .await;
        let store = database.store().await;
        assert_eq!(store.write(&[put("a", "{}")], &by("ann")).await.unwrap(), 42, "{kind}");
        assert_eq!(database.store().await.revision().await.unwrap(), 42, "{kind}");
    }
}

#[tokio::test]
async fn names_and_tenants_of_any_length_may_be_written_by_others() {
    let database = database().await;
    database
        .run(
            "CREATE TABLE mcp_tool (id INT AUTO_INCREMENT PRIMARY KEY, name TEXT, tenant_id VARCHAR(255), config_json TEXT); \
             INSERT INTO mcp_tool (name, config_json) VALUES (REPEAT('a', 2100), '{}')",
        )
        .await;
    let store = database.store().await;
    database
        .run(
            "INSERT INTO mcp_tool (name, tenant_id, config_json) VALUES (REPEAT('b', 2100), REPEAT('\u{1F600}', 255), '{}'); \
             UPDATE mcp_tool SET name = 'c' WHERE tenant_id IS NOT NULL",
        )
        .await;
    let rows = store.changes_since(0).await.unwrap().rows;
    assert_eq!(rows.iter().map(|row| row.name.len()).collect::<Vec<_>>(), [2100, 1]);
    assert!(store.find(Some(&"\u{1F600}".repeat(255)), "C").await.unwrap().is_some());
}

/// Set back by hand, or restored without the history.
#[tokio::test]
async fn a_revision_set_back_goes_on_from_the_newest_version() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    let mut reached = 3;
    for (sql, by_so_many) in [
        ("INSERT INTO mcp_tool (name, config_json) VALUES ('d', '1'), ('e', '1')", 2),
        ("UPDATE mcp_tool SET config_json = '2' WHERE name = 'a'", 1),
        ("UPDATE mcp_tool SET name = 'z' WHERE name = 'b'", 2),
        ("DELETE FROM mcp_tool WHERE name = 'c'", 1),
        ("REPLACE INTO mcp_tool (id, name, config_json) VALUES (1, 'a', '3')", 2),
    ] {
        database.run("UPDATE mcp_config_version SET version = 1").await;
        database.run(sql).await;
        reached += by_so_many;
        assert_eq!(store.revision().await.unwrap(), reached, "{sql}");
    }
    database.run("UPDATE mcp_config_version SET version = 0").await;
    assert!(store.write(&[put("a", "4")], &by("ann")).await.unwrap() >= reached);
    database.run("UPDATE mcp_config_version SET version = 0; TRUNCATE TABLE mcp_tool").await;
    assert!(store.revision().await.unwrap() > reached);
    assert_eq!(store.state_at(store.revision().await.unwrap()).await.unwrap().len(), 0);
}

/// As tools that change large tables do it: a copy takes the place of the table, and the triggers go with the old one.
#[tokio::test]
async fn a_table_that_was_swapped_is_watched_again_and_nothing_is_missed() {
    let database = database().await;
    let store = database.store().await;
    let seen = store.write(&[put("a", "1"), put("b", "1"), put("c", "1")], &by("ann")).await.unwrap();
    database
        .run(
            "CREATE TABLE n LIKE mcp_tool; \
             INSERT INTO n (id, name, enabled, config_json, version) SELECT id, name, enabled, config_json, version FROM mcp_tool; \
             RENAME TABLE mcp_tool TO o, n TO mcp_tool; UPDATE mcp_tool SET config_json = '2' WHERE name = 'a'; \
             DELETE FROM mcp_tool WHERE name = 'b'; INSERT INTO mcp_tool (name, config_json) VALUES ('d', '1')",
        )
        .await;
    store.write(&[put("e", "1")], &by("ann")).await.unwrap();
    let changed = vec!["a".into(), "d".into(), "e".into()];
    assert_eq!(names_since(&*store, seen).await, (changed, vec!["b".into()]), "the write found out");
    let versions = store.history(&HistoryQuery { most: 4, ..HistoryQuery::default() }).await.unwrap();
    let kinds: Vec<_> = versions.iter().map(|version| (version.name.as_str(), version.kind)).collect();
    let created = VersionKind::Created;
    assert_eq!(
        kinds,
        [("e", created), ("b", VersionKind::Removed), ("d", created), ("a", VersionKind::Updated)]
    );
    let revision = store.revision().await.unwrap();
    assert_eq!(store.count().await.unwrap(), 4);
    assert_eq!(store.revision().await.unwrap(), revision, "all is well");
}

/// Its triggers come back with it, so only when it was made tells that it is another.
#[tokio::test]
async fn older_rows_in_a_table_made_anew_are_noticed() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "1"), put("b", "1")], &by("ann")).await.unwrap();
    let seen = store.write(&[put("a", "2")], &by("ann")).await.unwrap();
    let triggers = "toolrail_inserting toolrail_updating toolrail_inserted toolrail_updated toolrail_deleted";
    let mut connection = connect(&database.url()).await.unwrap();
    let mut made = Vec::new();
    for trigger in triggers.split(' ') {
        let row = connection
            .fetch_one(sqlx::AssertSqlSafe(format!("SHOW CREATE TRIGGER {trigger}")))
            .await
            .unwrap();
        made.push(sqlx::Row::get::<String, _>(&row, 2));
        connection.execute(sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}"))).await.unwrap();
    }
    connection.execute("UPDATE mcp_tool SET config_json = '1', version = 1 WHERE name = 'a'").await.unwrap();
    for sql in made {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    }
    // Seconds are told apart, and this took less than one.
    connection.execute("UPDATE toolrail_meta SET value = '' WHERE name = 'table_made'").await.unwrap();
    connection.close().await.unwrap();
    store.count().await.unwrap();
    assert_eq!(names_since(&*store, seen).await, (vec!["a".into()], vec![]));
}

/// Writers that wait for a lock leave connections to those who read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_goes_on_while_many_writers_wait_and_they_are_told_why() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "0")], &by("ann")).await.unwrap();
    let mut connection = connect(&database.url()).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    transaction.execute("UPDATE mcp_tool SET config_json = '1'").await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..24 {
        let store = store.clone();
        writers.spawn(async move {
            store.write(&[of("acme", put(&format!("t{number}"), "{}"))], &by("ann")).await
        });
    }
    let mut told = Vec::new();
    while let Some(written) = writers.join_next().await {
        let begun = Instant::now();
        timeout(Duration::from_secs(5), store.changes_since(0)).await.unwrap().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        let error = written.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        told.push(error.to_string());
    }
    assert!(told.iter().any(|told| told.contains("holds a lock")), "{told:?}");
    assert!(told.iter().all(|told| told.contains("innodb_trx")), "{told:?}");
    transaction.rollback().await.unwrap();
}
