//! Takes over a table `mcp_tool` that another program made: either with the whole definition in `config_json`, or with a
//! column for each part of it. Columns are added, none is removed, and every row stays.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use toolrail_core::ToolName;

use super::connect::quoted;
use super::fault::Fault;

/// Which of the two forms the table has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The definition is in `config_json`.
    Lite,
    /// There is a column for each part of it.
    Full,
}

const ADDED: &[(&str, &str)] = &[
    ("enabled", "BOOLEAN NOT NULL DEFAULT TRUE"),
    ("version", "BIGINT NOT NULL DEFAULT 0"),
    ("updated_at", "TIMESTAMPTZ NOT NULL DEFAULT now()"),
    ("updated_by", "TEXT"),
    ("created_at", "TIMESTAMPTZ"),
    ("tenant_id", "TEXT"),
];
const ADDED_TO_FULL: &[(&str, &str)] = &[
    ("config_json", "JSON"),
    ("description", "TEXT"),
    ("http_spec", "JSONB"),
    ("auth_spec", "JSONB"),
    ("response_mapping", "JSONB"),
    ("policy", "JSONB"),
];

/// What we can read and write, as the server names types.
const TYPES: &[(&str, &[&str])] = &[
    ("name", &["text", "varchar"]),
    ("enabled", &["bool"]),
    ("config_json", &["json", "jsonb", "text", "varchar"]),
    ("version", &["int8", "int4", "int2"]),
    ("updated_at", &["timestamptz", "timestamp"]),
    ("updated_by", &["text", "varchar"]),
    ("created_at", &["timestamptz", "timestamp"]),
    ("tenant_id", &["text", "varchar"]),
    ("transport", &["text", "varchar"]),
    ("description", &["text", "varchar"]),
    ("input_schema", &["jsonb", "json"]),
    ("http_spec", &["jsonb", "json"]),
    ("auth_spec", &["jsonb", "json"]),
    ("response_mapping", &["jsonb", "json"]),
    ("policy", &["jsonb", "json"]),
];

const COLUMNS: &str = "SELECT attname::text, typname::text FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid \
    WHERE attrelid = to_regclass('mcp_tool') AND attnum > 0 AND NOT attisdropped";
const IS_TABLE: &str = "SELECT relkind = 'r' FROM pg_class WHERE oid = to_regclass('mcp_tool')";
const TRANSPORT_CHECKS: &str = "SELECT conname::text FROM pg_constraint \
    WHERE conrelid = to_regclass('mcp_tool') AND contype = 'c' AND conkey = ARRAY[(SELECT attnum FROM pg_attribute \
    WHERE attrelid = to_regclass('mcp_tool') AND attname = 'transport')]";
const FOREIGN_TRIGGERS: &str = "SELECT tgname::text FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid \
    WHERE tgrelid = to_regclass('mcp_tool') AND NOT tgisinternal AND proname = 'mcp_tool_notify'";

// Names that differ only in case were two tools there and cannot be here (C9): the oldest keeps the name.
const UNNAMED_OR_TWICE: &str = "SELECT id::text, later.name::text FROM mcp_tool AS later WHERE later.name IS NULL \
    OR EXISTS (SELECT 1 FROM mcp_tool AS earlier WHERE lower(earlier.name COLLATE \"C\") = lower(later.name COLLATE \"C\") \
    AND coalesce(earlier.tenant_id, '') = coalesce(later.tenant_id, '') AND earlier.id < later.id) ORDER BY id";

/// Which form the table has.
pub(super) async fn shape(connection: &mut PgConnection) -> Result<Shape, Fault> {
    Ok(Table::read(connection).await?.shape())
}

/// Triggers that keep a count of their own, as the documents have it.
pub(super) async fn foreign_triggers(connection: &mut PgConnection) -> Result<Vec<String>, Fault> {
    Ok(sqlx::query_scalar(FOREIGN_TRIGGERS).fetch_all(connection).await?)
}

/// Drops them: ours do the same, and more. Their program may create them anew whenever it starts.
pub(super) async fn drop_foreign_triggers(connection: &mut PgConnection) -> Result<(), Fault> {
    for name in foreign_triggers(connection).await? {
        tracing::warn!(trigger = %name, "dropped a trigger of mcp_tool: our own count and tell the changes");
        run(connection, format!("DROP TRIGGER {} ON mcp_tool", quoted(&name))).await?;
    }
    Ok(())
}

/// Brings an existing table into the form that the first migration expects; does nothing if there is none.
pub(super) async fn prepare(connection: &mut PgConnection) -> Result<(), Fault> {
    let table = Table::read(connection).await?;
    if table.columns.is_empty() {
        return Ok(());
    }
    table.check(connection).await?;
    table.add_columns(connection, ADDED).await?;
    if table.type_of("version").is_some_and(|found| found != "int8") {
        run(connection, "ALTER TABLE mcp_tool ALTER COLUMN version TYPE BIGINT".into()).await?;
    }
    if table.shape() == Shape::Full {
        table.add_columns(connection, ADDED_TO_FULL).await?;
        run(connection, "ALTER TABLE mcp_tool ALTER COLUMN config_json DROP NOT NULL".into()).await?;
        widen_transport(connection).await?;
    }
    rename_duplicates(connection).await?;
    run(
        connection,
        "UPDATE mcp_tool SET updated_at = now() WHERE updated_at IS NULL OR NOT isfinite(updated_at)".into(),
    )
    .await?;
    run(connection, "ALTER TABLE mcp_tool ALTER COLUMN name SET NOT NULL".into()).await
}

struct Table {
    columns: Vec<(String, String)>,
}

impl Table {
    async fn read(connection: &mut PgConnection) -> Result<Self, Fault> {
        Ok(Self { columns: sqlx::query_as(COLUMNS).fetch_all(connection).await? })
    }

    fn type_of(&self, column: &str) -> Option<&str> {
        self.columns.iter().find(|(name, _)| name == column).map(|(_, found)| found.as_str())
    }

    fn shape(&self) -> Shape {
        let full = ["input_schema", "transport"].iter().all(|column| self.type_of(column).is_some());
        if full { Shape::Full } else { Shape::Lite }
    }

    async fn check(&self, connection: &mut PgConnection) -> Result<(), Fault> {
        const WAY_OUT: &str = "rename it or use another schema, and register the tools anew";
        let is_table: bool = sqlx::query_scalar(IS_TABLE).fetch_one(connection).await?;
        if !is_table {
            return Err(Fault::told(format!("its mcp_tool is no ordinary table; {WAY_OUT}")));
        }
        let required: &[&str] = match self.shape() {
            Shape::Lite => &["id", "name", "config_json"],
            Shape::Full => &["id", "name"],
        };
        if let Some(column) = required.iter().find(|column| self.type_of(column).is_none()) {
            return Err(Fault::told(format!("its table mcp_tool has no column {column}; {WAY_OUT}")));
        }
        for (column, known) in TYPES {
            if let Some(found) = self.type_of(column).filter(|found| !known.contains(found)) {
                return Err(Fault::told(format!(
                    "the column {column} of its table mcp_tool has the type {found}, not {}; {WAY_OUT}",
                    known.join(" or ")
                )));
            }
        }
        Ok(())
    }

    async fn add_columns(
        &self,
        connection: &mut PgConnection,
        columns: &[(&str, &str)],
    ) -> Result<(), Fault> {
        for (column, kind) in columns.iter().filter(|(column, _)| self.type_of(column).is_none()) {
            run(connection, format!("ALTER TABLE mcp_tool ADD COLUMN {column} {kind}")).await?;
        }
        Ok(())
    }
}

/// There are more kinds of tools than the check of the documents allows (C13), and a wrong one is a problem to be shown.
async fn widen_transport(connection: &mut PgConnection) -> Result<(), Fault> {
    let checks: Vec<String> = sqlx::query_scalar(TRANSPORT_CHECKS).fetch_all(&mut *connection).await?;
    for name in checks {
        run(connection, format!("ALTER TABLE mcp_tool DROP CONSTRAINT {}", quoted(&name))).await?;
    }
    let check = "ALTER TABLE mcp_tool ADD CONSTRAINT mcp_tool_transport_check CHECK (transport <> '')";
    run(connection, check.into()).await
}

async fn rename_duplicates(connection: &mut PgConnection) -> Result<(), Fault> {
    let renamed: Vec<(String, Option<String>)> =
        sqlx::query_as(UNNAMED_OR_TWICE).fetch_all(&mut *connection).await?;
    if renamed.is_empty() {
        return Ok(());
    }
    let taken: Vec<Option<String>> =
        sqlx::query_scalar("SELECT name::text FROM mcp_tool").fetch_all(&mut *connection).await?;
    let mut taken: BTreeSet<String> = taken.into_iter().flatten().map(|name| ToolName::fold(&name)).collect();
    for (id, from) in renamed {
        let from = from.unwrap_or_else(|| "unnamed".to_owned());
        let mut to = format!("{from}_{id}");
        while !taken.insert(ToolName::fold(&to)) {
            to.push('_');
        }
        tracing::warn!(%from, %to, "renamed an adopted tool: another tool's name differs from its name only in case");
        let rename = sqlx::query("UPDATE mcp_tool SET name = $1 WHERE id::text = $2");
        rename.bind(&to).bind(&id).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn run(connection: &mut PgConnection, sql: String) -> Result<(), Fault> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}
