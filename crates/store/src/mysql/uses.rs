//! How much each tool is used.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{Executor as _, MySql, QueryBuilder, Row as _};
use toolrail_core::{LearntLimits, Usage, Uses};

use super::failure::Failure;
use super::pieces::pieces;
use super::pool::begin_writing;
use super::rows::{key_of, tenant_bytes, text, time};

const READ: &str = "SELECT tenant_key, name_key, use_frequency, CAST(last_used AS CHAR), number \
    FROM mcp_tool_use WHERE number > ? ORDER BY number LIMIT ?";
const NUMBER: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'learnt_number'";
const LOCK: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'learnt_number' FOR UPDATE";
const TAKE: &str = "UPDATE toolrail_meta SET value = ? WHERE name = 'learnt_number'";

const HAS_NUMBERS: &str = "SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE() \
    AND table_name = 'mcp_tool_use' AND column_name = 'number'";
const ADD_NUMBERS: &str = "ALTER TABLE mcp_tool_use ADD COLUMN number BIGINT NOT NULL DEFAULT 0, \
    ADD KEY idx_mcp_tool_use_number (number)";
const UNNUMBERED: &str = "SELECT count(*) FROM mcp_tool_use WHERE number = 0";
const BEGIN_AT: &str = "SET @toolrail_number = ?";
const NUMBER_ROWS: &str = "UPDATE mcp_tool_use SET number = (@toolrail_number := @toolrail_number + 1) \
    WHERE number = 0 ORDER BY last_used";

/// Adds calls made just now.
pub(super) async fn record(connection: &mut MySqlConnection, uses: &[Uses]) -> Result<(), Failure> {
    // In one order, so that two who do this at once do not wait for each other.
    let mut uses: Vec<&Uses> = uses.iter().collect();
    uses.sort_unstable_by(|one, other| one.tool.cmp(&other.tool));
    let mut transaction = begin_writing(connection).await?;
    let mut number = take_numbers(&mut transaction, uses.len()).await?;
    for uses in pieces(&uses, |_| 0) {
        let mut insert = QueryBuilder::<MySql>::new(
            "INSERT INTO mcp_tool_use (tenant_key, name_key, use_frequency, last_used, number) ",
        );
        insert.push_values(uses, |mut row, Uses { tool, calls }| {
            number += 1;
            row.push_bind(tenant_bytes(tool)).push_bind(tool.name.as_bytes()).push_bind(calls);
            row.push("UTC_TIMESTAMP(6)").push_bind(number);
        });
        insert.push(
            " ON DUPLICATE KEY UPDATE use_frequency = use_frequency + VALUES(use_frequency), \
             last_used = VALUES(last_used), number = VALUES(number)",
        );
        insert.build().execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// Takes so many numbers for what is written now, and returns the one before them. Others wait until the commit.
pub(super) async fn take_numbers(connection: &mut MySqlConnection, count: usize) -> Result<i64, sqlx::Error> {
    let number: i64 = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    let last = number.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
    sqlx::query(TAKE).bind(last.to_string()).execute(connection).await?;
    Ok(number)
}

/// The last number that was taken.
pub(super) async fn number(connection: &mut MySqlConnection) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(NUMBER).fetch_one(connection).await?)
}

/// The next counts after that number.
pub(super) async fn after(connection: &mut MySqlConnection, number: i64) -> Result<Vec<Usage>, Failure> {
    let query = sqlx::query(READ).bind(number).bind(LearntLimits::ALL.counts_at_once);
    let rows = query.fetch_all(connection).await?;
    let usage = |row: &MySqlRow| {
        Ok(Usage {
            tool: key_of(row, 0)?,
            count: row.try_get(2)?,
            last_used: time(&text(row, 3)?),
            number: row.try_get(4)?,
        })
    };
    rows.iter().map(usage).collect()
}

/// Gives numbers to the counts of a table that had none. May be repeated.
pub(super) async fn add_numbers(connection: &mut MySqlConnection) -> Result<(), Failure> {
    let there: i64 = sqlx::query_scalar(HAS_NUMBERS).fetch_one(&mut *connection).await?;
    if there == 0 {
        connection.execute(ADD_NUMBERS).await?;
    }
    let mut transaction = begin_writing(connection).await?;
    let unnumbered: i64 = sqlx::query_scalar(UNNUMBERED).fetch_one(&mut *transaction).await?;
    if unnumbered > 0 {
        let number = take_numbers(&mut transaction, usize::try_from(unnumbered).unwrap_or(0)).await?;
        sqlx::query(BEGIN_AT).bind(number).execute(&mut *transaction).await?;
        transaction.execute(NUMBER_ROWS).await?;
    }
    Ok(transaction.commit().await?)
}
