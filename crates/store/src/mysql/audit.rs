//! The audit record: entries chained by their hashes, and the newest of them remembered apart.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{MySql, QueryBuilder, Row as _};
use toolrail_core::{AuditEntry, AuditHead};

use super::failure::Failure;
use super::pieces::pieces;
use super::pool::Begun;
use super::rows::{optional, text};
use crate::audit::{chained, head_of, head_text};

const READ: &str = "SELECT number, at, who, address, via, action, tenant, name, revision, changes, previous, hash \
    FROM mcp_tool_audit WHERE number > ? ORDER BY number LIMIT ?";
const HEAD: &str = "SELECT value FROM toolrail_meta WHERE name = 'audit_head'";
const REMEMBER: &str = "REPLACE INTO toolrail_meta (name, value) VALUES ('audit_head', ?)";

/// Adds entries to the end of the record, and returns the last of them. The revision is locked, hence the record is.
pub(super) async fn append(
    transaction: &mut Begun<'_>,
    entries: Vec<AuditEntry>,
) -> Result<Option<AuditHead>, Failure> {
    if entries.is_empty() {
        return Ok(None);
    }
    let newest = head(transaction).await?.unwrap_or_default();
    let (entries, last) = chained(entries.into_iter(), newest);
    for piece in pieces(&entries, |entry| entry.changes.len()) {
        insert(transaction, piece).await?;
    }
    sqlx::query(REMEMBER).bind(head_text(&last)).execute(&mut **transaction).await?;
    Ok(Some(last))
}

async fn insert(transaction: &mut Begun<'_>, entries: &[AuditEntry]) -> Result<(), sqlx::Error> {
    let mut insert = QueryBuilder::<MySql>::new(
        "INSERT INTO mcp_tool_audit \
         (number, at, who, address, via, action, tenant, name, revision, changes, previous, hash) ",
    );
    insert.push_values(entries, |mut row, entry| {
        row.push_bind(entry.number).push_bind(&entry.at).push_bind(&entry.who).push_bind(&entry.address);
        row.push_bind(&entry.via).push_bind(&entry.action).push_bind(&entry.tenant).push_bind(&entry.name);
        row.push_bind(entry.revision).push_bind(&entry.changes);
        row.push_bind(&entry.previous).push_bind(&entry.hash);
    });
    insert.build().execute(&mut **transaction).await?;
    Ok(())
}

/// Entries after that number.
pub(super) async fn read(
    connection: &mut MySqlConnection,
    after: i64,
    most: u32,
) -> Result<Vec<AuditEntry>, Failure> {
    let rows = sqlx::query(READ).bind(after).bind(most).fetch_all(connection).await?;
    Ok(rows.iter().map(entry_of).collect::<Result<_, _>>()?)
}

/// The newest entry, as it is remembered.
pub(super) async fn head(connection: &mut MySqlConnection) -> Result<Option<AuditHead>, Failure> {
    let Some(row) = sqlx::query(HEAD).fetch_optional(connection).await? else { return Ok(None) };
    let unreadable =
        || Failure::Told("its head of the audit record in the table toolrail_meta makes no sense".into());
    head_of(&text(&row, 0)?).ok_or_else(unreadable).map(Some)
}

fn entry_of(row: &MySqlRow) -> Result<AuditEntry, sqlx::Error> {
    Ok(AuditEntry {
        number: row.try_get(0)?,
        at: text(row, 1)?,
        who: text(row, 2)?,
        address: optional(row, 3)?,
        via: text(row, 4)?,
        action: text(row, 5)?,
        tenant: optional(row, 6)?,
        name: text(row, 7)?,
        revision: row.try_get(8)?,
        changes: text(row, 9)?,
        previous: text(row, 10)?,
        hash: text(row, 11)?,
    })
}
