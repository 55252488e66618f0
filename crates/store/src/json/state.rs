//! The tables of the store in memory as `state` in the file, one row a line: history, audit record, counts, queries, keys,
//! records and news. The table of definitions is not among them: it is what the newest versions say.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use crate::SqliteStore;

/// What is kept of a table.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    /// A column of bytes, written in hexadecimal.
    bytes: Option<&'static str>,
    condition: &'static str,
}

const TABLES: &[Table] = &[
    Table { name: "mcp_config_version", columns: &["id", "version"], bytes: None, condition: "" },
    Table { name: "toolrail_meta", columns: &["name", "value"], bytes: None, condition: "" },
    Table { name: "toolrail_keys", columns: &["name", "created_at"], bytes: Some("secret"), condition: "" },
    Table {
        name: "mcp_tool_tombstone",
        columns: &["tenant", "name_key", "version"],
        bytes: None,
        condition: "",
    },
    Table {
        name: "mcp_tool_use",
        columns: &["tenant", "name_key", "use_frequency", "last_used", "number"],
        bytes: None,
        condition: "",
    },
    Table {
        name: "mcp_tool_query",
        columns: &["tenant", "name_key", "queries", "last_at", "number"],
        bytes: None,
        condition: "",
    },
    Table {
        name: "toolrail_record",
        columns: &["kind", "id", "body", "number", "removed_at"],
        bytes: None,
        condition: "",
    },
    Table {
        name: "toolrail_news",
        columns: &["id", "kind"],
        bytes: Some("body"),
        condition: "WHERE kind = 0",
    },
    Table {
        name: "mcp_tool_history",
        columns: &[
            "id",
            "revision",
            "tenant",
            "name_key",
            "name",
            "kind",
            "enabled",
            "config_json",
            "at",
            "who",
            "address",
            "via",
        ],
        bytes: None,
        condition: "",
    },
    Table {
        name: "mcp_tool_audit",
        columns: &[
            "number", "at", "who", "address", "via", "action", "tenant", "name", "revision", "changes",
            "previous", "hash",
        ],
        bytes: None,
        condition: "",
    },
];

const DEFINITIONS: &str = "INSERT INTO mcp_tool (name, enabled, config_json, version, updated_at, updated_by, tenant_id) \
    SELECT name, enabled, config_json, revision, at, who, nullif(tenant, '') FROM mcp_tool_history AS this \
    WHERE kind <> 'removed' AND NOT EXISTS (SELECT 1 FROM mcp_tool_history \
    WHERE tenant = this.tenant AND name_key = this.name_key AND revision > this.revision) ORDER BY revision";
// Files from before there were records lack it.
const RECORD_NUMBER: &str = "INSERT OR IGNORE INTO toolrail_meta VALUES ('record_number', '0')";
const TRIGGERS: &str = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'mcp_tool'";

impl Table {
    fn write(&self) -> String {
        let plain = self.columns.iter().map(|column| format!("'{column}', {column}"));
        let bytes = self.bytes.iter().map(|column| format!("'{column}', hex({column})"));
        let members: Vec<String> = plain.chain(bytes).collect();
        format!(
            "SELECT CAST(json_object({}) AS TEXT) FROM {} {} ORDER BY rowid",
            members.join(", "),
            self.name,
            self.condition
        )
    }

    fn read(&self) -> String {
        let names: Vec<&str> = self.columns.iter().copied().chain(self.bytes).collect();
        let plain = self.columns.iter().map(|column| format!("json_extract(value, '$.{column}')"));
        let bytes = self.bytes.iter().map(|column| format!("unhex(json_extract(value, '$.{column}'))"));
        let values: Vec<String> = plain.chain(bytes).collect();
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM json_each(?)",
            self.name,
            names.join(", "),
            values.join(", ")
        )
    }
}

/// Writes the tables as the members of an object.
pub(super) async fn write(connection: &mut SqliteConnection, text: &mut String) -> Result<(), sqlx::Error> {
    let mut separator = "";
    for table in TABLES {
        let rows: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(table.write())).fetch_all(&mut *connection).await?;
        let rows: Vec<String> = rows.into_iter().map(|row| format!("\n      {row}")).collect();
        let end = if rows.is_empty() { "" } else { "\n    " };
        let rows = rows.join(",");
        text.extend([separator, "\n    \"", table.name, "\": [", &rows, end, "]"]);
        separator = ",";
    }
    Ok(())
}

/// Puts back what was written, with the definitions as they were then. Tables that the file does not have stay as they are.
pub(super) async fn restore(
    memory: &SqliteStore,
    state: &BTreeMap<String, Box<RawValue>>,
) -> Result<(), sqlx::Error> {
    let mut transaction = memory.connections().begin_with("BEGIN IMMEDIATE").await?;
    let triggers: Vec<(String, String)> = sqlx::query_as(TRIGGERS).fetch_all(&mut *transaction).await?;
    for (name, _) in &triggers {
        sqlx::raw_sql(AssertSqlSafe(format!("DROP TRIGGER {name}"))).execute(&mut *transaction).await?;
    }
    for table in TABLES {
        let Some(rows) = state.get(table.name) else { continue };
        if table.name != "mcp_tool_audit" {
            let emptied = format!("DELETE FROM {}", table.name);
            sqlx::raw_sql(AssertSqlSafe(emptied)).execute(&mut *transaction).await?;
        }
        sqlx::query(AssertSqlSafe(table.read())).bind(rows.get()).execute(&mut *transaction).await?;
    }
    sqlx::query(RECORD_NUMBER).execute(&mut *transaction).await?;
    sqlx::query(DEFINITIONS).execute(&mut *transaction).await?;
    for (_, sql) in triggers {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

/// How many keys there are.
pub(super) async fn keys(memory: &SqliteStore) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT count(*) FROM toolrail_keys").fetch_one(memory.connections()).await
}
