//! Small documents of the gateway itself, which every gateway on one file reads as they change.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use toolrail_core::{Record, RecordAudit, RecordLimits, RecordWrite, RecordWritten};

use super::rows::{self, optional_text, text};
use super::{audit, write};
use crate::audit::chained;
use crate::records::{entry_of, fits, forgotten_before, has_room, is_met, listed, removed_at};

const NUMBER: &str = "SELECT CAST(value AS INTEGER) FROM toolrail_meta WHERE name = 'record_number'";
const TAKE: &str = "UPDATE toolrail_meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'record_number' \
    RETURNING CAST(value AS INTEGER)";
// `record_of` reads the columns in this order.
const READ: &str = "SELECT CAST(kind AS BLOB), CAST(id AS BLOB), CAST(body AS BLOB), number FROM toolrail_record \
    WHERE number > ?1 AND (?2 = '' OR instr(?2, ',' || kind || ',') > 0) ORDER BY number LIMIT ?3";
const ONE: &str = "SELECT CAST(kind AS BLOB), CAST(id AS BLOB), CAST(body AS BLOB), number FROM toolrail_record \
    WHERE kind = ? AND id = ? AND removed_at IS NULL";
const FIND: &str = "SELECT number FROM toolrail_record WHERE kind = ? AND id = ? AND removed_at IS NULL";
const COUNT: &str = "SELECT count(*) FROM toolrail_record WHERE removed_at IS NULL AND kind = ?";
const PUT: &str = "INSERT INTO toolrail_record (kind, id, body, number, removed_at) VALUES (?, ?, ?, ?, ?) \
    ON CONFLICT (kind, id) DO UPDATE \
    SET body = excluded.body, number = excluded.number, removed_at = excluded.removed_at";
const FORGET: &str = "DELETE FROM toolrail_record WHERE removed_at < ?";

/// The number of the last write.
pub(super) async fn number(readers: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(NUMBER).fetch_one(readers).await
}

/// The next records after that number.
pub(super) async fn after(
    readers: &SqlitePool,
    number: i64,
    kinds: &[&str],
) -> Result<Vec<Record>, sqlx::Error> {
    let query = sqlx::query(READ).bind(number).bind(listed(kinds)).bind(RecordLimits::ALL.at_once);
    query.fetch_all(readers).await?.iter().map(record_of).collect()
}

/// One record.
pub(super) async fn one(readers: &SqlitePool, kind: &str, id: &str) -> Result<Option<Record>, sqlx::Error> {
    let row = sqlx::query(ONE).bind(kind).bind(id).fetch_optional(readers).await?;
    row.as_ref().map(record_of).transpose()
}

/// Writes a record and its entry in the audit record, and forgets what was removed long ago.
pub(super) async fn write(writer: &SqlitePool, write: &RecordWrite) -> Result<RecordWritten, sqlx::Error> {
    if !fits(write) {
        return Ok(RecordWritten::NoRoom);
    }
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    if let Some(refused) = refusal(&mut transaction, write).await? {
        transaction.rollback().await?;
        return Ok(refused);
    }
    let number = put(&mut transaction, write).await?;
    if let Some(audited) = &write.audited {
        enter(&mut transaction, audited).await?;
    }
    transaction.commit().await?;
    Ok(RecordWritten::Done(number))
}

/// Why it is not written, if it is not.
async fn refusal(
    connection: &mut SqliteConnection,
    write: &RecordWrite,
) -> Result<Option<RecordWritten>, sqlx::Error> {
    let find = sqlx::query_scalar(FIND).bind(&write.kind).bind(&write.id);
    let found: Option<i64> = find.fetch_optional(&mut *connection).await?;
    if !is_met(write, found) {
        return Ok(Some(RecordWritten::Otherwise));
    }
    if found.is_some() {
        return Ok(None);
    }
    let there = sqlx::query_scalar(COUNT).bind(&write.kind).fetch_one(connection).await?;
    Ok((!has_room(there)).then_some(RecordWritten::NoRoom))
}

async fn put(connection: &mut SqliteConnection, write: &RecordWrite) -> Result<i64, sqlx::Error> {
    let number = sqlx::query_scalar(TAKE).fetch_one(&mut *connection).await?;
    sqlx::query(FORGET).bind(forgotten_before()).execute(&mut *connection).await?;
    sqlx::query(PUT)
        .bind(&write.kind)
        .bind(&write.id)
        .bind(&write.body)
        .bind(number)
        .bind(removed_at(write))
        .execute(connection)
        .await?;
    Ok(number)
}

async fn enter(connection: &mut SqliteConnection, audited: &RecordAudit) -> Result<(), sqlx::Error> {
    let revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *connection).await?;
    let at = sqlx::query_scalar(write::NOW).fetch_one(&mut *connection).await?;
    let entry = entry_of(audited, at, revision);
    let (entries, newest) = chained([entry].into_iter(), audit::end(connection).await?);
    audit::append(connection, &entries).await?;
    audit::remember(connection, &newest).await
}

fn record_of(row: &SqliteRow) -> Result<Record, sqlx::Error> {
    Ok(Record {
        kind: text(row, 0)?,
        id: text(row, 1)?,
        body: optional_text(row, 2)?,
        number: row.try_get(3)?,
    })
}
