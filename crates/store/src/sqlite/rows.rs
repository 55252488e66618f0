//! Definitions as they stand in the file. Any program may have written a row, so nothing is taken for granted: text may
//! be a blob or not UTF-8, a boolean may be the word.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use toolrail_core::{Changes, Revision, Row, ToolKey, ToolName};

pub(super) const REVISION: &str = "SELECT version FROM mcp_config_version WHERE id = 1";

const COUNT: &str = "SELECT count(*) FROM mcp_tool";

// `row_of` reads the columns in this order.
macro_rules! select_rows {
    ($condition:literal) => {
        concat!(
            "SELECT CAST(name AS BLOB), ",
            "CASE typeof(enabled) WHEN 'text' THEN lower(enabled) IN ('true', 't', 'yes', 'y', 'on') ",
            "ELSE coalesce(enabled, 0) <> 0 END, ",
            "CAST(config_json AS BLOB), CAST(version AS INTEGER), CAST(updated_at AS BLOB), CAST(updated_by AS BLOB), ",
            "CAST(nullif(tenant_id, '') AS BLOB), rowid FROM mcp_tool ",
            $condition
        )
    };
}

const CHANGED_ROWS: &str = select_rows!("WHERE version > ? ORDER BY version LIMIT ?");
const ONE_ROW: &str = select_rows!("WHERE coalesce(tenant_id, '') = ? AND lower(name) = ?");

const REMOVED: &str = "SELECT CAST(nullif(tenant, '') AS BLOB), CAST(name_key AS BLOB) FROM mcp_tool_tombstone \
    WHERE version > ? AND version <= ? AND NOT EXISTS \
    (SELECT 1 FROM mcp_tool WHERE coalesce(tenant_id, '') = tenant AND coalesce(lower(name), '') = name_key)";

const AGE_IN_MS: &str = "SELECT CAST((julianday('now') - julianday(at)) * 86400000 AS INTEGER) FROM mcp_tool_history \
    WHERE revision > ? ORDER BY revision LIMIT 1";

/// One page of what changed after `since`.
pub(super) async fn changes(readers: &SqlitePool, since: Revision) -> Result<Changes, sqlx::Error> {
    // One transaction is one state of the database: the rows are those of the revision.
    let mut transaction = readers.begin().await?;
    let mut changes = Changes {
        revision: sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?,
        ..Changes::default()
    };
    if changes.revision != since {
        read_page(&mut transaction, since, &mut changes).await?;
    }
    transaction.commit().await?;
    Ok(changes)
}

async fn read_page(
    connection: &mut SqliteConnection,
    since: Revision,
    changes: &mut Changes,
) -> Result<(), sqlx::Error> {
    let mut rows = sqlx::query(CHANGED_ROWS).bind(since).bind(Changes::MOST + 1).fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        if changes.rows.len() == Changes::MOST as usize {
            changes.more = true;
            break;
        }
        changes.rows.push(row_of(&row)?);
    }
    drop(rows);
    if let (true, Some(last)) = (changes.more, changes.rows.last()) {
        changes.revision = last.version;
    }
    if since != 0 {
        let query = sqlx::query(REMOVED).bind(since).bind(changes.revision);
        let removed = query.fetch_all(&mut *connection).await?;
        let key = |row: &SqliteRow| Ok(ToolKey { tenant: optional_text(row, 0)?, name: text(row, 1)? });
        changes.removed = removed.iter().map(key).collect::<Result<_, sqlx::Error>>()?;
    }
    if !(changes.rows.is_empty() && changes.removed.is_empty()) {
        let age: Option<Option<i64>> =
            sqlx::query_scalar(AGE_IN_MS).bind(since).fetch_optional(&mut *connection).await?;
        // A clock that was set back makes no negative age.
        changes.age = age.flatten().map(|age| Duration::from_millis(age.try_into().unwrap_or(0)));
    }
    Ok(())
}

pub(super) async fn count(readers: &SqlitePool) -> Result<u64, sqlx::Error> {
    let count: i64 = sqlx::query_scalar(COUNT).fetch_one(readers).await?;
    Ok(count.try_into().unwrap_or(0))
}

pub(super) async fn find(
    readers: &SqlitePool,
    tenant: Option<&str>,
    name: &str,
) -> Result<Option<Row>, sqlx::Error> {
    let query = sqlx::query(ONE_ROW).bind(tenant.unwrap_or_default()).bind(ToolName::fold(name));
    query.fetch_optional(readers).await?.as_ref().map(row_of).transpose()
}

/// The row of a key, with its place in the table.
pub(super) async fn find_to_change(
    connection: &mut SqliteConnection,
    key: &ToolKey,
) -> Result<Option<(i64, Row)>, sqlx::Error> {
    let query = sqlx::query(ONE_ROW).bind(key.tenant.as_deref().unwrap_or_default()).bind(&key.name);
    let row = query.fetch_optional(connection).await?;
    row.as_ref().map(|row| Ok((row.try_get(7)?, row_of(row)?))).transpose()
}

fn row_of(row: &SqliteRow) -> Result<Row, sqlx::Error> {
    Ok(Row {
        tenant: optional_text(row, 6)?,
        name: text(row, 0)?,
        enabled: row.try_get(1)?,
        config_json: text(row, 2)?,
        version: row.try_get(3)?,
        updated_at: text(row, 4)?,
        updated_by: optional_text(row, 5)?,
    })
}

pub(super) fn text(row: &SqliteRow, column: usize) -> Result<String, sqlx::Error> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

pub(super) fn optional_text(row: &SqliteRow, column: usize) -> Result<Option<String>, sqlx::Error> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}
