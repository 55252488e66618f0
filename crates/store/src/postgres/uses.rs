//! How often each tool was called.

use sqlx::Row as _;
use sqlx::postgres::{PgPool, PgRow};
use toolrail_core::{ToolKey, Usage, Uses};

use super::connect::Lease;
use super::fault::Fault;
use super::rows::rfc3339;

// In the order of the keys, so that gateways that count at once do not lock each other out.
const ADD: &str = "INSERT INTO mcp_tool_use AS used (tenant, name_key, use_frequency, last_used) \
    SELECT tenant, name_key, sum(calls), clock_timestamp() \
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS given (tenant, name_key, calls) \
    GROUP BY tenant, name_key ORDER BY tenant, name_key \
    ON CONFLICT (tenant, name_key) DO UPDATE \
    SET use_frequency = used.use_frequency + excluded.use_frequency, last_used = excluded.last_used";
const READ: &str = concat!(
    "SELECT nullif(tenant, ''), name_key, use_frequency, ",
    rfc3339!("last_used"),
    " FROM mcp_tool_use ORDER BY tenant COLLATE \"C\", name_key COLLATE \"C\""
);

/// Adds calls.
pub(super) async fn record(pool: &PgPool, uses: &[Uses]) -> Result<(), Fault> {
    let mut lease = Lease::take(pool).await?;
    let tenants: Vec<&str> =
        uses.iter().map(|uses| uses.tool.tenant.as_deref().unwrap_or_default()).collect();
    let names: Vec<&str> = uses.iter().map(|uses| uses.tool.name.as_str()).collect();
    let calls: Vec<i64> = uses.iter().map(|uses| i64::from(uses.calls)).collect();
    sqlx::query(ADD).bind(tenants).bind(names).bind(calls).execute(lease.connection()?).await?;
    lease.give_back();
    Ok(())
}

/// All counts.
pub(super) async fn read(pool: &PgPool) -> Result<Vec<Usage>, Fault> {
    let mut lease = Lease::take(pool).await?;
    let rows = sqlx::query(READ).fetch_all(lease.connection()?).await?;
    lease.give_back();
    let usage = |row: &PgRow| {
        let tool = ToolKey { tenant: row.try_get(0)?, name: row.try_get(1)? };
        Ok(Usage { tool, count: row.try_get(2)?, last_used: row.try_get(3)? })
    };
    Ok(rows.iter().map(usage).collect::<Result<_, sqlx::Error>>()?)
}
