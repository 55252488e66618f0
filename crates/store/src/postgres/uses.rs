//! How often each tool was called.

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::{LearntLimits, ToolKey, Usage, Uses};

use super::failure::Failure;
use super::pool::Lease;
use super::rows::rfc3339;

// In the order of the keys, so that gateways that count at once do not lock each other out.
const ADD: &str = "INSERT INTO mcp_tool_use AS used (tenant, name_key, use_frequency, last_used, number) \
    SELECT tenant, name_key, sum(calls), clock_timestamp(), $4 + row_number() OVER (ORDER BY tenant, name_key) \
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS given (tenant, name_key, calls) \
    GROUP BY tenant, name_key ORDER BY tenant, name_key \
    ON CONFLICT (tenant, name_key) DO UPDATE SET use_frequency = used.use_frequency + excluded.use_frequency, \
    last_used = excluded.last_used, number = excluded.number";
const READ: &str = concat!(
    "SELECT nullif(tenant, ''), name_key, use_frequency, ",
    rfc3339!("last_used"),
    ", number FROM mcp_tool_use WHERE number > $1 ORDER BY number LIMIT $2"
);
const NUMBER: &str = "SELECT value::bigint FROM toolrail_meta WHERE name = 'learnt_number'";
const TAKE: &str = "UPDATE toolrail_meta SET value = (value::bigint + $1)::text WHERE name = 'learnt_number' \
    RETURNING value::bigint";

/// Adds calls.
pub(super) async fn record(pool: &PgPool, uses: &[Uses]) -> Result<(), Failure> {
    let mut lease = Lease::take(pool).await?;
    let tenants: Vec<&str> =
        uses.iter().map(|uses| uses.tool.tenant.as_deref().unwrap_or_default()).collect();
    let names: Vec<&str> = uses.iter().map(|uses| uses.tool.name.as_str()).collect();
    let calls: Vec<i64> = uses.iter().map(|uses| i64::from(uses.calls)).collect();
    let mut transaction =
        lease.connection()?.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    let number = take_numbers(&mut transaction, uses.len()).await?;
    let query = sqlx::query(ADD).bind(tenants).bind(names).bind(calls).bind(number);
    query.execute(&mut *transaction).await?;
    transaction.commit().await?;
    lease.give_back();
    Ok(())
}

/// Takes so many numbers for what is written now, and returns the one before them. Others wait until the commit.
pub(super) async fn take_numbers(connection: &mut PgConnection, count: usize) -> Result<i64, sqlx::Error> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let last: i64 = sqlx::query_scalar(TAKE).bind(count).fetch_one(connection).await?;
    Ok(last - count)
}

/// The last number that was taken.
pub(super) async fn number(pool: &PgPool) -> Result<i64, Failure> {
    let mut lease = Lease::take(pool).await?;
    let number = sqlx::query_scalar(NUMBER).fetch_one(lease.connection()?).await?;
    lease.give_back();
    Ok(number)
}

/// The next counts after that number.
pub(super) async fn after(pool: &PgPool, number: i64) -> Result<Vec<Usage>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let query = sqlx::query(READ).bind(number).bind(i64::from(LearntLimits::ALL.counts_at_once));
    let rows = query.fetch_all(lease.connection()?).await?;
    lease.give_back();
    let usage = |row: &PgRow| {
        let tool = ToolKey { tenant: row.try_get(0)?, name: row.try_get(1)? };
        Ok(Usage { tool, count: row.try_get(2)?, last_used: row.try_get(3)?, number: row.try_get(4)? })
    };
    Ok(rows.iter().map(usage).collect::<Result<_, sqlx::Error>>()?)
}
