//! MySQL and MariaDB: the behaviour suite on a real server, each test in a database of its own. What is particular is in
//! `mysql_adoption.rs` and `mysql_server.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use toolrail_core::{Store, async_trait};
use toolrail_store::StoreUrl;

use crate::behaviour::{Subject, suite};

/// A database that is dropped with it.
pub(crate) struct Database {
    pub(crate) name: String,
}

/// The server that `cargo xtask test` started.
pub(crate) fn server() -> url::Url {
    let url = std::env::var("TOOLRAIL_TEST_MYSQL");
    url.expect("TOOLRAIL_TEST_MYSQL names no server; run `cargo xtask test`").parse().unwrap()
}

pub(crate) async fn database() -> Database {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("toolrail_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    run(&server(), &format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}")).await.unwrap();
    Database { name }
}

/// Runs statements as another program would.
pub(crate) async fn run(url: &url::Url, sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    connection.close().await
}

/// A connection with none of our settings.
pub(crate) async fn connect(url: &url::Url) -> Result<MySqlConnection, sqlx::Error> {
    MySqlConnectOptions::from_url(url)?.connect().await
}

impl Database {
    pub(crate) fn url(&self) -> url::Url {
        let mut url = server();
        url.set_path(&self.name);
        url
    }

    pub(crate) async fn run(&self, sql: &str) {
        run(&self.url(), sql).await.unwrap();
    }

    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        toolrail_store::open(&StoreUrl::Mysql(self.url())).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {}", self.name);
        // On a thread of its own: this one may be within the runtime of the test.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(&server(), &sql))
        });
        drop(dropping.join());
    }
}

#[async_trait]
impl Subject for Database {
    async fn open(&self) -> Arc<dyn Store> {
        self.store().await
    }

    async fn sql(&self, statements: &str) -> Result<(), String> {
        let told = |error: sqlx::Error| error.to_string();
        let mut connection = connect(&self.url()).await.unwrap();
        let mut transaction = connection.begin().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut *transaction).await.map_err(told)?;
        transaction.commit().await.map_err(told)
    }
}

suite!(database);
