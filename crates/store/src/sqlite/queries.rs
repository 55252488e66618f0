//! The queries after which tools were called.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use toolrail_core::{Forget, LearntLimits, LearntQuery, PastQuery, QueryPage, ToolKey, ToolQueries};

use super::rows::{optional_text, text};
use super::uses::take_numbers;
use crate::learnt::{Deleted, by_tool, deleted, merged, now};

const FIND: &str = "SELECT CAST(queries AS BLOB) FROM mcp_tool_query WHERE tenant = ? AND name_key = ?";
const PUT: &str = "INSERT INTO mcp_tool_query (tenant, name_key, queries, last_at, number) VALUES (?, ?, ?, ?, ?) \
    ON CONFLICT (tenant, name_key) DO UPDATE \
    SET queries = excluded.queries, last_at = excluded.last_at, number = excluded.number";
const READ: &str = "SELECT CAST(nullif(tenant, '') AS BLOB), CAST(name_key AS BLOB), CAST(queries AS BLOB), number \
    FROM mcp_tool_query WHERE number > ? ORDER BY number LIMIT ?";
const FORGOTTEN: &str = "SELECT CAST(value AS INTEGER) FROM toolrail_meta WHERE name = 'queries_forgotten'";
const NOTE_FORGOTTEN: &str = "UPDATE toolrail_meta SET value = ? WHERE name = 'queries_forgotten'";
const EMPTY: &str = "UPDATE mcp_tool_query SET queries = '[]', last_at = ?, number = ? \
    WHERE tenant = ? AND name_key = ? AND queries <> '[]'";
// Those with queries are told apart from those that were forgotten before.
const DELETE_OF_TENANT: &str = "DELETE FROM mcp_tool_query WHERE tenant = ? RETURNING queries <> '[]'";
const DELETE_UP_TO: &str = "DELETE FROM mcp_tool_query WHERE last_at <= ? RETURNING queries <> '[]'";

pub(super) async fn record(writer: &SqlitePool, learnt: &[LearntQuery]) -> Result<(), sqlx::Error> {
    let (tools, now) = (by_tool(learnt), now());
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let mut number = take_numbers(&mut transaction, tools.len()).await?;
    for (ToolKey { tenant, name }, added) in tools {
        let tenant = tenant.as_deref().unwrap_or_default();
        let found = sqlx::query(FIND).bind(tenant).bind(name).fetch_optional(&mut *transaction).await?;
        let kept = found.map(|row| text(&row, 0)).transpose()?;
        number += 1;
        sqlx::query(PUT)
            .bind(tenant)
            .bind(name)
            .bind(merged(kept.as_deref(), &added, now))
            .bind(now)
            .bind(number)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

pub(super) async fn after(readers: &SqlitePool, number: i64) -> Result<QueryPage, sqlx::Error> {
    let query = sqlx::query(READ).bind(number).bind(LearntLimits::ALL.tools_at_once);
    let rows = query.fetch_all(readers).await?;
    let forgotten = sqlx::query_scalar(FORGOTTEN).fetch_one(readers).await?;
    let tool = |row: &SqliteRow| {
        let tool = ToolKey { tenant: optional_text(row, 0)?, name: text(row, 1)? };
        Ok(ToolQueries { tool, number: row.try_get(3)?, queries: PastQuery::read(&text(row, 2)?) })
    };
    Ok(QueryPage { forgotten, tools: rows.iter().map(tool).collect::<Result<_, sqlx::Error>>()? })
}

pub(super) async fn forget(writer: &SqlitePool, what: &Forget) -> Result<u64, sqlx::Error> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let forgotten = match deleted(what) {
        Ok(deleted) => delete(&mut transaction, deleted).await?,
        Err(tools) => empty(&mut transaction, tools).await?,
    };
    transaction.commit().await?;
    Ok(forgotten)
}

async fn delete(connection: &mut SqliteConnection, deleted: Deleted<'_>) -> Result<u64, sqlx::Error> {
    let query = match deleted {
        Deleted::OfTenant(tenant) => sqlx::query_scalar(DELETE_OF_TENANT).bind(tenant),
        Deleted::UpTo(last) => sqlx::query_scalar(DELETE_UP_TO).bind(last),
    };
    let gone: Vec<bool> = query.fetch_all(&mut *connection).await?;
    if !gone.is_empty() {
        let number = take_numbers(connection, 1).await? + 1;
        sqlx::query(NOTE_FORGOTTEN).bind(number).execute(connection).await?;
    }
    Ok(gone.into_iter().filter(|had_some| *had_some).count() as u64)
}

async fn empty(connection: &mut SqliteConnection, tools: &[ToolKey]) -> Result<u64, sqlx::Error> {
    let (now, mut number) = (now(), take_numbers(connection, tools.len()).await?);
    let mut forgotten = 0;
    for ToolKey { tenant, name } in tools {
        number += 1;
        let query = sqlx::query(EMPTY).bind(now).bind(number).bind(tenant.as_deref().unwrap_or_default());
        forgotten += query.bind(name).execute(&mut *connection).await?.rows_affected();
    }
    Ok(forgotten)
}
