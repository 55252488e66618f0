//! Tables of any database as texts: which columns there are, and what rows have in some of them. Every value is cast to
//! text by the database, so that its types do not matter here.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

use super::{ForeignLimits, OnRows, Texts};
use crate::StoreUrl;

/// After how many steps of its machine SQLite looks at the clock.
const STEPS: i32 = 10_000;
/// After how many rows it is told how many there are.
const TOLD_EVERY: usize = 1_000;

/// How much may be read, and who hears of it.
#[derive(Clone, Copy)]
pub(super) struct Budget<'l> {
    pub(super) limits: ForeignLimits,
    pub(super) tell: OnRows<'l>,
}

/// Why a table was not read.
pub(super) enum ReadError {
    Sql(sqlx::Error),
    /// It has more than this.
    TooMuch(String),
    /// A value in that table is larger than one may be.
    TooLarge(&'static str),
}

impl From<sqlx::Error> for ReadError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// A connection that only reads.
pub(super) enum Reader {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    Mysql(MySqlConnection),
}

impl Reader {
    /// Every statement ends after that time, at the database too.
    pub(super) async fn open(url: &StoreUrl, time: Duration) -> Result<Self, ReadError> {
        match url {
            StoreUrl::Sqlite(file) => {
                let options = SqliteConnectOptions::new().filename(file).read_only(true);
                let mut connection = options.connect().await?;
                let deadline = std::time::Instant::now() + time;
                let handler = move || std::time::Instant::now() < deadline;
                connection.lock_handle().await?.set_progress_handler(STEPS, handler);
                Ok(Self::Sqlite(connection))
            }
            StoreUrl::Memory | StoreUrl::Json(_) => {
                Ok(Self::Sqlite(SqliteConnectOptions::new().in_memory(true).connect().await?))
            }
            StoreUrl::Postgres(url) => {
                let mut connection = PgConnectOptions::from_url(url)?.connect().await?;
                sqlx::raw_sql("SET default_transaction_read_only = on").execute(&mut connection).await?;
                let limit = format!("SET statement_timeout = {}", time.as_millis());
                sqlx::raw_sql(AssertSqlSafe(limit)).execute(&mut connection).await?;
                Ok(Self::Postgres(connection))
            }
            StoreUrl::Mysql(url) => {
                let mut connection = MySqlConnectOptions::from_url(url)?.connect().await?;
                sqlx::raw_sql("SET SESSION TRANSACTION READ ONLY").execute(&mut connection).await?;
                for limit in [
                    format!("SET SESSION max_statement_time = {}", time.as_secs_f32()),
                    format!("SET SESSION max_execution_time = {}", time.as_millis()),
                ] {
                    // MariaDB knows the one, MySQL the other.
                    let _ = sqlx::raw_sql(AssertSqlSafe(limit)).execute(&mut connection).await;
                }
                Ok(Self::Mysql(connection))
            }
        }
    }

    /// The columns of a table in lower case; none if there is no such table.
    pub(super) async fn columns(&mut self, table: &'static str) -> Result<Vec<String>, ReadError> {
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
        let budget = Budget { limits: ForeignLimits::default(), tell: &|_| {} };
        Ok(self.rows(sql, 1, budget).await?.into_iter().flatten().flatten().collect())
    }

    /// What the rows have in those columns, by name.
    pub(super) async fn texts(
        &mut self,
        table: &'static str,
        columns: Vec<&'static str>,
        budget: Budget<'_>,
    ) -> Result<Vec<Texts>, ReadError> {
        let kind = match self {
            Self::Sqlite(_) | Self::Postgres(_) => "TEXT",
            Self::Mysql(_) => "CHAR",
        };
        let cast = |column: &&str| format!("CAST({column} AS {kind})");
        let size = match self {
            // Of a plain column, SQLite knows it without reading the value.
            Self::Sqlite(_) => |column: &str, _: String| format!("octet_length({column})"),
            Self::Postgres(_) => |_: &str, cast: String| format!("octet_length({cast})"),
            Self::Mysql(_) => |_: &str, cast: String| format!("length({cast})"),
        };
        // What is too large stays in the database; the last column says that there is such a value.
        let most = budget.limits.value_bytes;
        let is_large = |column: &&str| format!("{} > {most}", size(column, cast(column)));
        let text =
            |column: &&str| format!("CASE WHEN {} THEN NULL ELSE {} END", is_large(column), cast(column));
        let texts: Vec<String> = columns.iter().map(text).collect();
        let any_large: Vec<String> = columns.iter().map(is_large).collect();
        let sql = format!(
            "SELECT {}, CASE WHEN {} THEN 'large' ELSE NULL END FROM {table} ORDER BY name LIMIT {}",
            texts.join(", "),
            any_large.join(" OR "),
            budget.limits.rows + 1
        );
        let rows = self.rows(sql, columns.len() + 1, budget).await?;
        if rows.iter().any(|row| row.last().is_some_and(Option::is_some)) {
            return Err(ReadError::TooLarge(table));
        }
        let named = |row: Vec<Option<String>>| {
            columns.iter().zip(row).filter_map(|(column, text)| Some((*column, text?))).collect()
        };
        Ok(rows.into_iter().map(named).collect())
    }

    /// The statement is made of names that stand in this program, never of what somebody wrote.
    async fn rows(
        &mut self,
        sql: String,
        columns: usize,
        budget: Budget<'_>,
    ) -> Result<Vec<Vec<Option<String>>>, ReadError> {
        let query = AssertSqlSafe(sql);
        let mut read = ReadRows { budget, rows: Vec::new(), bytes: 0 };
        macro_rules! texts {
            ($connection:expr) => {{
                let mut rows = sqlx::query(query).fetch($connection);
                while let Some(row) = rows.try_next().await? {
                    let texts = (0..columns).map(|index| row.try_get(index)).collect::<Result<_, _>>()?;
                    read.add(texts)?;
                }
            }};
        }
        match self {
            Self::Sqlite(connection) => texts!(connection),
            Self::Postgres(connection) => texts!(connection),
            Self::Mysql(connection) => texts!(connection),
        }
        Ok(read.rows)
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

/// The rows of a statement, as far as they fit.
struct ReadRows<'l> {
    budget: Budget<'l>,
    rows: Vec<Vec<Option<String>>>,
    bytes: usize,
}

impl ReadRows<'_> {
    fn add(&mut self, row: Vec<Option<String>>) -> Result<(), ReadError> {
        let limits = self.budget.limits;
        self.bytes += row.iter().flatten().map(String::len).sum::<usize>();
        if self.bytes > limits.bytes {
            return Err(ReadError::TooMuch(format!("{} MiB of tools", limits.bytes / 1024 / 1024)));
        }
        if self.rows.len() == limits.rows {
            return Err(ReadError::TooMuch(format!("{} tools", limits.rows)));
        }
        self.rows.push(row);
        if self.rows.len().is_multiple_of(TOLD_EVERY) {
            (self.budget.tell)(self.rows.len());
        }
        Ok(())
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
