//! The audit record in its table, and its newest entry beside it.

use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteExecutor, SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _};
use toolrail_core::{AuditEntry, AuditHead};

use super::rows::{optional_text, text};
use crate::audit::{head_of, head_text};

const APPEND: &str = "INSERT INTO mcp_tool_audit \
    (number, at, who, address, via, action, tenant, name, revision, changes, previous, hash) ";

/// How many entries are written by one statement.
const AT_ONCE: usize = 200;

// Somebody may have tampered with it: numbers that are none any more are told as 0, which the check finds.
const READ: &str = "SELECT CAST(number AS INTEGER), CAST(at AS BLOB), CAST(who AS BLOB), CAST(address AS BLOB), \
    CAST(via AS BLOB), CAST(action AS BLOB), CAST(tenant AS BLOB), CAST(name AS BLOB), CAST(revision AS INTEGER), \
    CAST(changes AS BLOB), CAST(previous AS BLOB), CAST(hash AS BLOB) FROM mcp_tool_audit \
    WHERE number > ? ORDER BY number LIMIT ?";
const HEAD: &str = "SELECT CAST(value AS TEXT) FROM toolrail_meta WHERE name = 'audit_head'";
const NEWEST: &str =
    "SELECT CAST(number AS INTEGER), CAST(hash AS TEXT) FROM mcp_tool_audit ORDER BY number DESC LIMIT 1";
const REMEMBER: &str = "INSERT INTO toolrail_meta (name, value) VALUES ('audit_head', ?) \
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// Entries after that number.
pub(super) async fn read(
    readers: &SqlitePool,
    after: i64,
    most: u32,
) -> Result<Vec<AuditEntry>, sqlx::Error> {
    let rows = sqlx::query(READ).bind(after).bind(most).fetch_all(readers).await?;
    rows.iter().map(entry_of).collect()
}

/// The newest entry, as it was remembered.
pub(super) async fn head(executor: impl SqliteExecutor<'_>) -> Result<Option<AuditHead>, sqlx::Error> {
    let value: Option<String> = sqlx::query_scalar(HEAD).fetch_optional(executor).await?;
    Ok(value.as_deref().and_then(head_of))
}

/// What the next entry is to follow. Whoever takes away what was remembered must not keep others from writing: then it
/// is the newest entry there is.
pub(super) async fn end(connection: &mut SqliteConnection) -> Result<AuditHead, sqlx::Error> {
    if let Some(head) = head(&mut *connection).await? {
        return Ok(head);
    }
    let newest: Option<(i64, String)> = sqlx::query_as(NEWEST).fetch_optional(connection).await?;
    Ok(newest.map(|(number, hash)| AuditHead { number, hash }).unwrap_or_default())
}

/// Puts entries behind the record.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    entries: &[AuditEntry],
) -> Result<(), sqlx::Error> {
    for some in entries.chunks(AT_ONCE) {
        let mut query = QueryBuilder::<Sqlite>::new(APPEND);
        query.push_values(some, |mut row, entry| {
            row.push_bind(entry.number).push_bind(&entry.at).push_bind(&entry.who).push_bind(&entry.address);
            row.push_bind(&entry.via)
                .push_bind(&entry.action)
                .push_bind(&entry.tenant)
                .push_bind(&entry.name);
            row.push_bind(entry.revision).push_bind(&entry.changes);
            row.push_bind(&entry.previous).push_bind(&entry.hash);
        });
        query.build().persistent(some.len() == 1).execute(&mut *connection).await?;
    }
    Ok(())
}

pub(super) async fn remember(connection: &mut SqliteConnection, head: &AuditHead) -> Result<(), sqlx::Error> {
    sqlx::query(REMEMBER).bind(head_text(head)).execute(connection).await?;
    Ok(())
}

fn entry_of(row: &SqliteRow) -> Result<AuditEntry, sqlx::Error> {
    Ok(AuditEntry {
        number: row.try_get(0)?,
        at: text(row, 1)?,
        who: text(row, 2)?,
        address: optional_text(row, 3)?,
        via: text(row, 4)?,
        action: text(row, 5)?,
        tenant: optional_text(row, 6)?,
        name: text(row, 7)?,
        revision: row.try_get(8)?,
        changes: text(row, 9)?,
        previous: text(row, 10)?,
        hash: text(row, 11)?,
    })
}
