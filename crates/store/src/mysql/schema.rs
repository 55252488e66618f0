//! Brings a database to the newest version of the schema, creating it if need be. Gateways that start at once take turns;
//! what one of them left half done, the next does again.

use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use url::Url;

use super::failure::{Failure, missing_right, number, number_of};
use super::rows::text;
use super::{adopt, pool, records, triggers, truncated, uses};
use crate::limits::READING;

const TABLES: &str = include_str!("migrations/0001_tables.sql");
const LEARNT: &str = include_str!("migrations/0002_learnt.sql");
const RECORDS: &str = include_str!("migrations/0004_records.sql");

/// The newest version of the schema that is known here.
const KNOWN: i64 = 4;

/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long to wait for another gateway that migrates.
const TURN: Duration = Duration::from_mins(1);
/// How long migrating may take: a large table is copied.
const MIGRATING: Duration = Duration::from_mins(10);

const NUMBERED_AT_ONCE: u32 = 500;

const VERSION: &str = "SELECT version FROM toolrail_schema WHERE id = 1";
const LOCK: &str = "SELECT GET_LOCK(CONCAT('toolrail:', SHA1(DATABASE())), ?)";
const MARK: &str = "CREATE TABLE IF NOT EXISTS toolrail_schema (id SMALLINT PRIMARY KEY, version BIGINT NOT NULL) \
    ENGINE = InnoDB";
// When the table was made: one that was swapped or restored by itself has rows that our triggers have not seen.
const MADE: &str = "SELECT CAST(create_time AS CHAR) FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_name = 'mcp_tool'";
const KNOWN_AS_MADE: &str = "SELECT value FROM toolrail_meta WHERE name = 'table_made'";
const REMEMBER_MADE: &str = "REPLACE INTO toolrail_meta (name, value) VALUES ('table_made', ?)";
const NUMBER: &str =
    "UPDATE mcp_tool SET version = 0, updated_at = updated_at WHERE version = 0 ORDER BY id LIMIT ?";

/// Brings the database to the newest version.
pub(super) async fn migrate(url: &Url, options: &MySqlConnectOptions) -> Result<(), Failure> {
    let mut connection = pool::within(CONNECTING, connect(url, options)).await?;
    if pool::within(READING, is_current(&mut connection)).await? {
        return Ok(connection.close().await?);
    }
    pool::within(TURN + READING, take_turn(&mut connection)).await?;
    // Another gateway may have been quicker while this one waited.
    if !pool::within(READING, is_current(&mut connection)).await? {
        let brought = pool::within(MIGRATING, bring(&mut connection)).await;
        match brought {
            Err(Failure::Sql(error)) if is_missing_right(&error) => {
                let told = missing_right(&mut connection, "ALL", &error);
                return Err(told.await);
            }
            brought => brought?,
        }
    }
    // The lock goes with the connection.
    Ok(connection.close().await?)
}

fn is_missing_right(error: &sqlx::Error) -> bool {
    use number::{NO_RIGHT, NO_RIGHT_TO_DATABASE, NO_RIGHT_TO_TABLE};
    matches!(number_of(error), Some(NO_RIGHT_TO_TABLE | NO_RIGHT_TO_DATABASE | NO_RIGHT))
}

async fn connect(url: &Url, options: &MySqlConnectOptions) -> Result<MySqlConnection, Failure> {
    match pool::connect(options).await {
        Err(error) if number_of(&error) == Some(number::UNKNOWN_DATABASE) => {
            create_database(url, options).await?;
            Ok(pool::connect(options).await?)
        }
        Err(error) if number_of(&error) == Some(number::NO_RIGHT_TO_DATABASE) => Err(no_right(url, options)),
        Err(error) if error.to_string().contains("RSA auth backend") => Err(Failure::Told(
            "it asks for the password over a connection that is not encrypted; turn on TLS at the server, \
             or give the user the plugin mysql_native_password"
                .into(),
        )),
        connected => Ok(connected?),
    }
}

async fn create_database(url: &Url, options: &MySqlConnectOptions) -> Result<(), Failure> {
    let Some(database) = options.get_database() else { return Ok(()) };
    let mut without = url.clone();
    without.set_path("");
    let mut connection = pool::connect(&pool::options(&without)?).await?;
    let sql = format!("CREATE DATABASE IF NOT EXISTS {} CHARACTER SET utf8mb4", quoted(database));
    let created = connection.execute(AssertSqlSafe(sql)).await;
    connection.close().await?;
    match created {
        Ok(_) => {
            tracing::info!(database, "created the database");
            Ok(())
        }
        Err(error) if number_of(&error) == Some(number::NO_RIGHT_TO_DATABASE) => Err(no_right(url, options)),
        Err(error) => Err(error.into()),
    }
}

fn no_right(url: &Url, options: &MySqlConnectOptions) -> Failure {
    let database = quoted(options.get_database().unwrap_or_default());
    let user = url.username();
    Failure::Told(format!(
        "there is no database {database} that the user may use, nor may the user create it; as an administrator run: \
         CREATE DATABASE {database} CHARACTER SET utf8mb4; GRANT ALL ON {database}.* TO '{user}'@'%'"
    ))
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Whether there is nothing to do.
pub(super) async fn is_current(connection: &mut MySqlConnection) -> Result<bool, Failure> {
    let found: Result<Option<i64>, _> = sqlx::query_scalar(VERSION).fetch_optional(&mut *connection).await;
    let found = match found {
        Err(error) if number_of(&error) == Some(number::NO_TABLE) => None,
        found => found?,
    };
    match found {
        Some(found) if found > KNOWN => Err(Failure::TooNew { found, known: KNOWN }),
        // Without its triggers, as after a backup of tables alone was played back, the store is blind.
        Some(KNOWN) => Ok(triggers::are_there(connection).await? && is_the_same_table(connection).await?),
        Some(_) | None => Ok(false),
    }
}

async fn is_the_same_table(connection: &mut MySqlConnection) -> Result<bool, sqlx::Error> {
    let known = sqlx::query(KNOWN_AS_MADE).fetch_optional(&mut *connection).await?;
    let known = known.map(|row| text(&row, 0)).transpose()?;
    Ok(known == Some(made(connection).await?))
}

async fn made(connection: &mut MySqlConnection) -> Result<String, sqlx::Error> {
    let row = sqlx::query(MADE).fetch_one(connection).await?;
    text(&row, 0)
}

async fn take_turn(connection: &mut MySqlConnection) -> Result<(), Failure> {
    let got: Option<i64> = sqlx::query_scalar(LOCK).bind(TURN.as_secs()).fetch_one(connection).await?;
    if got == Some(1) {
        return Ok(());
    }
    Err(Failure::Told("another gateway has been migrating it for a minute; try again later".into()))
}

async fn bring(connection: &mut MySqlConnection) -> Result<(), Failure> {
    adopt::check(connection).await?;
    sqlx::raw_sql(TABLES).execute(&mut *connection).await?;
    // Until all is done, nobody takes it for done.
    connection.execute(MARK).await?;
    connection.execute("DELETE FROM toolrail_schema").await?;
    sqlx::raw_sql(LEARNT).execute(&mut *connection).await?;
    uses::add_numbers(connection).await?;
    sqlx::raw_sql(RECORDS).execute(&mut *connection).await?;
    records::widen_actions(connection).await?;
    let columns = adopt::prepare(connection).await?;
    let made = made(connection).await?;
    triggers::install(connection, &columns).await?;
    number_rows(connection).await?;
    // Whatever went while there were no triggers is entered now.
    connection.execute("UPDATE mcp_config_version SET truncated = TRUE WHERE id = 1").await?;
    truncated::bury(connection).await?;
    sqlx::query(REMEMBER_MADE).bind(made).execute(&mut *connection).await?;
    let mark = sqlx::query("REPLACE INTO toolrail_schema (id, version) VALUES (1, ?)");
    mark.bind(KNOWN).execute(connection).await?;
    Ok(())
}

/// Rows that were there before us get their numbers from the triggers, one by one, and keep their times.
async fn number_rows(connection: &mut MySqlConnection) -> Result<(), Failure> {
    connection.execute("SET @toolrail_numbering = 1").await?;
    loop {
        let numbered = sqlx::query(NUMBER).bind(NUMBERED_AT_ONCE).execute(&mut *connection).await?;
        if numbered.rows_affected() == 0 {
            break;
        }
    }
    connection.execute("SET @toolrail_numbering = NULL").await?;
    Ok(())
}
