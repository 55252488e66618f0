//! The queries after which tools were called.

use std::collections::HashMap;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{MySql, QueryBuilder, Row as _};
use toolrail_core::{Forget, LearntLimits, LearntQuery, PastQuery, QueryPage, ToolKey, ToolQueries};

use super::failure::Failure;
use super::pieces::pieces;
use super::pool::begin_writing;
use super::rows::{key_of, tenant_bytes, text};
use super::uses::take_numbers;
use crate::learnt::{Deleted, by_tool, deleted, merged, now};

const READ: &str = "SELECT tenant_key, name_key, queries, number FROM mcp_tool_query \
    WHERE number > ? ORDER BY number LIMIT ?";
const FORGOTTEN: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'queries_forgotten'";
const NOTE_FORGOTTEN: &str = "UPDATE toolrail_meta SET value = ? WHERE name = 'queries_forgotten'";
const EMPTY: &str = "UPDATE mcp_tool_query SET queries = '[]', last_at = ?, number = ? \
    WHERE tenant_key = ? AND name_key = ? AND queries <> '[]'";
// Those with queries are told apart from those that were forgotten before.
const COUNT_OF_TENANT: &str = "SELECT count(*) FROM mcp_tool_query WHERE tenant_key = ? AND queries <> '[]'";
const DELETE_OF_TENANT: &str = "DELETE FROM mcp_tool_query WHERE tenant_key = ?";
const COUNT_UP_TO: &str = "SELECT count(*) FROM mcp_tool_query WHERE last_at <= ? AND queries <> '[]'";
const DELETE_UP_TO: &str = "DELETE FROM mcp_tool_query WHERE last_at <= ?";

/// Adds queries.
pub(super) async fn record(connection: &mut MySqlConnection, learnt: &[LearntQuery]) -> Result<(), Failure> {
    let (tools, now) = (by_tool(learnt), now());
    let tools: Vec<(&ToolKey, Vec<(&str, u32)>)> = tools.into_iter().collect();
    let mut transaction = begin_writing(connection).await?;
    // First: from here on nobody else changes what is read next.
    let mut number = take_numbers(&mut transaction, tools.len()).await?;
    for piece in pieces(&tools, |_| LearntLimits::ALL.longest) {
        let kept = find(&mut transaction, piece).await?;
        let mut insert = QueryBuilder::<MySql>::new(
            "INSERT INTO mcp_tool_query (tenant_key, name_key, queries, last_at, number) ",
        );
        insert.push_values(piece, |mut row, (tool, added)| {
            number += 1;
            let text = merged(kept.get(*tool).map(String::as_str), added, now);
            row.push_bind(tenant_bytes(tool)).push_bind(tool.name.as_bytes()).push_bind(text);
            row.push_bind(now).push_bind(number);
        });
        insert.push(
            " ON DUPLICATE KEY UPDATE queries = VALUES(queries), last_at = VALUES(last_at), \
             number = VALUES(number)",
        );
        insert.build().execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

async fn find(
    connection: &mut MySqlConnection,
    tools: &[(&ToolKey, Vec<(&str, u32)>)],
) -> Result<HashMap<ToolKey, String>, sqlx::Error> {
    let mut query = QueryBuilder::<MySql>::new(
        "SELECT tenant_key, name_key, queries FROM mcp_tool_query WHERE (tenant_key, name_key) IN ",
    );
    query.push_tuples(tools, |mut row, (tool, _)| {
        row.push_bind(tenant_bytes(tool)).push_bind(tool.name.as_bytes());
    });
    let rows = query.build().fetch_all(connection).await?;
    rows.iter().map(|row| Ok((key_of(row, 0)?, text(row, 2)?))).collect()
}

/// The next tools after that number.
pub(super) async fn after(connection: &mut MySqlConnection, number: i64) -> Result<QueryPage, Failure> {
    let query = sqlx::query(READ).bind(number).bind(LearntLimits::ALL.tools_at_once);
    let rows = query.fetch_all(&mut *connection).await?;
    let forgotten = sqlx::query_scalar(FORGOTTEN).fetch_one(connection).await?;
    let tool = |row: &MySqlRow| {
        let queries = PastQuery::read(&text(row, 2)?);
        Ok(ToolQueries { tool: key_of(row, 0)?, number: row.try_get(3)?, queries })
    };
    Ok(QueryPage { forgotten, tools: rows.iter().map(tool).collect::<Result<_, sqlx::Error>>()? })
}

/// Forgets queries.
pub(super) async fn forget(connection: &mut MySqlConnection, what: &Forget) -> Result<u64, Failure> {
    let mut transaction = begin_writing(connection).await?;
    let forgotten = match deleted(what) {
        Ok(deleted) => delete(&mut transaction, deleted).await?,
        Err(tools) => empty(&mut transaction, tools).await?,
    };
    transaction.commit().await?;
    Ok(forgotten)
}

async fn delete(connection: &mut MySqlConnection, which: Deleted<'_>) -> Result<u64, sqlx::Error> {
    let number = take_numbers(connection, 1).await? + 1;
    let (count, delete) = match which {
        Deleted::OfTenant(tenant) => {
            let tenant = tenant.as_bytes();
            (sqlx::query_scalar(COUNT_OF_TENANT).bind(tenant), sqlx::query(DELETE_OF_TENANT).bind(tenant))
        }
        Deleted::UpTo(last) => {
            (sqlx::query_scalar(COUNT_UP_TO).bind(last), sqlx::query(DELETE_UP_TO).bind(last))
        }
    };
    let had_some: i64 = count.fetch_one(&mut *connection).await?;
    if delete.execute(&mut *connection).await?.rows_affected() > 0 {
        sqlx::query(NOTE_FORGOTTEN).bind(number.to_string()).execute(connection).await?;
    }
    Ok(had_some.try_into().unwrap_or(0))
}

async fn empty(connection: &mut MySqlConnection, tools: &[ToolKey]) -> Result<u64, sqlx::Error> {
    let (now, mut number) = (now(), take_numbers(connection, tools.len()).await?);
    let mut forgotten = 0;
    for tool in tools {
        number += 1;
        let query = sqlx::query(EMPTY).bind(now).bind(number).bind(tenant_bytes(tool));
        let emptied = query.bind(tool.name.as_bytes()).execute(&mut *connection).await?;
        forgotten += emptied.rows_affected();
    }
    Ok(forgotten)
}
