//! PostgreSQL: the behaviour suite on a database of its own for each test, on the server that the environment variable
//! TOOLRAIL_TEST_POSTGRES names (`cargo xtask test` starts one).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use toolrail_core::{Store, StoreError, async_trait};
use toolrail_store::{StoreUrl, open};
use url::Url;

use crate::behaviour::{Subject, suite};

/// A database of its own, dropped with this.
pub(crate) struct Database {
    server: Url,
    pub(crate) name: String,
}

/// A database that does not exist yet: opening a store creates it.
pub(crate) fn nowhere() -> Database {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var("TOOLRAIL_TEST_POSTGRES")
        .expect("TOOLRAIL_TEST_POSTGRES must name a PostgreSQL server; `cargo xtask test` starts one");
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Database { server: server.parse().unwrap(), name: format!("it_{}_{number}", std::process::id()) }
}

pub(crate) async fn database() -> Database {
    let database = nowhere();
    database.on_server(format!("CREATE DATABASE {} TEMPLATE template0", database.name)).await;
    database
}

#[async_trait]
impl Subject for Database {
    async fn open(&self) -> Arc<dyn Store> {
        self.try_open().await.unwrap()
    }

    async fn sql(&self, statements: &str) -> Result<(), String> {
        execute(&mut self.connection().await, statements).await
    }
}

impl Database {
    pub(crate) fn url(&self) -> Url {
        let mut url = self.server.clone();
        url.set_path(&self.name);
        url
    }

    /// Another user of the server, who may do nothing yet; gone with the database.
    pub(crate) async fn user(&self, options: &str) -> String {
        let user = format!("{}_user", self.name);
        self.on_server(format!("CREATE ROLE {user} LOGIN PASSWORD 'hush' {options}")).await;
        user
    }

    /// The URL for that user.
    pub(crate) fn url_of(&self, user: &str) -> Url {
        let mut url = self.url();
        url.set_username(user).unwrap();
        url.set_password(Some("hush")).unwrap();
        url
    }

    pub(crate) async fn try_open(&self) -> Result<Arc<dyn Store>, StoreError> {
        open(&StoreUrl::Postgres(self.url())).await
    }

    pub(crate) async fn connection(&self) -> PgConnection {
        connect(&self.url()).await
    }

    pub(crate) async fn run(&self, statements: &str) {
        self.sql(statements).await.unwrap();
    }

    pub(crate) async fn on_server(&self, statement: String) {
        let mut connection = connect(&self.server).await;
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }

    /// One value of one row.
    pub(crate) async fn value(&self, query: &str) -> String {
        let query = AssertSqlSafe(format!("SELECT ({query})::text"));
        let value: Option<String> =
            sqlx::query_scalar(query).fetch_one(&mut self.connection().await).await.unwrap();
        value.unwrap_or_else(|| "NULL".into())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let statement = AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
                let mut connection = connect(&server).await;
                sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
                let statement = AssertSqlSafe(format!("DROP ROLE IF EXISTS {name}_user"));
                sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
            });
        });
        dropping.join().ok();
    }
}

pub(crate) async fn connect(url: &Url) -> PgConnection {
    PgConnectOptions::from_url(url).unwrap().connect().await.unwrap()
}

/// As another program would, in one transaction.
pub(crate) async fn execute(connection: &mut PgConnection, statements: &str) -> Result<(), String> {
    let mut transaction = connection.begin().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements))
        .execute(&mut *transaction)
        .await
        .map_err(|error| error.to_string())?;
    transaction.commit().await.map_err(|error| error.to_string())
}

suite!(database);
