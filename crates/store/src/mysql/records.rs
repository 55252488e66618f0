//! Small documents of the gateway itself, which every gateway on one database reads as they change.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{Executor as _, Row as _};
use toolrail_core::{AuditEntry, Record, RecordAudit, RecordLimits, RecordWrite, RecordWritten};

use super::audit;
use super::failure::Failure;
use super::pool::{Begun, begin_writing};
use super::rows::{self, optional, text, time};
use crate::commit::Commit;
use crate::records::{entry_of, fits, forgotten_before, has_room, is_met, listed, removed_at};

const NUMBER: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'record_number'";
const LOCK: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'record_number' FOR UPDATE";
const TAKE: &str = "UPDATE toolrail_meta SET value = ? WHERE name = 'record_number'";
// `record_of` reads the columns in this order.
const READ: &str = "SELECT kind, id, body, number FROM toolrail_record \
    WHERE number > ? AND (? = 0 OR LOCATE(CONCAT(',', kind, ','), ?) > 0) ORDER BY number LIMIT ?";
const ONE: &str = "SELECT kind, id, body, number FROM toolrail_record \
    WHERE kind = ? AND id = ? AND removed_at IS NULL";
const FIND: &str = "SELECT number FROM toolrail_record WHERE kind = ? AND id = ? AND removed_at IS NULL";
const COUNT: &str = "SELECT count(*) FROM toolrail_record WHERE removed_at IS NULL AND kind = ?";
const PUT: &str = "INSERT INTO toolrail_record (kind, id, body, number, removed_at) VALUES (?, ?, ?, ?, ?) \
    ON DUPLICATE KEY UPDATE body = VALUES(body), number = VALUES(number), removed_at = VALUES(removed_at)";
const FORGET: &str = "DELETE FROM toolrail_record WHERE removed_at < ?";
const NOW: &str = "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)";

// The words for what is done to definitions are shorter than those for what is done to records.
const HAS_SHORT_ACTIONS: &str = "SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE() \
    AND table_name = 'mcp_tool_audit' AND column_name = 'action' AND character_maximum_length < 60";
const WIDEN_ACTIONS: &str = "ALTER TABLE mcp_tool_audit MODIFY COLUMN action VARCHAR(60) NOT NULL";

/// The number of the last write.
pub(super) async fn number(connection: &mut MySqlConnection) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(NUMBER).fetch_one(connection).await?)
}

/// The next records after that number.
pub(super) async fn after(
    connection: &mut MySqlConnection,
    number: i64,
    kinds: &[&str],
) -> Result<Vec<Record>, Failure> {
    let query = sqlx::query(READ).bind(number).bind(i32::from(!kinds.is_empty()));
    let query = query.bind(listed(kinds).into_bytes()).bind(RecordLimits::ALL.at_once);
    let rows = query.fetch_all(connection).await?;
    Ok(rows.iter().map(record_of).collect::<Result<_, _>>()?)
}

/// One record.
pub(super) async fn one(
    connection: &mut MySqlConnection,
    kind: &str,
    id: &str,
) -> Result<Option<Record>, Failure> {
    let query = sqlx::query(ONE).bind(kind.as_bytes()).bind(id.as_bytes());
    let row = query.fetch_optional(connection).await?;
    Ok(row.as_ref().map(record_of).transpose()?)
}

/// Writes a record and its entry in the audit record, and forgets what was removed long ago.
pub(super) async fn write(
    connection: &mut MySqlConnection,
    write: &RecordWrite,
    commit: &Commit,
) -> Result<RecordWritten, Failure> {
    if !fits(write) {
        return Ok(RecordWritten::NoRoom);
    }
    let mut transaction = begin_writing(connection).await?;
    // Before the number: who waits here for a write of definitions keeps nobody waiting whose record is not audited.
    let entry = match &write.audited {
        Some(audited) => Some(entry(&mut transaction, audited).await?),
        None => None,
    };
    let number = sqlx::query_scalar::<_, i64>(LOCK).fetch_one(&mut *transaction).await? + 1;
    if let Some(refused) = refusal(&mut transaction, write).await? {
        transaction.rollback().await?;
        return Ok(refused);
    }
    put(&mut transaction, write, number).await?;
    let last = audit::append(&mut transaction, entry.into_iter().collect()).await?;
    commit.begin(last, number);
    transaction.commit().await?;
    Ok(RecordWritten::Done(number))
}

/// The entry in the audit record. Nobody else appends to that from here on until the commit.
async fn entry(transaction: &mut Begun<'_>, audited: &RecordAudit) -> Result<AuditEntry, sqlx::Error> {
    let revision = rows::lock(transaction).await?;
    let now = sqlx::query(NOW).fetch_one(&mut **transaction).await?;
    Ok(entry_of(audited, time(&text(&now, 0)?), revision))
}

/// Why it is not written, if it is not.
async fn refusal(
    connection: &mut MySqlConnection,
    write: &RecordWrite,
) -> Result<Option<RecordWritten>, sqlx::Error> {
    let find = sqlx::query_scalar(FIND).bind(write.kind.as_bytes()).bind(write.id.as_bytes());
    let found: Option<i64> = find.fetch_optional(&mut *connection).await?;
    if !is_met(write, found) {
        return Ok(Some(RecordWritten::Otherwise));
    }
    if found.is_some() {
        return Ok(None);
    }
    let there = sqlx::query_scalar(COUNT).bind(write.kind.as_bytes()).fetch_one(connection).await?;
    Ok((!has_room(there)).then_some(RecordWritten::NoRoom))
}

async fn put(connection: &mut MySqlConnection, write: &RecordWrite, number: i64) -> Result<(), sqlx::Error> {
    sqlx::query(TAKE).bind(number.to_string()).execute(&mut *connection).await?;
    sqlx::query(FORGET).bind(forgotten_before()).execute(&mut *connection).await?;
    sqlx::query(PUT)
        .bind(write.kind.as_bytes())
        .bind(write.id.as_bytes())
        .bind(&write.body)
        .bind(number)
        .bind(removed_at(write))
        .execute(connection)
        .await?;
    Ok(())
}

/// Makes room in the audit record for what is done to records.
pub(super) async fn widen_actions(connection: &mut MySqlConnection) -> Result<(), Failure> {
    let short: i64 = sqlx::query_scalar(HAS_SHORT_ACTIONS).fetch_one(&mut *connection).await?;
    if short > 0 {
        connection.execute(WIDEN_ACTIONS).await?;
    }
    Ok(())
}

fn record_of(row: &MySqlRow) -> Result<Record, sqlx::Error> {
    Ok(Record { kind: text(row, 0)?, id: text(row, 1)?, body: optional(row, 2)?, number: row.try_get(3)? })
}
