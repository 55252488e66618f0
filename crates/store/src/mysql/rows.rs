//! Reading definitions and what changed about them.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use toolrail_core::{Changes, Revision, Row, ToolKey, ToolName};

use super::failure::Failure;
use super::pool::{Begun, begin_reading};
use super::truncated;

// Any program may have written the row and chosen its types, so nothing is taken for granted. `row_of` reads the columns
// in this order.
macro_rules! select_rows {
    ($condition:literal) => {
        concat!(
            "SELECT CONVERT(tenant_id USING utf8mb4), CONVERT(name USING utf8mb4), ",
            "CAST(coalesce(enabled, 0) <> 0 AS SIGNED), CONVERT(config_json USING utf8mb4), ",
            "CAST(version AS SIGNED), CAST(updated_at AS CHAR), CONVERT(updated_by USING utf8mb4) FROM mcp_tool ",
            $condition
        )
    };
}
pub(super) use select_rows;

const STATE: &str = "SELECT CAST(version AS SIGNED), \
    CAST(truncated OR (live > 0 AND NOT EXISTS (SELECT 1 FROM mcp_tool)) AS SIGNED) \
    FROM mcp_config_version WHERE id = 1";
const LOCK: &str = "SELECT CAST(version AS SIGNED) FROM mcp_config_version WHERE id = 1 FOR UPDATE";
const NEWEST: &str = "SELECT max(revision) FROM mcp_tool_history";
const GO_ON: &str = "UPDATE mcp_config_version SET version = ? WHERE id = 1";
const SIZES: &str = "SELECT version, CAST(coalesce(config_bytes, 0) AS SIGNED) FROM mcp_tool WHERE version > ? \
    ORDER BY version LIMIT ?";
const CHANGED: &str = select_rows!("WHERE version > ? AND version <= ? ORDER BY version");
const ONE: &str = select_rows!("WHERE tenant_key = ? AND name_key = ?");
const REMOVED: &str = "SELECT tenant_key, name_key FROM mcp_tool_tombstone AS gone \
    WHERE version > ? AND version <= ? AND NOT EXISTS (SELECT 1 FROM mcp_tool \
        WHERE mcp_tool.tenant_key = gone.tenant_key AND mcp_tool.name_key = gone.name_key) ORDER BY version";
const AGE: &str = "SELECT TIMESTAMPDIFF(MICROSECOND, at, UTC_TIMESTAMP(6)) FROM mcp_tool_history \
    WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT 1";

/// The current revision.
pub(super) async fn revision(connection: &mut MySqlConnection) -> Result<Revision, Failure> {
    match state(connection).await? {
        (revision, false) => Ok(revision),
        (_, true) => truncated::bury(connection).await,
    }
}

/// How many definitions there are.
pub(super) async fn count(connection: &mut MySqlConnection) -> Result<u64, Failure> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM mcp_tool").fetch_one(connection).await?;
    Ok(count.try_into().unwrap_or(0))
}

/// One row, by name in any case.
pub(super) async fn find(
    connection: &mut MySqlConnection,
    tenant: Option<&str>,
    name: &str,
) -> Result<Option<Row>, Failure> {
    let (tenant, name) = (tenant.unwrap_or_default(), ToolName::fold(name));
    let query = sqlx::query(ONE).bind(tenant.as_bytes()).bind(name.as_bytes());
    let row = query.fetch_optional(connection).await?;
    Ok(row.as_ref().map(row_of).transpose()?)
}

/// What changed after that revision, all of one moment.
pub(super) async fn changes_since(
    connection: &mut MySqlConnection,
    since: Revision,
) -> Result<Changes, Failure> {
    let mut transaction = begin_reading(connection).await?;
    let (revision, lost) = state(&mut transaction).await?;
    if lost {
        transaction.rollback().await?;
        truncated::bury(connection).await?;
        return Box::pin(changes_since(connection, since)).await;
    }
    let mut changes = Changes { revision, ..Changes::default() };
    if revision != since {
        read_page(&mut transaction, since, &mut changes).await?;
    }
    transaction.commit().await?;
    Ok(changes)
}

async fn read_page(
    transaction: &mut Begun<'_>,
    since: Revision,
    changes: &mut Changes,
) -> Result<(), sqlx::Error> {
    // The index has these, so that no definition is read that is not given out.
    let sizes: Vec<(Revision, i64)> =
        sqlx::query_as(SIZES).bind(since).bind(Changes::MOST + 1).fetch_all(&mut **transaction).await?;
    let given = fitting(&sizes);
    changes.more = given.len() < sizes.len();
    if let Some((last, _)) = given.last() {
        let rows = sqlx::query(CHANGED).bind(since).bind(last).fetch_all(&mut **transaction).await?;
        changes.rows = rows.iter().map(row_of).collect::<Result<_, _>>()?;
        if changes.more {
            changes.revision = *last;
        }
    }
    // Whoever begins knows of nothing that could have been removed.
    if since != 0 {
        let removed = sqlx::query(REMOVED).bind(since).bind(changes.revision);
        let removed = removed.fetch_all(&mut **transaction).await?;
        changes.removed = removed.iter().map(|row| key_of(row, 0)).collect::<Result<_, _>>()?;
    }
    let age = sqlx::query_scalar(AGE).bind(since).bind(changes.revision);
    let age: Option<i64> = age.fetch_optional(&mut **transaction).await?;
    changes.age = age.map(|micros| Duration::from_micros(micros.try_into().unwrap_or(0)));
    Ok(())
}

/// Those that one page has room for: at least one.
fn fitting(sizes: &[(Revision, i64)]) -> &[(Revision, i64)] {
    let most = usize::try_from(Changes::MOST).unwrap_or(usize::MAX);
    let mut bytes = 0;
    let fits = |(_, size): &&(Revision, i64)| {
        bytes += usize::try_from(*size).unwrap_or(0);
        bytes <= Changes::MOST_BYTES
    };
    let count = sizes.iter().take(most).take_while(fits).count();
    &sizes[..count.max(1).min(sizes.len())]
}

/// The revision, and whether rows went without the triggers seeing it.
pub(super) async fn state(connection: &mut MySqlConnection) -> Result<(Revision, bool), sqlx::Error> {
    let row = sqlx::query(STATE).fetch_one(connection).await?;
    Ok((row.try_get(0)?, row.try_get::<i64, _>(1)? != 0))
}

/// Locks the revision, and returns it. It goes on from the newest version there is, if somebody has set it back.
pub(super) async fn lock(transaction: &mut Begun<'_>) -> Result<Revision, sqlx::Error> {
    let locked: Revision = sqlx::query_scalar(LOCK).fetch_one(&mut **transaction).await?;
    let newest: Option<Revision> = sqlx::query_scalar(NEWEST).fetch_one(&mut **transaction).await?;
    match newest.filter(|newest| *newest > locked) {
        Some(newest) => {
            sqlx::query(GO_ON).bind(newest).execute(&mut **transaction).await?;
            Ok(newest)
        }
        None => Ok(locked),
    }
}

/// A row of `select_rows!`.
pub(super) fn row_of(row: &MySqlRow) -> Result<Row, sqlx::Error> {
    Ok(Row {
        tenant: optional(row, 0)?.filter(|tenant| !tenant.is_empty()),
        name: text(row, 1)?,
        enabled: row.try_get::<i64, _>(2)? != 0,
        config_json: text(row, 3)?,
        version: row.try_get(4)?,
        updated_at: time(&text(row, 5)?),
        updated_by: optional(row, 6)?,
    })
}

/// The key in two columns.
pub(super) fn key_of(row: &MySqlRow, column: usize) -> Result<ToolKey, sqlx::Error> {
    let tenant = optional(row, column)?.filter(|tenant| !tenant.is_empty());
    Ok(ToolKey { tenant, name: text(row, column + 1)? })
}

/// A column as text, whatever its type; nothing for NULL.
pub(super) fn text(row: &MySqlRow, column: usize) -> Result<String, sqlx::Error> {
    Ok(optional(row, column)?.unwrap_or_default())
}

/// A column as text, whatever its type.
pub(super) fn optional(row: &MySqlRow, column: usize) -> Result<Option<String>, sqlx::Error> {
    let bytes: Option<&[u8]> = row.try_get_unchecked(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// A time as the server writes it (`2024-05-06 07:08:09.123456`), as RFC 3339 with milliseconds; the session's time is UTC.
pub(super) fn time(text: &str) -> String {
    let Some((date, time)) = text.split_once(' ') else { return text.to_owned() };
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{date}T{seconds}.{fraction:0<3.3}Z")
}

/// The tenant of a key as its column has it.
pub(super) fn tenant_bytes(key: &ToolKey) -> &[u8] {
    key.tenant.as_deref().unwrap_or_default().as_bytes()
}
