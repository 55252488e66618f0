//! Databases of tests and servers of one's own, of every kind.

use std::time::{Duration, Instant};

use toolrail_testkit::{Connection, Database, DatabaseKind, Durability, Server, ServerOptions, wait_until};

const TABLE: &str = "CREATE TABLE t (x VARCHAR(20)); INSERT INTO t VALUES ('a'); INSERT INTO t VALUES (NULL)";

#[tokio::test]
async fn every_database_is_empty_at_first_and_apart_from_the_others() {
    for kind in DatabaseKind::ALL {
        for _ in 0..2 {
            let database = Database::fresh(kind).await.unwrap();
            let other = Database::fresh(kind).await.unwrap();
            database.execute(TABLE).await.unwrap();
            assert_eq!(database.texts("SELECT x FROM t ORDER BY x DESC").await.unwrap().len(), 2, "{kind}");
            other.texts("SELECT x FROM t").await.unwrap_err();
        }
    }
}

#[tokio::test]
async fn a_database_goes_with_its_test_whoever_is_connected() {
    for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql] {
        let database = Database::fresh(kind).await.unwrap();
        let url = database.url().to_owned();
        let _connected = database.connect().await.unwrap();
        drop(database);
        Connection::open(kind, &url).await.unwrap_err();
    }
}

async fn check_server(kind: DatabaseKind) {
    let started = Instant::now();
    let mut server = Server::start(kind).await.unwrap();
    println!("{kind}: started in {:?}", started.elapsed());
    let database = server.database().await.unwrap();
    database.execute(TABLE).await.unwrap();

    server.pause().unwrap();
    let paused = tokio::time::timeout(Duration::from_millis(300), database.texts("SELECT x FROM t")).await;
    assert!(paused.is_err(), "{kind} answers although it is paused: {paused:?}");
    server.resume().unwrap();
    assert_eq!(database.texts("SELECT x FROM t").await.unwrap().len(), 2);

    let mut connection = database.connect().await.unwrap();
    connection.execute("INSERT INTO t VALUES ('durable')").await.unwrap();
    server.kill().await.unwrap();
    connection.texts("SELECT x FROM t").await.unwrap_err();
    database.connect().await.unwrap_err();
    let restarting = Instant::now();
    server.restart().await.unwrap();
    println!("{kind}: restarted in {:?}", restarting.elapsed());
    assert_eq!(database.texts("SELECT x FROM t").await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_server_of_postgresql_is_paused_killed_and_restarted() {
    check_server(DatabaseKind::Postgres).await;
}

#[tokio::test]
async fn a_server_of_mariadb_is_paused_killed_and_restarted() {
    check_server(DatabaseKind::Mysql).await;
}

#[tokio::test]
async fn a_server_takes_as_many_connections_as_it_was_told() {
    for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql] {
        let options =
            ServerOptions { max_connections: 12, durability: Durability::Fast, ..ServerOptions::new(kind) };
        let server = options.start().await.unwrap();
        let mut connections = Vec::new();
        let full = loop {
            match server.connect().await {
                Ok(connection) => connections.push(connection),
                Err(error) => break format!("{error:#}"),
            }
        };
        assert!(full.contains("too many") || full.contains("Too many"), "{full}");
        // MariaDB keeps one more for an administrator.
        assert!((12..=13).contains(&connections.len()), "{kind}: {}", connections.len());
    }
}

/// The folder too: nothing of a test stays behind.
#[tokio::test]
async fn a_dropped_server_is_gone() {
    for kind in [DatabaseKind::Postgres, DatabaseKind::Mysql] {
        let server = Server::start(kind).await.unwrap();
        let (url, folder) = (server.url(), server.folder().to_owned());
        drop(server);
        assert!(!folder.exists());
        wait_until("the port to be closed", Duration::from_secs(5), async || {
            Connection::open(kind, &url).await.err().map(drop)
        })
        .await
        .unwrap();
    }
}
