//! The table of definitions: made if there is none; otherwise taken over as another program made it (id, name, enabled,
//! config_json, updated_at). Columns are added, none is removed, and every row stays. Each step looks at what is
//! there, so that all of it can be repeated.

use std::collections::HashMap;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::failure::Failure;
use super::kinds;
use super::rows::{optional, text};
use super::triggers::{name_key, tenant_key};
use crate::unfilled::unfilled_columns;

const TABLE: &str = include_str!("migrations/tools.sql");

const REQUIRED: [&str; 3] = ["id", "name", "config_json"];

const ADDED: [(&str, &str); 6] = [
    ("enabled", "TINYINT(1) NOT NULL DEFAULT 1"),
    ("version", "BIGINT NOT NULL DEFAULT 0"),
    ("updated_at", "TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"),
    ("updated_by", "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
    ("created_at", "TIMESTAMP(6) NULL DEFAULT NULL"),
    ("tenant_id", "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
];

const ENGINE: &str = "SELECT engine, row_format FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_name = ?";
const COLUMNS: &str = "SELECT lower(column_name), lower(data_type), CAST(datetime_precision AS SIGNED), is_nullable, \
    column_type, column_default IS NOT NULL OR extra <> '', character_set_name, collation_name \
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?";
const INDEXES: &str = "SELECT DISTINCT index_name FROM information_schema.statistics \
    WHERE table_schema = DATABASE() AND table_name = 'mcp_tool'";

// Names that differ only in case were two tools there and cannot be here: the oldest keeps the name.
const DUPLICATES: &str = "SELECT CAST(later.id AS CHAR), later.name, CONCAT(later.name, '_', later.id) \
    FROM mcp_tool AS later JOIN (SELECT tenant_key, name_key, min(id) AS oldest FROM mcp_tool \
        GROUP BY tenant_key, name_key HAVING count(*) > 1) AS several \
    ON later.tenant_key = several.tenant_key AND later.name_key = several.name_key AND later.id <> several.oldest";
const RENAME: &str = "UPDATE mcp_tool SET name = ?, updated_at = updated_at WHERE id = ?";

// The table may be another program's, without a key.
const FIRST: &str = "INSERT INTO mcp_config_version (id, version) SELECT 1, 0 FROM (SELECT 1) AS one \
    WHERE NOT EXISTS (SELECT 1 FROM mcp_config_version WHERE id = 1)";

/// The columns of a table.
pub(super) struct Columns(HashMap<String, Column>);

struct Column {
    data_type: String,
    precision: Option<i64>,
    is_nullable: bool,
    /// With its size, as in a statement.
    full_type: String,
    /// Whether a row that does not name it has a value there.
    is_filled: bool,
    /// Of text only.
    charset: Option<String>,
    collation: Option<String>,
}

impl Column {
    fn of(row: &MySqlRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            data_type: text(row, 1)?,
            precision: row.try_get(2)?,
            is_nullable: text(row, 3)?.eq_ignore_ascii_case("yes"),
            full_type: text(row, 4)?,
            is_filled: row.try_get::<i64, _>(5)? != 0,
            charset: optional(row, 6)?,
            collation: optional(row, 7)?,
        })
    }

    /// Whether a row of ours would leave it empty although it may not be.
    fn is_unfilled(&self, name: &str) -> bool {
        match name {
            "name" | "enabled" | "config_json" => false,
            // These are written, and may be nothing.
            "tenant_id" | "updated_by" => !self.is_nullable,
            _ => !self.is_nullable && !self.is_filled,
        }
    }

    /// The part of ALTER TABLE after which it may be left out.
    fn let_it_be(&self, name: &str) -> String {
        let (quoted, kind) = (format!("`{}`", name.replace('`', "``")), &self.full_type);
        let is_number = self.data_type.ends_with("int") || self.data_type == "decimal";
        let is_short_text = matches!(self.data_type.as_str(), "char" | "varchar");
        match name {
            "tenant_id" | "updated_by" => format!("MODIFY COLUMN {quoted} {kind} NULL"),
            "id" if is_number => format!("MODIFY COLUMN {quoted} {kind} NOT NULL AUTO_INCREMENT"),
            "id" if is_short_text => format!("MODIFY COLUMN {quoted} {kind} NOT NULL DEFAULT (UUID())"),
            _ if is_number => format!("ALTER COLUMN {quoted} SET DEFAULT 0"),
            _ if is_short_text => format!("ALTER COLUMN {quoted} SET DEFAULT ''"),
            _ => format!("MODIFY COLUMN {quoted} {kind} NULL"),
        }
    }
}

impl Columns {
    async fn of(connection: &mut MySqlConnection, table: &str) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query(COLUMNS).bind(table).fetch_all(connection).await?;
        let column = |row: &MySqlRow| Ok((text(row, 0)?, Column::of(row)?));
        Ok(Self(rows.iter().map(column).collect::<Result<_, sqlx::Error>>()?))
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.0.contains_key(column)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The type of a column, without its size.
    pub(super) fn kind(&self, column: &str) -> Option<&str> {
        self.0.get(column).map(|column| column.data_type.as_str())
    }

    /// What to say about columns that our rows would leave empty.
    fn unfilled(&self) -> Option<String> {
        let mut unfilled: Vec<(String, String)> = self
            .0
            .iter()
            .filter(|(name, column)| column.is_unfilled(name))
            .map(|(name, column)| (name.clone(), column.let_it_be(name)))
            .collect();
        unfilled.sort_unstable();
        unfilled_columns(unfilled.into_iter())
    }

    /// How many digits of a second a column of time has; nothing if it is not one.
    pub(super) fn precision(&self, column: &str) -> Option<i64> {
        let column = self.0.get(column)?;
        let is_time = matches!(column.data_type.as_str(), "timestamp" | "datetime");
        is_time.then(|| column.precision.unwrap_or(0))
    }
}

/// Refuses tables that cannot be used, before anything is changed.
pub(super) async fn check(connection: &mut MySqlConnection) -> Result<(), Failure> {
    for table in ["mcp_tool", "mcp_config_version"] {
        let columns = Columns::of(connection, table).await?;
        kinds::check(connection, table, &columns).await?;
    }
    let columns = Columns::of(connection, "mcp_tool").await?;
    if columns.is_empty() {
        return Ok(());
    }
    if let Some(column) = REQUIRED.iter().find(|column| !columns.has(column)) {
        return Err(Failure::Told(format!(
            "its table mcp_tool has no column {column}; rename that table or use another database, and register the tools anew"
        )));
    }
    columns.unfilled().map_or(Ok(()), |told| Err(Failure::Told(told)))
}

/// Makes the table, or brings the one that is there into the form that the triggers need.
pub(super) async fn prepare(connection: &mut MySqlConnection) -> Result<Columns, Failure> {
    connection.execute(TABLE).await?;
    let columns = Columns::of(connection, "mcp_tool").await?;
    convert(connection, "mcp_tool").await?;
    convert(connection, "mcp_config_version").await?;
    widen_texts(connection, &columns).await?;
    add_columns(connection, &columns).await?;
    add_counters(connection).await?;
    rename_duplicates(connection).await?;
    add_indexes(connection).await?;
    Ok(Columns::of(connection, "mcp_tool").await?)
}

/// Only InnoDB has transactions, and only rows of that format have room for our keys in an index.
async fn convert(connection: &mut MySqlConnection, table: &'static str) -> Result<(), Failure> {
    let row = sqlx::query(ENGINE).bind(table).fetch_one(&mut *connection).await?;
    let (engine, format) = (text(&row, 0)?, text(&row, 1)?);
    if engine.eq_ignore_ascii_case("innodb") && format.eq_ignore_ascii_case("dynamic") {
        return Ok(());
    }
    tracing::info!(table, %engine, "converting an adopted table to InnoDB, which has transactions");
    let sql = format!("ALTER TABLE {table} ENGINE = InnoDB, ROW_FORMAT = DYNAMIC");
    connection.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Every text that we may have to write must fit, whatever its letters.
async fn widen_texts(connection: &mut MySqlConnection, columns: &Columns) -> Result<(), Failure> {
    let mut changes = Vec::new();
    for name in ["name", "config_json", "tenant_id", "updated_by"] {
        let Some(column) = columns.0.get(name) else { continue };
        let Some(charset) = column.charset.as_deref().filter(|charset| *charset != "utf8mb4") else {
            continue;
        };
        tracing::warn!(column = name, charset, "converting a column of an adopted table to utf8mb4");
        // The same letters take more bytes.
        let kind = if column.data_type.ends_with("text") { "LONGTEXT" } else { &column.full_type };
        let is_exact = column.collation.as_deref().is_some_and(|collation| collation.ends_with("_bin"));
        let collation = if is_exact { "utf8mb4_bin" } else { "utf8mb4_general_ci" };
        let null = if column.is_nullable { "NULL" } else { "NOT NULL" };
        changes.push(format!("MODIFY COLUMN {name} {kind} CHARACTER SET utf8mb4 COLLATE {collation} {null}"));
    }
    if !changes.is_empty() {
        let sql = format!("ALTER TABLE mcp_tool {}", changes.join(", "));
        connection.execute(AssertSqlSafe(sql)).await?;
    }
    Ok(())
}

async fn add_columns(connection: &mut MySqlConnection, columns: &Columns) -> Result<(), Failure> {
    let mut changes: Vec<String> = ADDED
        .iter()
        .filter(|(column, _)| !columns.has(column))
        .map(|(column, form)| format!("ADD COLUMN {column} {form}"))
        .collect();
    let made = [
        ("tenant_key", "VARBINARY(1020)", tenant_key("tenant_id")),
        ("name_key", "VARBINARY(2000)", name_key("name")),
        ("config_bytes", "BIGINT", "LENGTH(config_json)".to_owned()),
    ];
    for (column, kind, value) in made.iter().filter(|(column, ..)| !columns.has(column)) {
        changes.push(format!("ADD COLUMN {column} {kind} GENERATED ALWAYS AS ({value}) STORED"));
    }
    if let Some(version) = columns.0.get("version")
        && (version.data_type != "bigint" || version.is_nullable)
    {
        connection.execute("UPDATE mcp_tool SET version = 0 WHERE version IS NULL").await?;
        changes.push("MODIFY COLUMN version BIGINT NOT NULL DEFAULT 0".into());
    }
    if !changes.is_empty() {
        let sql = format!("ALTER TABLE mcp_tool {}", changes.join(", "));
        connection.execute(AssertSqlSafe(sql)).await?;
    }
    Ok(())
}

/// The revision goes on from what is there.
async fn add_counters(connection: &mut MySqlConnection) -> Result<(), Failure> {
    let columns = Columns::of(connection, "mcp_config_version").await?;
    if !columns.has("live") {
        connection
            .execute("ALTER TABLE mcp_config_version ADD COLUMN live BIGINT NOT NULL DEFAULT 0")
            .await?;
    }
    if !columns.has("truncated") {
        connection
            .execute("ALTER TABLE mcp_config_version ADD COLUMN truncated BOOLEAN NOT NULL DEFAULT FALSE")
            .await?;
    }
    connection.execute(FIRST).await?;
    connection
        .execute(
            "UPDATE mcp_config_version SET version = GREATEST(version, \
             (SELECT COALESCE(MAX(version), 0) FROM mcp_tool)) WHERE id = 1",
        )
        .await?;
    Ok(())
}

async fn rename_duplicates(connection: &mut MySqlConnection) -> Result<(), Failure> {
    for row in sqlx::query(DUPLICATES).fetch_all(&mut *connection).await? {
        let (id, from, to) = (text(&row, 0)?, text(&row, 1)?, text(&row, 2)?);
        tracing::warn!(%from, %to, "renamed an adopted tool: another tool's name differs from its name only in case");
        sqlx::query(RENAME).bind(to).bind(id).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn add_indexes(connection: &mut MySqlConnection) -> Result<(), Failure> {
    let rows = sqlx::query(INDEXES).fetch_all(&mut *connection).await?;
    let indexes = rows.iter().map(|row| text(row, 0)).collect::<Result<Vec<_>, _>>()?;
    for (index, sql) in [
        ("idx_mcp_tool_key", "CREATE UNIQUE INDEX idx_mcp_tool_key ON mcp_tool (tenant_key, name_key)"),
        ("idx_mcp_tool_version", "CREATE INDEX idx_mcp_tool_version ON mcp_tool (version, config_bytes)"),
    ] {
        if !indexes.iter().any(|found| found.eq_ignore_ascii_case(index)) {
            connection.execute(sql).await?;
        }
    }
    Ok(())
}
