//! What definitions were before: the triggers write it, whoever makes a change.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteExecutor, SqlitePool, SqliteRow};
use toolrail_core::{HistoryQuery, Retention, Revision, ToolName, Version, VersionKind};

use super::rows::{optional_text, text};

// `version_of` reads the columns in this order.
macro_rules! select_versions {
    ($condition:literal) => {
        concat!(
            "SELECT revision, CAST(nullif(tenant, '') AS BLOB), CAST(name AS BLOB), kind, ",
            "CASE typeof(enabled) WHEN 'text' THEN lower(enabled) IN ('true', 't', 'yes', 'y', 'on') ",
            "ELSE coalesce(enabled, 0) <> 0 END, ",
            "CAST(config_json AS BLOB), CAST(at AS BLOB), CAST(who AS BLOB), CAST(address AS BLOB), CAST(via AS BLOB) ",
            "FROM mcp_tool_history AS this ",
            $condition
        )
    };
}

const OF_ALL: &str = select_versions!("WHERE revision < ? ORDER BY revision DESC LIMIT ?");
const OF_ONE: &str =
    select_versions!("WHERE tenant = ? AND name_key = ? AND revision < ? ORDER BY revision DESC LIMIT ?");
const STATE: &str = select_versions!(
    "WHERE revision <= ?1 AND kind <> 'removed' AND NOT EXISTS \
     (SELECT 1 FROM mcp_tool_history WHERE tenant = this.tenant AND name_key = this.name_key \
      AND revision > this.revision AND revision <= ?1) ORDER BY tenant, name_key"
);

const FLOOR: &str = "SELECT CAST(value AS INTEGER) FROM toolrail_meta WHERE name = 'history_floor'";
const RAISE_FLOOR: &str = "INSERT INTO toolrail_meta (name, value) VALUES ('history_floor', ?) \
    ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))";

// Each version with the revision at which it was replaced, and when: that is when its days begin. A date before all
// times is NULL, and nothing is older.
const FORGETTABLE: &str = "SELECT id, replaced_at FROM \
    (SELECT id, row_number() OVER newest AS place, lag(revision) OVER newest AS replaced_at, lag(at) OVER newest AS at \
     FROM mcp_tool_history WINDOW newest AS (PARTITION BY tenant, name_key ORDER BY revision DESC)) \
    WHERE place > 1 AND (place > ? OR at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?)) ORDER BY replaced_at LIMIT ?";
const FORGET: &str = "DELETE FROM mcp_tool_history WHERE id IN (SELECT value FROM json_each(?))";

/// How many versions are forgotten in one transaction, so that other writers get their turns.
const FORGOTTEN_AT_ONCE: u32 = 20_000;

/// Versions, the newest first.
pub(super) async fn read(readers: &SqlitePool, query: &HistoryQuery) -> Result<Vec<Version>, sqlx::Error> {
    let before = query.before.unwrap_or(Revision::MAX);
    let select = match &query.of {
        None => sqlx::query(OF_ALL),
        Some(key) => {
            let tenant = key.tenant.as_deref().unwrap_or_default();
            sqlx::query(OF_ONE).bind(tenant).bind(ToolName::fold(&key.name))
        }
    };
    let rows = select.bind(before).bind(query.most).fetch_all(readers).await?;
    rows.iter().map(version_of).collect()
}

/// All definitions as they were at a revision, or the oldest revision that can be had.
pub(super) async fn state_at(
    readers: &SqlitePool,
    revision: Revision,
) -> Result<Result<Vec<Version>, Revision>, sqlx::Error> {
    let mut transaction = readers.begin().await?;
    if let Some(floor) = floor(&mut *transaction).await?.filter(|floor| revision < *floor) {
        return Ok(Err(floor));
    }
    let rows = sqlx::query(STATE).bind(revision).fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    rows.iter().map(version_of).collect::<Result<_, _>>().map(Ok)
}

async fn floor(executor: impl SqliteExecutor<'_>) -> Result<Option<Revision>, sqlx::Error> {
    sqlx::query_scalar(FLOOR).fetch_optional(executor).await
}

/// Forgets what need not be kept, and returns how many versions that were.
pub(super) async fn forget(
    readers: &SqlitePool,
    writer: &SqlitePool,
    retention: &Retention,
) -> Result<u64, sqlx::Error> {
    let versions = retention.versions.map_or(i64::MAX, i64::from);
    let days = retention.days.map(|days| format!("-{days} days"));
    let mut forgotten = 0;
    loop {
        // Looked for without the lock: what may be forgotten now may be so ever after.
        let query = sqlx::query_as(FORGETTABLE).bind(versions).bind(&days).bind(FORGOTTEN_AT_ONCE);
        let found: Vec<(i64, Revision)> = query.fetch_all(readers).await?;
        let Some((_, floor)) = found.last() else { return Ok(forgotten) };
        let ids: serde_json::Value = found.iter().map(|(id, _)| *id).collect();
        let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
        forgotten +=
            sqlx::query(FORGET).bind(ids.to_string()).execute(&mut *transaction).await?.rows_affected();
        sqlx::query(RAISE_FLOOR).bind(floor).execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
}

fn version_of(row: &SqliteRow) -> Result<Version, sqlx::Error> {
    let kind: String = row.try_get(3)?;
    Ok(Version {
        revision: row.try_get(0)?,
        tenant: optional_text(row, 1)?,
        name: text(row, 2)?,
        kind: VersionKind::of_word(&kind).unwrap_or(VersionKind::Updated),
        enabled: row.try_get(4)?,
        config_json: text(row, 5)?,
        at: text(row, 6)?,
        who: optional_text(row, 7)?,
        address: optional_text(row, 8)?,
        via: optional_text(row, 9)?,
    })
}
