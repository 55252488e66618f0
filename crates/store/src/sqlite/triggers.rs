//! The triggers on the definitions, which keep revision, tombstones and history whoever writes. Somebody may take them away,
//! or put another table in the place of theirs.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::adopt;

const NAMES: [&str; 5] = [
    "trg_mcp_tool_inserted",
    "trg_mcp_tool_updated",
    "trg_mcp_tool_deleted",
    "trg_mcp_tool_replacing",
    "trg_mcp_tool_renumbering",
];

/// Where they were last made.
const MADE_IN: &str = include_str!("migrations/0005_tenants_history_audit.sql");

const PRESENT: &str =
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = 'mcp_tool'";

const INDEXES: &str = "CREATE UNIQUE INDEX IF NOT EXISTS idx_mcp_tool_name_key ON mcp_tool (coalesce(tenant_id, ''), lower(name)); \
    CREATE INDEX IF NOT EXISTS idx_mcp_tool_updated_at ON mcp_tool (updated_at); \
    CREATE INDEX IF NOT EXISTS idx_mcp_tool_version ON mcp_tool (version)";

/// Whether all of them are there.
pub(super) async fn are_there(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    Ok(missing(connection).await?.is_empty())
}

/// Makes those anew that are missing, within the transaction of the connection.
pub(super) async fn ensure(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let missing = missing(connection).await?;
    if missing.is_empty() {
        return Ok(());
    }
    tracing::warn!(triggers = ?missing, "made triggers of the table mcp_tool anew, which were lost");
    adopt::add_columns(connection).await?;
    sqlx::raw_sql(INDEXES).execute(&mut *connection).await?;
    for name in missing {
        sqlx::raw_sql(AssertSqlSafe(statement(name))).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn missing(connection: &mut SqliteConnection) -> Result<Vec<&'static str>, sqlx::Error> {
    let present: Vec<String> = sqlx::query_scalar(PRESENT).fetch_all(connection).await?;
    Ok(NAMES.into_iter().filter(|name| !present.iter().any(|found| found == name)).collect())
}

/// The statement that makes the trigger of that name.
fn statement(name: &str) -> &'static str {
    let begin = MADE_IN.find(&format!("CREATE TRIGGER {name} ")).unwrap_or_default();
    let rest = MADE_IN.get(begin..).unwrap_or_default();
    let end = rest.find("\nEND;").map_or(rest.len(), |at| at + "\nEND;".len());
    rest.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trigger_is_made_by_one_statement() {
        for name in NAMES {
            let statement = statement(name);
            assert!(statement.starts_with(&format!("CREATE TRIGGER {name} ")), "{statement}");
            assert!(statement.ends_with("\nEND;"), "{statement}");
            assert_eq!(statement.matches("CREATE TRIGGER").count(), 1, "{statement}");
        }
    }
}
