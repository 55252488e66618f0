//! Looks at what kind of tables and columns another program made, before anything is changed: with the wrong kind, our
//! triggers would make that program's own statements fail.

use sqlx::mysql::MySqlConnection;

use super::adopt::Columns;
use super::failure::Failure;
use super::rows::text;

const KIND: &str =
    "SELECT table_type FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?";

/// What a column must be, if it is there, with a type that does.
struct Rule {
    table: &'static str,
    column: &'static str,
    fits: fn(&str) -> bool,
    words: &'static str,
    instead: &'static str,
}

const RULES: [Rule; 5] = [
    Rule { table: "mcp_tool", column: "name", fits: is_text, words: "text", instead: "VARCHAR(200)" },
    Rule {
        table: "mcp_tool",
        column: "enabled",
        fits: is_number,
        words: "a number or a bit, and not 0 for what is on",
        instead: "TINYINT(1) NOT NULL DEFAULT 1",
    },
    Rule {
        table: "mcp_tool",
        column: "config_json",
        fits: is_text_or_json,
        words: "text or JSON",
        instead: "LONGTEXT CHARACTER SET utf8mb4",
    },
    Rule {
        table: "mcp_tool",
        column: "version",
        fits: is_whole,
        words: "a whole number",
        instead: "BIGINT NOT NULL DEFAULT 0",
    },
    Rule {
        table: "mcp_config_version",
        column: "version",
        fits: is_whole,
        words: "a whole number",
        instead: "BIGINT NOT NULL",
    },
];

/// Refuses what is no table, or a column of another kind. There may be no such table.
pub(super) async fn check(
    connection: &mut MySqlConnection,
    table: &str,
    columns: &Columns,
) -> Result<(), Failure> {
    if columns.is_empty() {
        return Ok(());
    }
    let row = sqlx::query(KIND).bind(table).fetch_one(connection).await?;
    let kind = text(&row, 0)?;
    if kind.ends_with("VIEW") || kind == "SEQUENCE" {
        return Err(Failure::Told(format!(
            "its {table} is a {}, not a table; use the database that has the table itself, or rename it",
            kind.to_ascii_lowercase()
        )));
    }
    for rule in RULES.iter().filter(|rule| rule.table == table) {
        if let Some(found) = columns.kind(rule.column).filter(|kind| !(rule.fits)(kind)) {
            return Err(Failure::Told(rule.broken(found)));
        }
    }
    if table == "mcp_config_version" && !(columns.has("id") && columns.has("version")) {
        return Err(Failure::Told(
            "its table mcp_config_version has no columns id and version; rename that table or use another database"
                .into(),
        ));
    }
    Ok(())
}

impl Rule {
    fn broken(&self, found: &str) -> String {
        let Self { table, column, words, instead, .. } = self;
        format!(
            "its table {table} has a column {column} of the type {found}, which must be {words}; nothing was changed. \
             Rename that column, or convert its values and then run: ALTER TABLE {table} MODIFY COLUMN {column} {instead}"
        )
    }
}

fn is_text(kind: &str) -> bool {
    kind.ends_with("text") || kind.ends_with("char")
}

fn is_text_or_json(kind: &str) -> bool {
    is_text(kind) || kind == "json"
}

fn is_whole(kind: &str) -> bool {
    kind.ends_with("int")
}

fn is_number(kind: &str) -> bool {
    is_whole(kind) || matches!(kind, "bit" | "decimal" | "float" | "double")
}
