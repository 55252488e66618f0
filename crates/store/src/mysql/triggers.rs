//! The triggers that keep revision, tombstones and history, whoever writes. They run with the rights of whoever made them,
//! so that another program needs rights on `mcp_tool` only.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use super::adopt::Columns;
use super::failure::{Failure, missing_right, number, number_of};
use super::rows::text;

// What comes before a row is written stands before what comes after it.
const TRIGGERS: [(&str, &str); 5] = [
    ("toolrail_inserting", include_str!("triggers/inserting.sql")),
    ("toolrail_updating", include_str!("triggers/updating.sql")),
    ("toolrail_inserted", include_str!("triggers/inserted.sql")),
    ("toolrail_updated", include_str!("triggers/updated.sql")),
    ("toolrail_deleted", include_str!("triggers/deleted.sql")),
];

const COUNT: &str = "SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE() \
    AND event_object_table = 'mcp_tool' AND trigger_name LIKE 'toolrail\\_%'";

// Triggers go along with a table that is renamed, and keep their names from being used again.
const ASTRAY: &str = "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE() \
    AND event_object_table <> 'mcp_tool' AND trigger_name IN \
    ('toolrail_inserting', 'toolrail_updating', 'toolrail_inserted', 'toolrail_updated', 'toolrail_deleted')";

const LOCK: &str = "LOCK TABLES mcp_tool WRITE, mcp_tool_history READ, mcp_tool_history AS later READ";

/// A row that is as the newest of its versions says. Otherwise the column is another program's, or it was written while there
/// were no triggers.
pub(super) const IS_AS_WRITTEN: &str = "EXISTS (SELECT 1 FROM mcp_tool_history \
        WHERE mcp_tool_history.revision = mcp_tool.version AND mcp_tool_history.kind <> 'removed' \
        AND mcp_tool_history.name_key = mcp_tool.name_key AND mcp_tool_history.tenant_key = mcp_tool.tenant_key \
        AND mcp_tool_history.enabled = (COALESCE(mcp_tool.enabled, 0) <> 0) \
        AND CAST(CONVERT(mcp_tool_history.config_json USING utf8mb4) AS BINARY) \
            <=> CAST(CONVERT(mcp_tool.config_json USING utf8mb4) AS BINARY) \
        AND NOT EXISTS (SELECT 1 FROM mcp_tool_history AS later WHERE later.tenant_key = mcp_tool.tenant_key \
            AND later.name_key = mcp_tool.name_key AND later.revision > mcp_tool.version))";

/// The folded name, as `ToolName::fold` makes it: no function of the server lowers the letters of ASCII alone.
pub(super) fn name_key(column: &str) -> String {
    let bytes = format!("COALESCE(CAST(CONVERT({column} USING utf8mb4) AS BINARY), x'')");
    let folded = (b'A'..=b'Z').fold(bytes, |sql, letter| {
        format!("REPLACE({sql}, x'{letter:02x}', x'{:02x}')", letter.to_ascii_lowercase())
    });
    // No tool has so long a name, but another program's row must not be refused for it.
    format!("LEFT({folded}, 2000)")
}

/// The tenant; empty for everybody.
pub(super) fn tenant_key(column: &str) -> String {
    format!("LEFT(COALESCE(CAST(CONVERT({column} USING utf8mb4) AS BINARY), x''), 1020)")
}

/// Whether all of them are there.
pub(super) async fn are_there(connection: &mut MySqlConnection) -> Result<bool, sqlx::Error> {
    let count: i64 = sqlx::query_scalar(COUNT).fetch_one(connection).await?;
    Ok(usize::try_from(count).is_ok_and(|count| count == TRIGGERS.len()))
}

/// Makes them all anew while nobody can write. Rows that they have not numbered have version 0 then.
pub(super) async fn install(connection: &mut MySqlConnection, columns: &Columns) -> Result<(), Failure> {
    for row in sqlx::query(ASTRAY).fetch_all(&mut *connection).await? {
        let drop = format!("DROP TRIGGER IF EXISTS {}", text(&row, 0)?);
        connection.execute(AssertSqlSafe(drop)).await?;
    }
    match connection.execute(LOCK).await {
        Ok(_) => {}
        Err(error)
            if matches!(
                number_of(&error),
                Some(number::NO_RIGHT_TO_DATABASE | number::NO_RIGHT_TO_TABLE)
            ) =>
        {
            tracing::warn!(
                "may not lock tables: do not write to mcp_tool with other programs while this starts"
            );
        }
        Err(error) => return Err(error.into()),
    }
    let installed = install_locked(connection, columns).await;
    connection.execute("UNLOCK TABLES").await?;
    installed
}

async fn install_locked(connection: &mut MySqlConnection, columns: &Columns) -> Result<(), Failure> {
    for (name, _) in TRIGGERS {
        let drop = format!("DROP TRIGGER IF EXISTS {name}");
        if let Err(error) = connection.execute(AssertSqlSafe(drop)).await {
            return Err(refused(connection, error).await);
        }
    }
    let forget = format!(
        "UPDATE mcp_tool SET version = 0, updated_at = updated_at WHERE version <> 0 AND NOT {IS_AS_WRITTEN}"
    );
    connection.execute(AssertSqlSafe(forget)).await?;
    for (_, sql) in TRIGGERS {
        let sql = sql
            .replace("{times}", &times(sql, columns))
            .replace("{name_key}", &name_key("NEW.name"))
            .replace("{tenant_key}", &tenant_key("NEW.tenant_id"));
        if let Err(error) = connection.execute(AssertSqlSafe(sql)).await {
            return Err(refused(connection, error).await);
        }
    }
    Ok(())
}

// A time is written with the precision that its column has: the server would round, up to a second into the future.
fn times(trigger: &str, columns: &Columns) -> String {
    let updated = columns.precision("updated_at");
    let created = columns.precision("created_at").filter(|_| trigger.contains("BEFORE INSERT"));
    let updated = updated.map(|digits| format!("SET NEW.updated_at = CURRENT_TIMESTAMP({digits});"));
    let created = created
        .map(|digits| format!("SET NEW.created_at = COALESCE(NEW.created_at, CURRENT_TIMESTAMP({digits}));"));
    updated.into_iter().chain(created).collect()
}

/// Why no trigger could be made, with what to run.
async fn refused(connection: &mut MySqlConnection, error: sqlx::Error) -> Failure {
    match number_of(&error) {
        Some(number::TRIGGERS_NOT_TRUSTED) => Failure::Told(
            "its user may not create triggers while the server keeps a binary log; as an administrator run: \
             SET GLOBAL log_bin_trust_function_creators = 1"
                .into(),
        ),
        Some(number::NO_RIGHT_TO_TABLE | number::NO_RIGHT_TO_DATABASE | number::NO_RIGHT) => {
            missing_right(connection, "TRIGGER", &error).await
        }
        _ => error.into(),
    }
}
