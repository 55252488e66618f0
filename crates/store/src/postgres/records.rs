//! Small documents of the gateway itself, which every gateway on one database reads as they change.

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::{AuditEntry, Record, RecordAudit, RecordLimits, RecordWrite, RecordWritten};

use super::audit::{self, About};
use super::failure::Failure;
use super::pool::Lease;
use super::rows::rfc3339;
use crate::commit::Commit;
use crate::records::{entry_of, fits, forgotten_before, has_room, is_met, listed, removed_at};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const NUMBER: &str = "SELECT value::bigint FROM toolrail_meta WHERE name = 'record_number'";
const TAKE: &str = "UPDATE toolrail_meta SET value = (value::bigint + 1)::text WHERE name = 'record_number' \
    RETURNING value::bigint";
// `record_of` reads the columns in this order.
const READ: &str = "SELECT kind, id, body, number FROM toolrail_record \
    WHERE number > $1 AND ($3 = '' OR strpos($3, ',' || kind || ',') > 0) ORDER BY number LIMIT $2";
const ONE: &str = "SELECT kind, id, body, number FROM toolrail_record \
    WHERE kind = $1 AND id = $2 AND removed_at IS NULL";
const FIND: &str = "SELECT number FROM toolrail_record WHERE kind = $1 AND id = $2 AND removed_at IS NULL";
const COUNT: &str = "SELECT count(*) FROM toolrail_record WHERE removed_at IS NULL AND kind = $1";
const PUT: &str = "INSERT INTO toolrail_record (kind, id, body, number, removed_at) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (kind, id) DO UPDATE \
    SET body = excluded.body, number = excluded.number, removed_at = excluded.removed_at";
const FORGET: &str = "DELETE FROM toolrail_record WHERE removed_at < $1";
// Whoever holds the counter may append to the audit record.
const LOCK: &str = "SELECT version FROM mcp_config_version WHERE id = 1 FOR UPDATE";
const NOW: &str = concat!("SELECT ", rfc3339!("clock_timestamp()"));

/// The number of the last write.
pub(super) async fn number(pool: &PgPool) -> Result<i64, Failure> {
    let mut lease = Lease::take(pool).await?;
    let number = sqlx::query_scalar(NUMBER).fetch_one(lease.connection()?).await?;
    lease.give_back();
    Ok(number)
}

/// The next records after that number.
pub(super) async fn after(pool: &PgPool, number: i64, kinds: &[&str]) -> Result<Vec<Record>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let query = sqlx::query(READ).bind(number).bind(i64::from(RecordLimits::ALL.at_once)).bind(listed(kinds));
    let rows = query.fetch_all(lease.connection()?).await?;
    lease.give_back();
    Ok(rows.iter().map(record_of).collect::<Result<_, _>>()?)
}

/// One record.
pub(super) async fn one(pool: &PgPool, kind: &str, id: &str) -> Result<Option<Record>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let row = sqlx::query(ONE).bind(kind).bind(id).fetch_optional(lease.connection()?).await?;
    lease.give_back();
    Ok(row.as_ref().map(record_of).transpose()?)
}

/// Writes a record and its entry in the audit record, and forgets what was removed long ago.
pub(super) async fn write(
    pool: &PgPool,
    write: &RecordWrite,
    commit: &Commit,
) -> Result<RecordWritten, Failure> {
    if !fits(write) {
        return Ok(RecordWritten::NoRoom);
    }
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(BEGIN).await?;
    // Before the number: who waits here for a write of definitions keeps nobody waiting whose record is not audited.
    let entry = match &write.audited {
        Some(audited) => Some(entry(&mut transaction, audited).await?),
        None => None,
    };
    let number = sqlx::query_scalar(TAKE).fetch_one(&mut *transaction).await?;
    if let Some(refused) = refusal(&mut transaction, write).await? {
        transaction.rollback().await?;
        lease.give_back();
        return Ok(refused);
    }
    put(&mut transaction, write, number).await?;
    let last = match write.audited.as_ref().zip(entry) {
        Some((audited, entry)) => {
            audit::append(&mut transaction, &audited.author, vec![entry], About::Records).await?
        }
        None => None,
    };
    commit.begin(last, number);
    transaction.commit().await?;
    lease.give_back();
    Ok(RecordWritten::Done(number))
}

/// The entry in the audit record. Nobody else appends to that from here on until the commit.
async fn entry(connection: &mut PgConnection, audited: &RecordAudit) -> Result<AuditEntry, sqlx::Error> {
    let revision = sqlx::query_scalar(LOCK).fetch_one(&mut *connection).await?;
    let at = sqlx::query_scalar(NOW).fetch_one(connection).await?;
    Ok(entry_of(audited, at, revision))
}

/// Why it is not written, if it is not.
async fn refusal(
    connection: &mut PgConnection,
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

async fn put(connection: &mut PgConnection, write: &RecordWrite, number: i64) -> Result<(), sqlx::Error> {
    sqlx::query(FORGET).bind(forgotten_before()).execute(&mut *connection).await?;
    sqlx::query(PUT)
        .bind(&write.kind)
        .bind(&write.id)
        .bind(&write.body)
        .bind(number)
        .bind(removed_at(write))
        .execute(connection)
        .await?;
    Ok(())
}

fn record_of(row: &PgRow) -> Result<Record, sqlx::Error> {
    Ok(Record { kind: row.try_get(0)?, id: row.try_get(1)?, body: row.try_get(2)?, number: row.try_get(3)? })
}
