//! How much each tool is used.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{MySql, QueryBuilder, Row as _};
use toolrail_core::{Usage, Uses};

use super::failure::Failure;
use super::pieces::pieces;
use super::pool::begin_writing;
use super::rows::{key_of, tenant_bytes, text, time};

const READ: &str = "SELECT tenant_key, name_key, use_frequency, CAST(last_used AS CHAR) \
    FROM mcp_tool_use ORDER BY tenant_key, name_key";

/// Adds calls made just now.
pub(super) async fn record(connection: &mut MySqlConnection, uses: &[Uses]) -> Result<(), Failure> {
    // In one order, so that two who do this at once do not wait for each other.
    let mut uses: Vec<&Uses> = uses.iter().collect();
    uses.sort_unstable_by(|one, other| one.tool.cmp(&other.tool));
    let mut transaction = begin_writing(connection).await?;
    for uses in pieces(&uses, |_| 0) {
        let mut insert = QueryBuilder::<MySql>::new(
            "INSERT INTO mcp_tool_use (tenant_key, name_key, use_frequency, last_used) ",
        );
        insert.push_values(uses, |mut row, Uses { tool, calls }| {
            row.push_bind(tenant_bytes(tool)).push_bind(tool.name.as_bytes()).push_bind(calls);
            row.push("UTC_TIMESTAMP(6)");
        });
        insert.push(
            " ON DUPLICATE KEY UPDATE use_frequency = use_frequency + VALUES(use_frequency), \
             last_used = VALUES(last_used)",
        );
        insert.build().execute(&mut *transaction).await?;
    }
    Ok(transaction.commit().await?)
}

/// How much each tool has been used.
pub(super) async fn read(connection: &mut MySqlConnection) -> Result<Vec<Usage>, Failure> {
    let rows = sqlx::query(READ).fetch_all(connection).await?;
    let usage = |row: &MySqlRow| {
        Ok(Usage { tool: key_of(row, 0)?, count: row.try_get(2)?, last_used: time(&text(row, 3)?) })
    };
    rows.iter().map(usage).collect()
}
