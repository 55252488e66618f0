//! Tables of any database as texts: which columns there are, and what rows have in some of them. Every value is cast to
//! text by the database, so that its types do not matter here.

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use super::Texts;
use crate::StoreUrl;

/// A connection that only reads.
pub(super) enum Reader {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    Mysql(MySqlConnection),
}

impl Reader {
    pub(super) async fn open(url: &StoreUrl) -> Result<Self, sqlx::Error> {
        match url {
            StoreUrl::Sqlite(file) => {
                let options = SqliteConnectOptions::new().filename(file).read_only(true);
                Ok(Self::Sqlite(options.connect().await?))
            }
            StoreUrl::Memory => {
                Ok(Self::Sqlite(SqliteConnectOptions::new().in_memory(true).connect().await?))
            }
            StoreUrl::Postgres(url) => {
                let mut connection = PgConnectOptions::from_url(url)?.connect().await?;
                sqlx::raw_sql("SET default_transaction_read_only = on").execute(&mut connection).await?;
                Ok(Self::Postgres(connection))
            }
            StoreUrl::Mysql(url) => {
                let mut connection = MySqlConnectOptions::from_url(url)?.connect().await?;
                sqlx::raw_sql("SET SESSION TRANSACTION READ ONLY").execute(&mut connection).await?;
                Ok(Self::Mysql(connection))
            }
        }
    }

    /// The columns of a table in lower case; none if there is no such table.
    pub(super) async fn columns(&mut self, table: &'static str) -> Result<Vec<String>, sqlx::Error> {
        let sql = match self {
            Self::Sqlite(_) => format!("SELECT lower(name) FROM pragma_table_info('{table}')"),
            Self::Postgres(_) => format!(
                "SELECT lower(column_name::text) FROM information_schema.columns \
                 WHERE table_name = '{table}' AND table_schema = ANY (current_schemas(false))"
            ),
            Self::Mysql(_) => format!(
                "SELECT CAST(lower(column_name) AS CHAR) FROM information_schema.columns \
                 WHERE table_name = '{table}' AND table_schema = database()"
            ),
        };
        Ok(self.rows(sql, 1).await?.into_iter().flatten().flatten().collect())
    }

    /// What the rows have in those columns, at most so many rows, by name.
    pub(super) async fn texts(
        &mut self,
        table: &'static str,
        columns: Vec<&'static str>,
        most: usize,
    ) -> Result<Vec<Texts>, sqlx::Error> {
        let kind = match self {
            Self::Sqlite(_) | Self::Postgres(_) => "TEXT",
            Self::Mysql(_) => "CHAR",
        };
        let cast: Vec<String> = columns.iter().map(|column| format!("CAST({column} AS {kind})")).collect();
        let sql = format!("SELECT {} FROM {table} ORDER BY name LIMIT {most}", cast.join(", "));
        let rows = self.rows(sql, columns.len()).await?;
        let named = |row: Vec<Option<String>>| {
            columns.iter().zip(row).filter_map(|(column, text)| Some((*column, text?))).collect()
        };
        Ok(rows.into_iter().map(named).collect())
    }

    /// The statement is made of names that stand in this program, never of what somebody wrote.
    async fn rows(&mut self, sql: String, columns: usize) -> Result<Vec<Vec<Option<String>>>, sqlx::Error> {
        let query = AssertSqlSafe(sql);
        macro_rules! texts {
            ($connection:expr) => {{
                let rows = sqlx::query(query).fetch_all($connection).await?;
                rows.iter().map(|row| (0..columns).map(|index| row.try_get(index)).collect()).collect()
            }};
        }
        match self {
            Self::Sqlite(connection) => texts!(connection),
            Self::Postgres(connection) => texts!(connection),
            Self::Mysql(connection) => texts!(connection),
        }
    }

    pub(super) async fn close(self) {
        // What was read is read; a connection that cannot say goodbye is closed by being dropped.
        let _ = match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(connection) => connection.close().await,
            Self::Mysql(connection) => connection.close().await,
        };
    }
}

/// What went wrong, without anything of the URL.
pub(super) fn told(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Configuration(_) => "its URL cannot be used; check its options".to_owned(),
        other => other.to_string(),
    }
}
