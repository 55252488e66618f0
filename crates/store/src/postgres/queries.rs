//! The queries after which tools were called.

use std::collections::HashMap;

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::{Forget, LearntLimits, LearntQuery, PastQuery, QueryPage, ToolKey, ToolQueries};

use super::failure::Failure;
use super::pool::Lease;
use super::uses::take_numbers;
use crate::learnt::{Deleted, by_tool, deleted, merged, now};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const FIND: &str = "SELECT nullif(tenant, ''), name_key, queries FROM mcp_tool_query \
    WHERE (tenant, name_key) IN (SELECT * FROM unnest($1::text[], $2::text[]))";
const PUT: &str = "INSERT INTO mcp_tool_query (tenant, name_key, queries, last_at, number) \
    SELECT tenant, name_key, queries, $4, $5 + nth \
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (tenant, name_key, queries, nth) \
    ON CONFLICT (tenant, name_key) DO UPDATE \
    SET queries = excluded.queries, last_at = excluded.last_at, number = excluded.number";
const READ: &str = "SELECT nullif(tenant, ''), name_key, queries, number FROM mcp_tool_query \
    WHERE number > $1 ORDER BY number LIMIT $2";
const FORGOTTEN: &str = "SELECT value::bigint FROM toolrail_meta WHERE name = 'queries_forgotten'";
const NOTE_FORGOTTEN: &str = "UPDATE toolrail_meta SET value = $1::text WHERE name = 'queries_forgotten'";
const EMPTY: &str = "UPDATE mcp_tool_query AS kept SET queries = '[]', last_at = $3, number = $4 + nth \
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (tenant, name_key, nth) \
    WHERE kept.tenant = given.tenant AND kept.name_key = given.name_key AND kept.queries <> '[]'";
// Those with queries are told apart from those that were forgotten before.
const DELETE_OF_TENANT: &str = "DELETE FROM mcp_tool_query WHERE tenant = $1 RETURNING queries <> '[]'";
const DELETE_UP_TO: &str = "DELETE FROM mcp_tool_query WHERE last_at <= $1 RETURNING queries <> '[]'";

/// Adds queries.
pub(super) async fn record(pool: &PgPool, learnt: &[LearntQuery]) -> Result<(), Failure> {
    let (tools, now) = (by_tool(learnt), now());
    let (tenants, names) = columns(tools.keys().copied());
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(BEGIN).await?;
    // First: from here on nobody else changes what is read next.
    let number = take_numbers(&mut transaction, tools.len()).await?;
    let found = sqlx::query(FIND).bind(&tenants).bind(&names).fetch_all(&mut *transaction).await?;
    let kept = |row: &PgRow| {
        Ok((ToolKey { tenant: row.try_get(0)?, name: row.try_get(1)? }, row.try_get::<String, _>(2)?))
    };
    let kept: HashMap<ToolKey, String> = found.iter().map(kept).collect::<Result<_, sqlx::Error>>()?;
    let text = |(tool, added): (&ToolKey, _)| merged(kept.get(tool).map(String::as_str), added, now);
    let texts: Vec<String> = tools.iter().map(|(tool, added)| text((tool, added))).collect();
    let query = sqlx::query(PUT).bind(tenants).bind(names).bind(texts).bind(now).bind(number);
    query.execute(&mut *transaction).await?;
    transaction.commit().await?;
    lease.give_back();
    Ok(())
}

/// The next tools after that number.
pub(super) async fn after(pool: &PgPool, number: i64) -> Result<QueryPage, Failure> {
    let mut lease = Lease::take(pool).await?;
    let connection = lease.connection()?;
    let query = sqlx::query(READ).bind(number).bind(i64::from(LearntLimits::ALL.tools_at_once));
    let rows = query.fetch_all(&mut *connection).await?;
    let forgotten = sqlx::query_scalar(FORGOTTEN).fetch_one(connection).await?;
    lease.give_back();
    let tool = |row: &PgRow| {
        let tool = ToolKey { tenant: row.try_get(0)?, name: row.try_get(1)? };
        Ok(ToolQueries { tool, number: row.try_get(3)?, queries: PastQuery::read(row.try_get(2)?) })
    };
    Ok(QueryPage { forgotten, tools: rows.iter().map(tool).collect::<Result<_, sqlx::Error>>()? })
}

/// Forgets queries.
pub(super) async fn forget(pool: &PgPool, what: &Forget) -> Result<u64, Failure> {
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(BEGIN).await?;
    let forgotten = match deleted(what) {
        Ok(deleted) => delete(&mut transaction, deleted).await?,
        Err(tools) => empty(&mut transaction, tools).await?,
    };
    transaction.commit().await?;
    lease.give_back();
    Ok(forgotten)
}

async fn delete(connection: &mut PgConnection, deleted: Deleted<'_>) -> Result<u64, sqlx::Error> {
    let number = take_numbers(connection, 1).await? + 1;
    let query = match deleted {
        Deleted::OfTenant(tenant) => sqlx::query_scalar(DELETE_OF_TENANT).bind(tenant),
        Deleted::UpTo(last) => sqlx::query_scalar(DELETE_UP_TO).bind(last),
    };
    let gone: Vec<bool> = query.fetch_all(&mut *connection).await?;
    if !gone.is_empty() {
        sqlx::query(NOTE_FORGOTTEN).bind(number).execute(connection).await?;
    }
    Ok(gone.into_iter().filter(|had_some| *had_some).count() as u64)
}

async fn empty(connection: &mut PgConnection, tools: &[ToolKey]) -> Result<u64, sqlx::Error> {
    let (tenants, names) = columns(tools.iter());
    let number = take_numbers(connection, tools.len()).await?;
    let query = sqlx::query(EMPTY).bind(tenants).bind(names).bind(now()).bind(number);
    Ok(query.execute(connection).await?.rows_affected())
}

fn columns<'t>(tools: impl Iterator<Item = &'t ToolKey>) -> (Vec<&'t str>, Vec<&'t str>) {
    tools.map(|tool| (tool.tenant.as_deref().unwrap_or_default(), tool.name.as_str())).unzip()
}
