//! TRUNCATE fires no trigger. When rows are found to have gone that way, this does what the triggers would have done: the
//! revision moves, and every definition that went has its tombstone and its last version.

use sqlx::AssertSqlSafe;
use sqlx::mysql::MySqlConnection;
use toolrail_core::Revision;

use super::failure::Failure;
use super::pool::begin_writing;
use super::rows;

/// A version of a definition that was there last and is not there now. The newest of every definition is always kept.
pub(super) const IS_LOST: &str = "last.kind <> 'removed' \
    AND NOT EXISTS (SELECT 1 FROM mcp_tool_history AS later WHERE later.tenant_key = last.tenant_key \
        AND later.name_key = last.name_key AND later.revision > last.revision) \
    AND NOT EXISTS (SELECT 1 FROM mcp_tool \
        WHERE mcp_tool.tenant_key = last.tenant_key AND mcp_tool.name_key = last.name_key)";
const HISTORY: &str = "INSERT INTO mcp_tool_history \
    (revision, tenant_key, name_key, tenant, name, kind, enabled, config_json, at) \
    SELECT ? + ROW_NUMBER() OVER (ORDER BY last.revision), last.tenant_key, last.name_key, last.tenant, last.name, \
        'removed', last.enabled, last.config_json, UTC_TIMESTAMP(6) \
    FROM mcp_tool_history AS last WHERE ";
const TOMBSTONES: &str = "REPLACE INTO mcp_tool_tombstone (tenant_key, name_key, version) \
    SELECT tenant_key, name_key, revision FROM mcp_tool_history WHERE revision > ?";
const COUNT: &str = "UPDATE mcp_config_version SET version = ?, truncated = FALSE, \
    live = (SELECT count(*) FROM mcp_tool) WHERE id = 1";

/// Enters what went as removed, unless somebody else has done so already. Returns the revision that it led to.
pub(super) async fn bury(connection: &mut MySqlConnection) -> Result<Revision, Failure> {
    let mut transaction = begin_writing(connection).await?;
    let before = rows::lock(&mut transaction).await?;
    if !rows::state(&mut transaction).await?.1 {
        transaction.rollback().await?;
        return Ok(before);
    }
    let buried = sqlx::query(AssertSqlSafe(format!("{HISTORY}{IS_LOST}")))
        .bind(before)
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    let buried = i64::try_from(buried).unwrap_or(0);
    sqlx::query(TOMBSTONES).bind(before).execute(&mut *transaction).await?;
    sqlx::query(COUNT).bind(before + buried).execute(&mut *transaction).await?;
    transaction.commit().await?;
    if buried > 0 {
        tracing::warn!(
            definitions = buried,
            "definitions went from mcp_tool without a trigger, as by TRUNCATE; entered them as removed"
        );
    }
    Ok(before + buried)
}
