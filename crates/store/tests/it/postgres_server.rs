//! PostgreSQL: what only a server can get wrong. Starting at once, hearing of changes, locks of others, lost connections.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgListener};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use toolrail_core::{Changes, Store, StoreError};
use toolrail_store::{StoreUrl, open};

use crate::behaviour::{Subject, by, of, put};
use crate::postgres::{Database, connect, database, nowhere};
use crate::proxy::{Proxy, writes_are_told_as_they_ended};

const SOON: Duration = Duration::from_secs(30);

async fn rings(bell: &Notify) {
    timeout(SOON, bell.notified()).await.expect("the bell rings");
}

/// A store whose bell has rung for the start of listening.
async fn listening(database: &Database) -> (Arc<dyn Store>, Arc<Notify>) {
    let store = database.open().await;
    let bell = store.bell().unwrap();
    rings(&bell).await;
    (store, bell)
}

/// Ends sessions of gateways, and says how many.
async fn end_sessions(database: &Database, condition: &str) -> u32 {
    let query = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = '{}' AND application_name = 'toolrail' AND {condition}",
        database.name
    );
    database.value(&query).await.parse().unwrap()
}

async fn sessions(database: &Database) -> String {
    let of_gateways = format!("datname = '{}' AND application_name = 'toolrail'", database.name);
    database.value(&format!("SELECT count(*) FROM pg_stat_activity WHERE {of_gateways}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_start_at_once_one_creates_and_migrates() {
    let database = Arc::new(nowhere());
    let mut starting = tokio::task::JoinSet::new();
    for number in 0..8 {
        let database = Arc::clone(&database);
        starting.spawn(async move {
            let store = database.open().await;
            store.write(&[put(&format!("t{number}"), "{}")], &by("ann")).await.unwrap();
        });
    }
    starting.join_all().await;
    assert_eq!(database.open().await.revision().await.unwrap(), 8);
    assert_eq!(database.value("SELECT count(*) FROM toolrail_schema").await, "1");
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_refused_with_what_to_do() {
    let database = database().await;
    database.open().await.close().await;
    database.run("UPDATE toolrail_schema SET version = 99").await;
    let error = database.try_open().await.err().unwrap();
    assert!(matches!(error, StoreError::TooNew { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_with_what_to_do_and_without_the_password() {
    let nowhere = nowhere();
    let user = nowhere.user("").await;
    let url = nowhere.url_of(&user);
    let mut parameter = url.clone();
    parameter.set_query(Some("passwort=hush"));
    let mut refused = url.clone();
    refused.set_port(Some(1)).unwrap();
    for (url, told) in [
        (url, format!("run: CREATE DATABASE \"{}\" OWNER \"{user}\"", nowhere.name)),
        (parameter, "unknown parameter \"passwort\"".to_owned()),
        (refused, "127.0.0.1:1/".to_owned()),
    ] {
        let url = StoreUrl::Postgres(url);
        let error = open(&url).await.err().unwrap();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains(&told), "{error}");
        assert!(!format!("{error} {error:?} {url:?}").contains("hush"), "{error:?}");
    }
}

/// R123.
#[tokio::test]
async fn the_bell_rings_for_every_change_whoever_makes_it() {
    let database = database().await;
    let (_store, bell) = listening(&database).await;
    let other = database.open().await;
    let began = Instant::now();
    other.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    rings(&bell).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    for sql in ["UPDATE mcp_tool SET enabled = enabled", "DELETE FROM mcp_tool", "TRUNCATE mcp_tool"] {
        database.run(sql).await;
        rings(&bell).await;
    }
    assert!(timeout(Duration::from_millis(100), bell.notified()).await.is_err(), "and for nothing else");
}

#[tokio::test]
async fn the_bell_rings_after_a_gap_and_for_changes_after_it() {
    let database = database().await;
    let (store, bell) = listening(&database).await;
    assert_eq!(end_sessions(&database, "query LIKE 'LISTEN%'").await, 1);
    rings(&bell).await;
    database.run("INSERT INTO mcp_tool (name, config_json) VALUES ('a', '{}')").await;
    rings(&bell).await;
    end_sessions(&database, "TRUE").await;
    assert_eq!(store.revision().await.unwrap(), 1, "ended sessions are replaced");
    rings(&bell).await;
}

/// C16.
#[tokio::test]
async fn notifications_say_what_was_done_to_which_definition() {
    let database = database().await;
    let store = database.open().await;
    let mut listener = PgListener::connect(database.url().as_str()).await.unwrap();
    listener.listen("toolrail_changed").await.unwrap();
    store.write(&[put("a", "{}"), of("acme", put("b", "{}"))], &by("ann")).await.unwrap();
    let long = "\u{1}x名".repeat(3_000);
    database
        .run(&format!(
            "UPDATE mcp_tool SET name = 'c' WHERE name = 'a'; DELETE FROM mcp_tool WHERE name = 'c'; \
             INSERT INTO mcp_tool (name, config_json) VALUES (repeat('y', 20000), '{{}}'), ('{long}', '{{}}'); TRUNCATE mcp_tool"
        ))
        .await;
    let mut told = Vec::new();
    for _ in 0..8 {
        let heard = timeout(SOON, listener.recv()).await.unwrap().unwrap();
        let payload: Value = serde_json::from_str(heard.payload()).unwrap();
        let (op, tenant) = (payload["op"].as_str().unwrap(), payload["tenant"].as_str().unwrap_or("-"));
        let name = payload["name"].as_str().map_or(0, str::len);
        told.push(format!("{op} {tenant} {name} {}", payload["revision"]));
    }
    let expected = [
        "insert - 1 1",
        "insert acme 1 2",
        "delete - 1 3",
        "update - 1 4",
        "delete - 1 5",
        "insert - 400 6",
        "insert - 666 7",
        "truncate - 0 10",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn emptying_the_table_is_a_removal_of_each() {
    let database = database().await;
    let store = database.open().await;
    let seen = store.write(&[put("a", "1"), of("acme", put("b", "2"))], &by("ann")).await.unwrap();
    database.run("TRUNCATE mcp_tool").await;
    let changes = store.changes_since(seen).await.unwrap();
    assert_eq!((changes.removed.len(), changes.revision), (2, seen + 2));
    assert_eq!(store.state_at(seen).await.unwrap().len(), 2);
    assert_eq!(store.state_at(seen + 2).await.unwrap(), []);
    database.run("TRUNCATE mcp_tool").await;
    assert_eq!(store.revision().await.unwrap(), seen + 2);
}

/// Another program holds a row and wants the counter, which we hold, while we want the row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_give_way_where_two_would_wait_for_each_other() {
    let database = database().await;
    let store = database.open().await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    let mut other = database.connection().await;
    let mut transaction = other.begin().await.unwrap();
    sqlx::raw_sql("SELECT 1 FROM mcp_tool WHERE name = 'a' FOR UPDATE")
        .execute(&mut *transaction)
        .await
        .unwrap();
    let writing = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.write(&[put("a", "2")], &by("ann")).await }
    });
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
        database.name
    );
    let deadline = Instant::now() + SOON;
    while database.value(&waiting).await == "0" {
        assert!(Instant::now() < deadline, "our write waits for the row");
    }
    sqlx::raw_sql("UPDATE mcp_tool SET config_json = '3'").execute(&mut *transaction).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(writing.await.unwrap().unwrap(), 3);
    assert_eq!(store.find(None, "a").await.unwrap().unwrap().config_json, "2");
}

/// However many want to write, reading goes on; and who is in the way is told.
#[tokio::test]
async fn a_lock_that_is_never_released_makes_the_store_unavailable_for_writing_only() {
    let database = database().await;
    let store = database.open().await;
    let mut url = database.url();
    url.set_query(Some("application_name=batch job"));
    let mut other = connect(&url).await;
    let mut transaction = other.begin().await.unwrap();
    let hold = "INSERT INTO mcp_tool (name, config_json) VALUES ('held', '{}')";
    sqlx::raw_sql(hold).execute(&mut *transaction).await.unwrap();
    let process: i32 =
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *transaction).await.unwrap();
    let began = Instant::now();
    let mut writing = tokio::task::JoinSet::new();
    for number in 0..24 {
        let store = Arc::clone(&store);
        writing.spawn(async move { store.write(&[put(&format!("t{number}"), "1")], &by("ann")).await });
    }
    while !writing.is_empty() {
        let asked = Instant::now();
        assert_eq!(store.revision().await.unwrap(), 0);
        assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
        let Ok(Some(written)) = timeout(Duration::from_millis(100), writing.join_next()).await else {
            continue;
        };
        let error = written.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        let told = format!("{error}");
        let holder = format!("(process {process}, idle in transaction, its transaction open for ");
        assert!(told.contains("\"batch job\"") && told.contains(&holder), "{told}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    transaction.rollback().await.unwrap();
    assert_eq!(store.write(&[put("a", "1")], &by("ann")).await.unwrap(), 1);
}

#[tokio::test]
async fn without_connections_left_the_store_is_unavailable_and_comes_back() {
    let database = database().await;
    let user = database.user("CONNECTION LIMIT 3").await;
    database.run(&format!("CREATE SCHEMA tools AUTHORIZATION {user}")).await;
    database.run(&format!("ALTER ROLE {user} SET search_path = tools")).await;
    let url = database.url_of(&user);
    let store = open(&StoreUrl::Postgres(url.clone())).await.unwrap();
    rings(&store.bell().unwrap()).await;
    let mut others: Vec<PgConnection> = vec![connect(&url).await];
    // Take the places of its sessions the moment they are ended.
    let deadline = Instant::now() + SOON;
    while others.len() < 3 {
        assert!(Instant::now() < deadline);
        end_sessions(&database, "TRUE").await;
        let options = <sqlx::postgres::PgConnectOptions as sqlx::ConnectOptions>::from_url(&url).unwrap();
        others.extend(sqlx::ConnectOptions::connect(&options).await);
    }
    let began = Instant::now();
    let error = store.revision().await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    for other in others {
        other.close().await.unwrap();
    }
    while store.revision().await.is_err() {
        assert!(Instant::now() < deadline + SOON);
    }
}

#[tokio::test]
async fn a_closed_store_is_of_no_more_use() {
    let database = database().await;
    let store = database.open().await;
    store.write(&[put("a", "{}")], &by("ann")).await.unwrap();
    store.close().await;
    store.revision().await.unwrap_err();
    drop(store);
    let deadline = Instant::now() + SOON;
    while sessions(&database).await != "0" {
        assert!(Instant::now() < deadline, "its sessions end");
    }
}

#[tokio::test]
async fn a_definition_larger_than_a_page_is_a_page_by_itself() {
    let database = database().await;
    let store = database.open().await;
    let large = format!("\"{}\"", "x".repeat(Changes::MOST_BYTES));
    for (name, definition) in [("a", large.as_str()), ("b", "{}"), ("c", large.as_str())] {
        store.write(&[put(name, definition)], &by("ann")).await.unwrap();
    }
    for (since, more) in [(0, true), (1, true), (2, false)] {
        let page = store.changes_since(since).await.unwrap();
        assert_eq!((page.rows.len(), page.revision, page.more), (1, since + 1, more));
    }
}

/// A large batch takes few round trips.
#[tokio::test]
async fn a_thousand_changes_are_made_at_once() {
    let database = database().await;
    let store = database.open().await;
    let batch: Vec<_> = (0..1_000).map(|number| put(&format!("t{number}"), r#"{"type":"http"}"#)).collect();
    let began = Instant::now();
    store.write(&batch, &by("ann")).await.unwrap();
    store.write(&batch, &by("ann")).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(store.audit(0, 5_000).await.unwrap().len(), 2_000);
}

/// The answer to a COMMIT is lost: the server is asked what became of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_answer_was_lost_is_told_as_it_ended() {
    let database = database().await;
    let proxy = Proxy::to(&database.url(), 5432).await;
    let store = open(&StoreUrl::Postgres(proxy.url(database.url()))).await.unwrap();
    writes_are_told_as_they_ended(&*store, &proxy).await;
}
