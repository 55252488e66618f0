//! MySQL and MariaDB: a server that is slow, silent, gone or full. A proxy stands between, so that the server itself can go
//! on serving the other tests.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use toolrail_core::{Store, StoreError};
use toolrail_store::StoreUrl;

use crate::behaviour::{by, put};
use crate::mysql::{Database, connect, database, run, server};
use crate::proxy::{Line, Proxy};

async fn start() -> Proxy {
    Proxy::to(&server(), 3306).await
}

async fn through(proxy: &Proxy, database: &Database) -> Arc<dyn Store> {
    toolrail_store::open(&StoreUrl::Mysql(proxy.url(database.url()))).await.unwrap()
}

async fn unavailable_within<T>(seconds: u64, work: impl Future<Output = Result<T, StoreError>>) {
    let begun = Instant::now();
    let error = work.await.err().unwrap();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(seconds) + Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_is_unavailable_within_the_bound_and_works_again() {
    let (database, proxy) = (database().await, start().await);
    let store = through(&proxy, &database).await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    proxy.line.send_replace(Line::Silent);
    let (author, changes) = (by("ann"), [put("a", "2")]);
    let mut reads = JoinSet::new();
    for _ in 0..12 {
        let store = Arc::clone(&store);
        reads.spawn(async move { unavailable_within(5, store.revision()).await });
    }
    unavailable_within(10, store.write(&changes, &author)).await;
    reads.join_all().await;
    proxy.line.send_replace(Line::Open);
    let deadline = Instant::now() + Duration::from_secs(10);
    while store.revision().await.is_err() {
        assert!(Instant::now() < deadline, "it does not come back");
    }
    let revision = store.write(&[put("a", "3")], &by("ann")).await.unwrap();
    assert!(revision == 2 || revision == 3, "the write that got no answer was made or was not: {revision}");
    let versions = i64::try_from(store.audit(0, 10).await.unwrap().len()).unwrap();
    assert_eq!(versions, revision, "nothing was half made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_went_away_is_unavailable_and_works_again() {
    let (database, proxy) = (database().await, start().await);
    let store = through(&proxy, &database).await;
    store.write(&[put("a", "1")], &by("ann")).await.unwrap();
    proxy.line.send_replace(Line::Cut);
    unavailable_within(5, store.changes_since(0)).await;
    unavailable_within(10, store.write(&[put("a", "2")], &by("ann"))).await;
    proxy.line.send_replace(Line::Open);
    assert_eq!(store.revision().await.unwrap(), 1);
    assert_eq!(store.write(&[put("a", "3")], &by("ann")).await.unwrap(), 2);
}

/// Nobody waits as long as for a server that is silent, however many ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_connections_is_told_at_once() {
    let (database, proxy) = (database().await, start().await);
    let store = through(&proxy, &database).await;
    assert_eq!(store.revision().await.unwrap(), 0);
    drop(proxy);
    let mut reads = JoinSet::new();
    for _ in 0..20 {
        let store = Arc::clone(&store);
        reads.spawn(async move {
            let begun = Instant::now();
            let error = store.revision().await.unwrap_err().to_string();
            // A connection that was there when the server went may be told of first.
            assert!(error.contains("onnection refused") || error.contains("onnection reset"), "{error}");
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        });
    }
    reads.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_full_is_waited_for_and_told() {
    let database = database().await;
    let user = &database.name;
    for host in ["%", "127.0.0.1"] {
        let sql = format!(
            "CREATE USER '{user}'@'{host}' IDENTIFIED BY 'vanpass' WITH MAX_USER_CONNECTIONS 2; \
             GRANT ALL ON {user}.* TO '{user}'@'{host}'"
        );
        run(&server(), &sql).await.unwrap();
    }
    let mut url = database.url();
    url.set_username(user).unwrap();
    url.set_password(Some("vanpass")).unwrap();
    let store = toolrail_store::open(&StoreUrl::Mysql(url.clone())).await.unwrap();
    let mut reads = JoinSet::new();
    for number in 0..20 {
        let store = Arc::clone(&store);
        reads.spawn(async move {
            store.write(&[put(&format!("t{number}"), "1")], &by("ann")).await.unwrap();
        });
    }
    reads.join_all().await;
    assert_eq!(store.revision().await.unwrap(), 20, "more callers than connections");
    store.close().await;

    let taken = (connect_soon(&url).await, connect_soon(&url).await);
    let full = toolrail_store::open(&StoreUrl::Mysql(url.clone())).await.err().unwrap();
    assert!(full.to_string().contains("max_user_connections"), "{full}");
    drop(taken);
    let deadline = Instant::now() + Duration::from_secs(5);
    while toolrail_store::open(&StoreUrl::Mysql(url.clone())).await.is_err() {
        assert!(Instant::now() < deadline, "connections are free again");
    }
    run(&server(), &format!("DROP USER '{user}'@'%'; DROP USER '{user}'@'127.0.0.1'")).await.unwrap();
}

/// The server may still be letting go of connections that were closed.
async fn connect_soon(url: &url::Url) -> sqlx::mysql::MySqlConnection {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match connect(url).await {
            Ok(connection) => return connection,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::task::yield_now().await;
    }
}

/// The answer to a COMMIT is lost: the server is asked what became of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_answer_was_lost_is_told_as_it_ended() {
    let (database, proxy) = (database().await, start().await);
    let store = through(&proxy, &database).await;
    crate::proxy::writes_are_told_as_they_ended(&*store, &proxy).await;
}
