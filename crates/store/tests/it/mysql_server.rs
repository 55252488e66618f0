//! MySQL and MariaDB: what depends on the server: rights, settings, locks, many gateways at once.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection as _, Executor as _};
use tokio::time::Instant;
use toolrail_core::{Change, HistoryQuery, Store, StoreError};
use toolrail_store::StoreUrl;

use crate::behaviour::{by, put};
use crate::mysql::{connect, database, run, server};

async fn open(url: &url::Url) -> Result<Arc<dyn Store>, StoreError> {
    toolrail_store::open(&StoreUrl::Mysql(url.clone())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_that_start_at_once_migrate_once() {
    let database = database().await;
    database
        .run(
            "CREATE TABLE mcp_tool (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200) UNIQUE NOT NULL, \
             config_json JSON NOT NULL); INSERT INTO mcp_tool (name, config_json) VALUES ('a', '{}'), ('b', '{}')",
        )
        .await;
    let mut opening = tokio::task::JoinSet::new();
    for number in 0..8 {
        let url = database.url();
        opening.spawn(async move {
            let store = open(&url).await.unwrap();
            store.write(&[put(&format!("t{number}"), "{}")], &by("ann")).await.unwrap();
        });
    }
    opening.join_all().await;
    let store = database.store().await;
    assert_eq!((store.count().await.unwrap(), store.revision().await.unwrap()), (10, 10));
    let versions = store.history(&HistoryQuery { most: 100, ..HistoryQuery::default() }).await.unwrap();
    assert_eq!(versions.len(), 10);
}

/// R103: the user vanna with the password vanpass.
#[tokio::test]
async fn the_documented_user_gets_its_database() {
    let name = format!("toolrail_vanna_{}", std::process::id());
    for host in ["%", "127.0.0.1", "localhost"] {
        let sql = format!(
            "CREATE USER IF NOT EXISTS 'vanna'@'{host}' IDENTIFIED BY 'vanpass'; \
             GRANT ALL ON `toolrail\\_vanna\\_%`.* TO 'vanna'@'{host}'"
        );
        run(&server(), &sql).await.unwrap();
    }
    let mut url = server();
    url.set_username("vanna").unwrap();
    url.set_password(Some("vanpass")).unwrap();
    url.set_path(&name);
    let store = open(&url).await.unwrap();
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    assert!(
        !store.describe().contains("vanpass") && store.describe().ends_with(&name),
        "{}",
        store.describe()
    );
    store.close().await;
    run(&server(), &format!("DROP DATABASE {name}")).await.unwrap();

    url.set_path("toolrail_not_vannas");
    let error = open(&url).await.err().unwrap().to_string();
    assert!(error.contains("CREATE DATABASE `toolrail_not_vannas`"), "{error}");
    assert!(error.contains("TO 'vanna'@") && !error.contains("vanpass"), "{error}");
    url.set_password(Some("vanpass2")).unwrap();
    let error = open(&url).await.err().unwrap();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("vanpass2"), "{error:?}");
    url.set_path("");
    assert!(open(&url).await.err().unwrap().to_string().contains("names no database"));
}

#[tokio::test]
async fn a_user_without_the_right_is_told_which_one_is_missing() {
    let database = database().await;
    let user = &database.name;
    for host in ["%", "127.0.0.1"] {
        let sql = format!(
            "CREATE USER '{user}'@'{host}' IDENTIFIED BY 'vanpass'; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON {user}.* TO '{user}'@'{host}'"
        );
        run(&server(), &sql).await.unwrap();
    }
    let mut url = database.url();
    url.set_username(user).unwrap();
    url.set_password(Some("vanpass")).unwrap();
    let error = open(&url).await.err().unwrap().to_string();
    assert!(error.contains(&format!("GRANT ALL ON `{user}`.* TO '{user}'@'")), "{error}");
    for host in ["%", "127.0.0.1"] {
        let sql = format!("GRANT CREATE, ALTER, INDEX, DROP ON {user}.* TO '{user}'@'{host}'");
        run(&server(), &sql).await.unwrap();
    }
    let error = open(&url).await.err().unwrap().to_string();
    assert!(error.contains("GRANT TRIGGER"), "{error}");
    for host in ["%", "127.0.0.1"] {
        run(&server(), &format!("GRANT TRIGGER ON {user}.* TO '{user}'@'{host}'")).await.unwrap();
    }
    let store = open(&url).await.unwrap();
    assert_eq!(store.write(&[put("a", "1")], &by("ann")).await.unwrap(), 1);
    run(&server(), &format!("DROP USER '{user}'@'%'; DROP USER '{user}'@'127.0.0.1'")).await.unwrap();
}

/// Another program that locks the row first and the revision then is in the way of every write that does the opposite.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlocks_with_other_programs_are_tried_again() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "0"), put("b", "0")], &by("ann")).await.unwrap();
    let url = database.url();
    let other = tokio::spawn(async move {
        let mut connection = connect(&url).await.unwrap();
        let mut refused = 0;
        for _ in 0..150 {
            let sql = "UPDATE mcp_tool SET config_json = '1' WHERE name IN ('a', 'b')";
            refused += u32::from(connection.execute(sql).await.is_err());
        }
        refused
    });
    let mut written = 0;
    while !other.is_finished() {
        store.write(&[put("b", "2"), put("a", "2")], &by("ann")).await.unwrap();
        written += 2;
    }
    let refused = other.await.unwrap();
    let expected = 2 + written + 2 * (150 - i64::from(refused));
    assert_eq!(store.revision().await.unwrap(), expected, "{refused} of the other program's were refused");
}

/// A transaction that nobody ends holds the revision: nobody waits for it for ever, and reading goes on.
#[tokio::test]
async fn a_locked_revision_makes_writes_unavailable_within_their_bound() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "0")], &by("ann")).await.unwrap();
    let mut connection = connect(&database.url()).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    transaction.execute("UPDATE mcp_tool SET config_json = '1'").await.unwrap();
    let begun = Instant::now();
    let error = store.write(&[put("a", "2")], &by("ann")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(store.find(None, "a").await.unwrap().unwrap().config_json, "0");
    transaction.rollback().await.unwrap();
    assert_eq!(store.write(&[put("a", "3")], &by("ann")).await.unwrap(), 2);
}

/// What a server's administrator may set must not matter.
#[tokio::test]
async fn connections_that_were_cut_are_made_again() {
    let database = database().await;
    let store = database.store().await;
    store.write(&[put("a", "0")], &by("ann")).await.unwrap();
    let name = &database.name;
    let mut connection = connect(&server()).await.unwrap();
    let ids: Vec<i64> =
        sqlx::query_scalar("SELECT CAST(id AS SIGNED) FROM information_schema.processlist WHERE db = ?")
            .bind(name)
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert!(!ids.is_empty());
    for id in ids {
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("KILL {id}"))).execute(&mut connection).await.unwrap();
    }
    assert_eq!(store.revision().await.unwrap(), 1);
    assert_eq!(store.write(&[put("a", "1")], &by("ann")).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_definitions_are_written_and_replaced_at_once() {
    let database = database().await;
    let store = database.store().await;
    let batch = |round: u32| -> Vec<Change> {
        let config = format!("{{\"round\":{round},\"text\":\"{}\"}}", "x".repeat(300));
        (0..1_000).map(|number| put(&format!("t{number}"), &config)).collect()
    };
    for round in 0..2 {
        let begun = Instant::now();
        let revision = store.write(&batch(round), &by("ann")).await.unwrap();
        println!("1,000 definitions in {:?}", begun.elapsed());
        assert_eq!(revision, i64::from(round + 1) * 1_000);
        let rows = store.changes_since(revision - 1_000).await.unwrap().rows;
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let expected: Vec<String> = (0..1_000).map(|number| format!("t{number}")).collect();
        assert_eq!(names, expected, "numbered in the order of the changes");
    }
    let mixed = [put("t9", "1"), put("T9", "2"), put("new", "1"), put("NEW", "2"), put("t1", "1")];
    store.write(&mixed, &by("ann")).await.unwrap();
    let rows = store.changes_since(2_000).await.unwrap().rows;
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.version - 2_000)).collect();
    assert_eq!(told, [("T9", 2), ("NEW", 4), ("t1", 5)]);
    assert_eq!(store.count().await.unwrap(), 1_001);
}
