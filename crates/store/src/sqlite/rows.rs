//! Definitions as they stand in the file. Any program may have written a row, so nothing is taken for granted: text may
//! be a blob or not UTF-8, a boolean may be the word.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _};
use toolrail_core::{Changes, Revision, Row, ToolKey, ToolName};

pub(super) const REVISION: &str = "SELECT version FROM mcp_config_version WHERE id = 1";

const COUNT: &str = "SELECT count(*) FROM mcp_tool";

// `row_of` reads the columns in this order.
macro_rules! select_rows {
    ($condition:literal) => {
        concat!(
            "SELECT CAST(mcp_tool.name AS BLOB), ",
            "CASE typeof(enabled) WHEN 'text' THEN lower(enabled) IN ('true', 't', 'yes', 'y', 'on') ",
            "ELSE coalesce(enabled, 0) <> 0 END, ",
            "CAST(config_json AS BLOB), CAST(version AS INTEGER), CAST(updated_at AS BLOB), CAST(updated_by AS BLOB), ",
            "CAST(nullif(tenant_id, '') AS BLOB), mcp_tool.rowid FROM mcp_tool ",
            $condition
        )
    };
}

// With the keys as a table before it.
const WANTED_ROWS: &str = select_rows!(
    "JOIN wanted ON coalesce(mcp_tool.tenant_id, '') = wanted.tenant AND lower(mcp_tool.name) = wanted.name_key"
);
const CHANGED_ROWS: &str = select_rows!("WHERE version > ? ORDER BY version LIMIT ?");
const ONE_ROW: &str = select_rows!("WHERE coalesce(tenant_id, '') = ? AND lower(name) = ?");

const VERSIONS: &str = "SELECT CAST(nullif(tenant_id, '') AS BLOB), CAST(lower(name) AS BLOB), version FROM mcp_tool \
    WHERE version > ?";

// A plus takes a column's affinity off: with it the index could not be used.
pub(super) const REMOVED: &str = "SELECT CAST(nullif(tenant, '') AS BLOB), CAST(name_key AS BLOB) \
    FROM mcp_tool_tombstone AS gone WHERE version > ? AND version <= ? AND NOT EXISTS \
    (SELECT 1 FROM mcp_tool WHERE coalesce(tenant_id, '') = +gone.tenant AND lower(name) = +gone.name_key) \
    AND (gone.name_key <> '' OR NOT EXISTS \
    (SELECT 1 FROM mcp_tool WHERE coalesce(tenant_id, '') = +gone.tenant AND name IS NULL))";

const AGE_IN_MS: &str = "SELECT CAST((julianday('now') - julianday(at)) * 86400000 AS INTEGER) FROM mcp_tool_history \
    WHERE revision > ? ORDER BY revision LIMIT 1";

/// One page of what changed after `since`.
pub(super) async fn changes_since(readers: &SqlitePool, since: Revision) -> Result<Changes, sqlx::Error> {
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
    let mut bytes = 0;
    while let Some(row) = rows.try_next().await? {
        let row = row_of(&row)?;
        bytes += row.config_json.len();
        let is_full = changes.rows.len() == Changes::MOST as usize || bytes > Changes::MOST_BYTES;
        if is_full && !changes.rows.is_empty() {
            changes.more = true;
            break;
        }
        changes.rows.push(row);
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

/// The rows of those keys, each with its place in the table.
pub(super) async fn find_all_to_change(
    connection: &mut SqliteConnection,
    keys: &[ToolKey],
) -> Result<HashMap<ToolKey, (i64, Row)>, sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new("WITH wanted (tenant, name_key) AS (");
    query.push_values(keys, |mut row, key| {
        row.push_bind(key.tenant.as_deref().unwrap_or_default()).push_bind(&key.name);
    });
    query.push(") ").push(WANTED_ROWS);
    let rows = query.build().persistent(keys.len() == 1).fetch_all(connection).await?;
    let found = |row: &SqliteRow| {
        let (place, row) = (row.try_get(7)?, row_of(row)?);
        let key = ToolKey { tenant: row.tenant.clone(), name: ToolName::fold(&row.name) };
        Ok((key, (place, row)))
    };
    rows.iter().map(found).collect()
}

/// The version of each row that changed after a revision.
pub(super) async fn versions_after(
    connection: &mut SqliteConnection,
    revision: Revision,
) -> Result<HashMap<ToolKey, Revision>, sqlx::Error> {
    let rows = sqlx::query(VERSIONS).bind(revision).fetch_all(connection).await?;
    let version = |row: &SqliteRow| {
        let key = ToolKey { tenant: optional_text(row, 0)?, name: text(row, 1)? };
        Ok((key, row.try_get(2)?))
    };
    rows.iter().map(version).collect()
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
