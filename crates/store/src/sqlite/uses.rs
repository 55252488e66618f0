//! How much each tool has been used.

use sqlx::Row as _;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use toolrail_core::{ToolKey, Usage, Uses};

use super::rows::{optional_text, text};

const ADD: &str = "INSERT INTO mcp_tool_use (tenant, name_key, use_frequency, last_used) \
    VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) \
    ON CONFLICT (tenant, name_key) DO UPDATE \
    SET use_frequency = use_frequency + excluded.use_frequency, last_used = excluded.last_used";
const READ: &str = "SELECT CAST(nullif(tenant, '') AS BLOB), CAST(name_key AS BLOB), use_frequency, \
    CAST(last_used AS BLOB) FROM mcp_tool_use ORDER BY tenant, name_key";

pub(super) async fn add(writer: &SqlitePool, uses: &[Uses]) -> Result<(), sqlx::Error> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    for Uses { tool, calls } in uses {
        sqlx::query(ADD)
            .bind(tool.tenant.as_deref().unwrap_or_default())
            .bind(&tool.name)
            .bind(calls)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

pub(super) async fn read(readers: &SqlitePool) -> Result<Vec<Usage>, sqlx::Error> {
    let rows = sqlx::query(READ).fetch_all(readers).await?;
    let usage = |row: &SqliteRow| {
        let tool = ToolKey { tenant: optional_text(row, 0)?, name: text(row, 1)? };
        Ok(Usage { tool, count: row.try_get(2)?, last_used: text(row, 3)? })
    };
    rows.iter().map(usage).collect()
}
