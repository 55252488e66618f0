//! How much each tool has been used.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use toolrail_core::{LearntLimits, ToolKey, Usage, Uses};

use super::rows::{optional_text, text};

const ADD: &str = "INSERT INTO mcp_tool_use (tenant, name_key, use_frequency, last_used, number) \
    VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?) \
    ON CONFLICT (tenant, name_key) DO UPDATE SET use_frequency = use_frequency + excluded.use_frequency, \
    last_used = excluded.last_used, number = excluded.number";
const READ: &str = "SELECT CAST(nullif(tenant, '') AS BLOB), CAST(name_key AS BLOB), use_frequency, \
    CAST(last_used AS BLOB), number FROM mcp_tool_use WHERE number > ? ORDER BY number LIMIT ?";
const NUMBER: &str = "SELECT CAST(value AS INTEGER) FROM toolrail_meta WHERE name = 'learnt_number'";
const TAKE: &str = "UPDATE toolrail_meta SET value = CAST(value AS INTEGER) + ? WHERE name = 'learnt_number' \
    RETURNING CAST(value AS INTEGER)";

pub(super) async fn record(writer: &SqlitePool, uses: &[Uses]) -> Result<(), sqlx::Error> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let mut number = take_numbers(&mut transaction, uses.len()).await?;
    for Uses { tool, calls } in uses {
        number += 1;
        sqlx::query(ADD)
            .bind(tool.tenant.as_deref().unwrap_or_default())
            .bind(&tool.name)
            .bind(calls)
            .bind(number)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

/// Takes so many numbers for what is written now, and returns the one before them.
pub(super) async fn take_numbers(
    connection: &mut SqliteConnection,
    count: usize,
) -> Result<i64, sqlx::Error> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let last: i64 = sqlx::query_scalar(TAKE).bind(count).fetch_one(connection).await?;
    Ok(last - count)
}

pub(super) async fn number(readers: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(NUMBER).fetch_one(readers).await
}

pub(super) async fn after(readers: &SqlitePool, number: i64) -> Result<Vec<Usage>, sqlx::Error> {
    let query = sqlx::query(READ).bind(number).bind(LearntLimits::ALL.counts_at_once);
    let rows = query.fetch_all(readers).await?;
    let usage = |row: &SqliteRow| {
        let tool = ToolKey { tenant: optional_text(row, 0)?, name: text(row, 1)? };
        Ok(Usage { tool, count: row.try_get(2)?, last_used: text(row, 3)?, number: row.try_get(4)? })
    };
    rows.iter().map(usage).collect()
}
