//! One connection to a database of any kind, for plain SQL.

use anyhow::{Context, Result};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row, raw_sql};

use super::DatabaseKind;

/// A connection, closed when dropped.
#[derive(Debug)]
pub struct Connection(Inner);

#[derive(Debug)]
enum Inner {
    Sqlite(Box<SqliteConnection>),
    Postgres(Box<PgConnection>),
    Mysql(Box<MySqlConnection>),
}

impl Connection {
    /// Connects to the database with that URL.
    pub async fn open(kind: DatabaseKind, url: &str) -> Result<Self> {
        let inner = match kind {
            DatabaseKind::Sqlite => {
                let file = url.trim_start_matches("sqlite:");
                let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
                Inner::Sqlite(Box::new(options.connect().await?))
            }
            DatabaseKind::Postgres => {
                let options: PgConnectOptions = url.parse().context("the URL of a PostgreSQL server")?;
                Inner::Postgres(Box::new(options.connect().await.context("cannot connect to PostgreSQL")?))
            }
            DatabaseKind::Mysql => {
                let options: MySqlConnectOptions = url.parse().context("the URL of a MariaDB server")?;
                Inner::Mysql(Box::new(options.connect().await.context("cannot connect to MariaDB")?))
            }
        };
        Ok(Self(inner))
    }

    /// Runs statements, and returns how many rows they changed.
    pub async fn execute(&mut self, statements: &str) -> Result<u64> {
        let sql = raw_sql(AssertSqlSafe(statements));
        Ok(match &mut self.0 {
            Inner::Sqlite(connection) => sql.execute(&mut **connection).await?.rows_affected(),
            Inner::Postgres(connection) => sql.execute(&mut **connection).await?.rows_affected(),
            Inner::Mysql(connection) => sql.execute(&mut **connection).await?.rows_affected(),
        })
    }

    /// The first column of every row that a query gives, as text. Numbers are to be cast by the query.
    pub async fn texts(&mut self, query: &str) -> Result<Vec<Option<String>>> {
        let sql = raw_sql(AssertSqlSafe(query));
        let texts: Result<_, sqlx::Error> = match &mut self.0 {
            Inner::Sqlite(connection) => first_columns(&sql.fetch_all(&mut **connection).await?),
            Inner::Postgres(connection) => first_columns(&sql.fetch_all(&mut **connection).await?),
            Inner::Mysql(connection) => first_columns(&sql.fetch_all(&mut **connection).await?),
        };
        texts.with_context(|| format!("the first column of {query:?} is no text"))
    }
}

fn first_columns<R: Row>(rows: &[R]) -> Result<Vec<Option<String>>, sqlx::Error>
where
    usize: sqlx::ColumnIndex<R>,
    for<'r> Option<String>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    rows.iter().map(|row| row.try_get(0)).collect()
}
