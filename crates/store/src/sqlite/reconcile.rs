//! Finds what happened to the definitions behind the triggers, and enters it as changes: every definition is compared with the
//! newest of its versions.

use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::triggers;

macro_rules! newest {
    ($tenant:literal, $name:literal) => {
        concat!(
            "(SELECT id FROM mcp_tool_history WHERE tenant = ",
            $tenant,
            " AND name_key = ",
            $name,
            " ORDER BY revision DESC LIMIT 1)"
        )
    };
}

macro_rules! strays {
    () => {
        concat!(
            "SELECT tool.rowid FROM mcp_tool AS tool LEFT JOIN mcp_tool_history AS last ON last.id = ",
            newest!("coalesce(tool.tenant_id, '')", "coalesce(lower(tool.name), '')"),
            " WHERE last.id IS NULL OR last.kind = 'removed' OR last.revision IS NOT tool.version \
              OR last.name IS NOT tool.name OR last.enabled IS NOT tool.enabled \
              OR last.config_json IS NOT tool.config_json"
        )
    };
}

macro_rules! lost {
    () => {
        concat!(
            "SELECT last.id FROM mcp_tool_history AS last WHERE last.kind <> 'removed' AND last.id = ",
            newest!("last.tenant", "last.name_key"),
            // Read once: looked up for each version, it would be searched from end to end each time.
            " AND (last.tenant, last.name_key) NOT IN \
              (SELECT coalesce(tenant_id, ''), coalesce(lower(name), '') FROM mcp_tool)"
        )
    };
}

const ANY: &str = concat!("SELECT EXISTS (", strays!(), ") OR EXISTS (", lost!(), ")");
const STRAYS: &str = concat!(strays!(), " ORDER BY tool.rowid LIMIT ?");
const LOST: &str = concat!(lost!(), " ORDER BY last.id LIMIT ?");

// The triggers do the rest.
const TOUCH: &str = "UPDATE mcp_tool SET config_json = config_json WHERE rowid = ?";

const MOVE_ON: &str = "UPDATE mcp_config_version SET version = version + 1 WHERE id = 1";
const FORGET_TOMBSTONE: &str = "DELETE FROM mcp_tool_tombstone WHERE EXISTS (SELECT 1 FROM mcp_tool_history AS last \
    WHERE last.id = ? AND last.tenant = mcp_tool_tombstone.tenant AND last.name_key = mcp_tool_tombstone.name_key)";
const BURY: &str = "INSERT INTO mcp_tool_tombstone (tenant, name_key, version) \
    SELECT last.tenant, last.name_key, now.version FROM mcp_tool_history AS last, mcp_config_version AS now \
    WHERE last.id = ? AND now.id = 1";
const ENTER_REMOVED: &str = "INSERT INTO mcp_tool_history (revision, tenant, name_key, name, kind, enabled, config_json, at) \
    SELECT now.version, last.tenant, last.name_key, last.name, 'removed', last.enabled, last.config_json, \
           strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
    FROM mcp_tool_history AS last, mcp_config_version AS now WHERE last.id = ? AND now.id = 1";

/// So many are entered in one transaction, so that others can write between two.
const AT_ONCE: u32 = 1_000;

/// How many changes were entered.
pub(super) async fn reconcile(readers: &SqlitePool, writer: &SqlitePool) -> Result<u64, sqlx::Error> {
    if is_as_written(readers).await? {
        return Ok(0);
    }
    let mut entered = 0;
    let mut last = Vec::new();
    loop {
        let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
        triggers::ensure(&mut transaction).await?;
        let strays = places(&mut transaction, STRAYS).await?;
        let lost = places(&mut transaction, LOST).await?;
        // What is found again after it was entered would be found for ever.
        if (strays.is_empty() && lost.is_empty()) || strays == last {
            transaction.commit().await?;
            break;
        }
        for place in &strays {
            sqlx::query(TOUCH).bind(place).execute(&mut *transaction).await?;
        }
        for version in &lost {
            bury(&mut transaction, *version).await?;
        }
        transaction.commit().await?;
        entered += (strays.len() + lost.len()) as u64;
        last = strays;
    }
    if entered > 0 {
        tracing::warn!(
            changes = entered,
            "mcp_tool was changed while its triggers were away; entered that as changes made now"
        );
    }
    Ok(entered)
}

async fn is_as_written(readers: &SqlitePool) -> Result<bool, sqlx::Error> {
    let mut connection = readers.acquire().await?;
    if !triggers::are_there(&mut connection).await? {
        return Ok(false);
    }
    let any: bool = sqlx::query_scalar(ANY).fetch_one(&mut *connection).await?;
    Ok(!any)
}

async fn places(connection: &mut SqliteConnection, query: &'static str) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar(query).bind(AT_ONCE).fetch_all(connection).await
}

/// Enters that a definition has gone whose newest version that is.
async fn bury(connection: &mut SqliteConnection, version: i64) -> Result<(), sqlx::Error> {
    sqlx::query(MOVE_ON).execute(&mut *connection).await?;
    for statement in [FORGET_TOMBSTONE, BURY, ENTER_REMOVED] {
        sqlx::query(statement).bind(version).execute(&mut *connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use crate::sqlite::SqliteStore;

    /// What is repeated for every row would take hours with a hundred thousand.
    #[tokio::test]
    async fn no_table_is_read_from_end_to_end_for_every_row() {
        let store = SqliteStore::open_in_memory().await.unwrap();
        let mut connection = store.pools.readers.acquire().await.unwrap();
        for query in [strays!(), lost!(), crate::sqlite::rows::REMOVED] {
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}"));
            let steps = sqlx::query(explain).fetch_all(&mut *connection).await.unwrap();
            let steps: Vec<(i64, i64, String)> =
                steps.iter().map(|step| (step.get(0), step.get(1), step.get(3))).collect();
            let repeated = |(_, parent, what): &&(i64, i64, String)| {
                what.starts_with("SCAN")
                    && steps.iter().any(|(id, _, outer)| id == parent && outer.starts_with("CORRELATED"))
            };
            assert_eq!(steps.iter().find(repeated), None, "{query}");
        }
    }
}
