//! Takes over a table `mcp_tool` that another program made (id, name, enabled, config_json, updated_at): columns are
//! added, none is removed, and every row stays.

use sqlx::sqlite::SqliteConnection;

use super::schema::MigrateError;

const COLUMNS: &str = "SELECT lower(name) FROM pragma_table_info('mcp_tool')";

const VIEW: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE lower(name) = 'mcp_tool' AND type = 'view')";

const REQUIRED: &[&str] = &["id", "name", "config_json"];

// Columns that a row of ours would leave empty and that may not be empty. A whole number as the key is the row's number.
const UNFILLED: &str = "SELECT lower(name) FROM pragma_table_info('mcp_tool') \
    WHERE \"notnull\" AND lower(name) NOT IN ('name', 'enabled', 'config_json') \
    AND (dflt_value IS NULL OR lower(name) IN ('tenant_id', 'updated_by')) \
    AND NOT (upper(type) = 'INTEGER' AND pk = 1 AND (SELECT max(pk) FROM pragma_table_info('mcp_tool')) = 1)";

const ADDED: &[(&str, &str)] = &[
    ("enabled", "ALTER TABLE mcp_tool ADD COLUMN enabled BOOLEAN NOT NULL DEFAULT 1"),
    ("version", "ALTER TABLE mcp_tool ADD COLUMN version BIGINT NOT NULL DEFAULT 0"),
    ("updated_at", "ALTER TABLE mcp_tool ADD COLUMN updated_at TEXT"),
    ("updated_by", "ALTER TABLE mcp_tool ADD COLUMN updated_by TEXT"),
    ("created_at", "ALTER TABLE mcp_tool ADD COLUMN created_at TEXT"),
];

// Names that differ only in case were two tools there and cannot be here: the oldest keeps the name.
const DUPLICATES: &str = "SELECT CAST(name AS TEXT), name || '_' || rowid FROM mcp_tool AS later \
    WHERE EXISTS (SELECT 1 FROM mcp_tool WHERE lower(mcp_tool.name) = lower(later.name) AND mcp_tool.rowid < later.rowid)";
const RENAME_DUPLICATES: &str = "UPDATE mcp_tool SET name = name || '_' || rowid \
    WHERE EXISTS (SELECT 1 FROM mcp_tool AS earlier \
                  WHERE lower(earlier.name) = lower(mcp_tool.name) AND earlier.rowid < mcp_tool.rowid)";

// What SQLite cannot read as a time stays as it is.
const NORMALISE_TIMES: &str = "UPDATE mcp_tool SET updated_at = coalesce( \
    CASE WHEN typeof(updated_at) = 'integer' AND updated_at > 100000000000 \
         THEN strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') \
         WHEN typeof(updated_at) = 'integer' THEN strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, 'unixepoch') \
         ELSE strftime('%Y-%m-%dT%H:%M:%fZ', updated_at) END, \
    updated_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))";

/// The table has another shape than any this program knows.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableTable {
    #[error(
        "its table mcp_tool has no column {column}; rename that table or start with another data folder, and register the tools anew"
    )]
    Lacks { column: &'static str },
    #[error("its mcp_tool is a view, not a table; rename that view or start with another data folder")]
    View,
    #[error(
        "its table mcp_tool demands values of {columns} that no tool has, so that none could be registered; \
         make the table anew with NULL allowed there"
    )]
    Demands { columns: String },
}

/// Brings an existing table into the form that the first migration expects; does nothing if there is none.
pub(super) async fn prepare(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut *connection).await?;
    if columns.is_empty() {
        return Ok(());
    }
    if sqlx::query_scalar(VIEW).fetch_one(&mut *connection).await? {
        return Err(UnusableTable::View.into());
    }
    let missing = |column: &str| !columns.iter().any(|found| found == column);
    if let Some(column) = REQUIRED.iter().find(|column| missing(column)) {
        return Err(UnusableTable::Lacks { column }.into());
    }
    let unfilled: Vec<String> = sqlx::query_scalar(UNFILLED).fetch_all(&mut *connection).await?;
    if !unfilled.is_empty() {
        return Err(UnusableTable::Demands { columns: unfilled.join(" and ") }.into());
    }
    add_missing(connection, &columns).await?;
    let renamed: Vec<(String, String)> = sqlx::query_as(DUPLICATES).fetch_all(&mut *connection).await?;
    for (from, to) in renamed {
        tracing::warn!(%from, %to, "renamed an adopted tool: another tool's name differs from its name only in case");
    }
    sqlx::query(RENAME_DUPLICATES).execute(&mut *connection).await?;
    sqlx::query(NORMALISE_TIMES).execute(connection).await?;
    Ok(())
}

/// Adds what the table lacks of ours.
pub(super) async fn add_columns(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut *connection).await?;
    add_missing(connection, &columns).await?;
    add_tenant(connection).await
}

async fn add_missing(connection: &mut SqliteConnection, columns: &[String]) -> Result<(), sqlx::Error> {
    let missing = |column: &str| !columns.iter().any(|found| found == column);
    for (_, sql) in ADDED.iter().filter(|(column, _)| missing(column)) {
        sqlx::query(*sql).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Adds the column that says whose a definition is, unless the table has one.
pub(super) async fn add_tenant(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut *connection).await?;
    if !columns.iter().any(|column| column == "tenant_id") {
        sqlx::query("ALTER TABLE mcp_tool ADD COLUMN tenant_id TEXT").execute(connection).await?;
    }
    Ok(())
}
