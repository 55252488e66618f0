//! MySQL and MariaDB: triggers that are lost, tables that take the place of another, and writers who wait for each other.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection as _, Executor as _};
use tokio::time::Instant;
use toolrail_core::{HistoryQuery, Store, VersionKind};

use crate::behaviour::{by, purge, put};
use crate::mysql::{Database, connect, database};

async fn names(store: &dyn Store, since: i64) -> (Vec<String>, Vec<String>) {
    let changes = store.changes_since(since).await.unwrap();
    let mut removed: Vec<String> = changes.removed.into_iter().map(|key| key.name).collect();
    removed.sort();
    (changes.rows.into_iter().map(|row| row.name).collect(), removed)
}

async fn tells_the_truth(store: &dyn Store) {
    assert_eq!(store.reconcile().await.unwrap(), 0, "there is nothing left to enter");
    let told = store.state_at(store.revision().await.unwrap()).await.unwrap();
    assert_eq!(store.changes_since(0).await.unwrap().rows.len(), told.len());
}

#[tokio::test]
async fn a_write_without_its_triggers_makes_them_anew_and_is_seen() {
    for lost in ["deleted", "updating", "updated"] {
        let database = database().await;
        let store = database.store().await;
        let seen = store.write(&[put("t1", "{}"), put("t2", "{}")], &by("ann")).await.unwrap();
        database.run(&format!("DROP TRIGGER toolrail_{lost}")).await;
        let revision = store.write(&[put("t1", "[]"), purge("t2")], &by("ann")).await.unwrap();
        assert_eq!(revision, seen + 2, "{lost}");
        assert_eq!(names(&*store, seen).await, (vec!["t1".to_owned()], vec!["t2".to_owned()]), "{lost}");
        tells_the_truth(&*store).await;
    }
}

/// A child of another table goes and comes without triggers, which are not switched off in these databases.
async fn cascading(database: &Database) -> Arc<dyn Store> {
    let store = database.store().await;
    store.write(&[put("a", "{}"), put("b", "{}"), put("c", "{}")], &by("ann")).await.unwrap();
    database
        .run(
            "CREATE TABLE owner (id BIGINT PRIMARY KEY) ENGINE = InnoDB; \
             INSERT INTO owner SELECT id FROM mcp_tool; \
             ALTER TABLE mcp_tool ADD CONSTRAINT owned FOREIGN KEY (id) REFERENCES owner (id) ON DELETE CASCADE",
        )
        .await;
    store.reconcile().await.unwrap();
    store
}

#[tokio::test]
async fn rows_that_go_by_a_foreign_key_are_entered_as_removed() {
    let database = database().await;
    let store = cascading(&database).await;
    let seen = store.revision().await.unwrap();
    database.run("DELETE FROM owner ORDER BY id LIMIT 2").await;
    assert_eq!(store.reconcile().await.unwrap(), 2);
    assert_eq!(names(&*store, seen).await, (vec![], vec!["a".to_owned(), "b".to_owned()]));
    let history = store.history(&HistoryQuery { most: 2, ..HistoryQuery::default() }).await.unwrap();
    assert!(history.iter().all(|version| version.kind == VersionKind::Removed));
    tells_the_truth(&*store).await;
}

#[tokio::test]
async fn what_changed_while_the_triggers_were_away_is_entered() {
    let database = database().await;
    let store = database.store().await;
    let seen = store.write(&[put("a", "{}"), put("b", "{}"), put("c", "{}")], &by("ann")).await.unwrap();
    database
        .run(
            "DROP TRIGGER toolrail_updating; DROP TRIGGER toolrail_updated; DROP TRIGGER toolrail_deleted; \
             DROP TRIGGER toolrail_inserting; DROP TRIGGER toolrail_inserted; \
             UPDATE mcp_tool SET enabled = 0 WHERE name = 'a'; DELETE FROM mcp_tool WHERE name = 'b'; \
             INSERT INTO mcp_tool (name, config_json) VALUES ('new', '{}')",
        )
        .await;
    store.reconcile().await.unwrap();
    let (mut rows, removed) = names(&*store, seen).await;
    rows.sort();
    assert_eq!((rows, removed), (vec!["a".into(), "new".into()], vec!["b".into()]));
    tells_the_truth(&*store).await;
}

/// One order of locks: the row, then the revision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_updates_and_our_own_writes_never_wait_for_each_other() {
    let database = database().await;
    let store = database.store().await;
    let all: Vec<_> = (0..8).map(|number| put(&format!("t{number}"), "{}")).collect();
    store.write(&all, &by("ann")).await.unwrap();
    let until = Instant::now() + Duration::from_secs(3);
    let mut working = tokio::task::JoinSet::new();
    for worker in 0..4_u32 {
        let url = database.url();
        working.spawn(async move {
            let mut program = connect(&url).await.unwrap();
            let mut number = worker;
            while Instant::now() < until {
                number = (number + 3) % 8;
                let update = format!("UPDATE mcp_tool SET enabled = NOT enabled WHERE name = 't{number}'");
                program.execute(sqlx::AssertSqlSafe(update)).await.unwrap();
            }
        });
    }
    for worker in 0..2_usize {
        let (store, all) = (Arc::clone(&store), all.clone());
        working.spawn(async move {
            while Instant::now() < until {
                let some = &all[worker * 3..worker * 3 + 4];
                store.write(some, &by("ann")).await.unwrap();
            }
        });
    }
    while let Some(worked) = working.join_next().await {
        worked.unwrap();
    }
    tells_the_truth(&*store).await;
}

/// A gateway that stands still in the middle of a write: the server gives up on it before others do.
#[tokio::test]
async fn a_transaction_that_stands_still_with_our_settings_ends_before_others_give_up() {
    let database = database().await;
    let store = database.store().await;
    let mut frozen = connect(&database.url()).await.unwrap();
    sqlx::raw_sql("SET SESSION wait_timeout = 5").execute(&mut frozen).await.unwrap();
    let mut transaction = frozen.begin().await.unwrap();
    let lock = "SELECT version FROM mcp_config_version WHERE id = 1 FOR UPDATE";
    transaction.execute(lock).await.unwrap();
    assert_eq!(store.write(&[put("a", "{}")], &by("ann")).await.unwrap(), 1);
    drop(transaction);
}
