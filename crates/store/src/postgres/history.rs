//! What definitions were before. The triggers write it, whoever changes a definition; here it is read and forgotten.

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::{HistoryQuery, Retention, Revision, StoreError, ToolKey, ToolName, Version, VersionKind};

use super::failure::Failure;
use super::pool::Lease;
use super::rows::{SNAPSHOT, rfc3339};

// `version_of` reads the columns in this order.
macro_rules! select_versions {
    ($distinct:literal, $condition:literal) => {
        concat!(
            "SELECT ",
            $distinct,
            " revision, nullif(tenant, ''), name, kind, enabled, config_json, ",
            rfc3339!("at"),
            ", who, address, via FROM mcp_tool_history ",
            $condition
        )
    };
}

const ALL: &str = select_versions!("", "WHERE revision < $1 ORDER BY revision DESC LIMIT $2");
const OF_ONE: &str = select_versions!(
    "",
    "WHERE revision < $1 AND tenant = $3 AND name_key = $4 ORDER BY revision DESC LIMIT $2"
);
const STATE: &str = select_versions!(
    "DISTINCT ON (tenant, name_key)",
    "WHERE revision <= $1 ORDER BY tenant, name_key, revision DESC"
);
const HISTORY_FROM: &str = "SELECT value FROM toolrail_meta WHERE name = 'history_from'";

const TURN: &str = "SELECT pg_advisory_xact_lock(8390891584273738095)";
// A version counts until another replaces it, so that is when its days begin. By the age, since not every number of days
// is a time that the server knows.
const FORGET: &str = "WITH placed AS (SELECT revision, \
        row_number() OVER newest_first AS place, lag(revision) OVER newest_first AS next_revision, \
        extract(epoch FROM clock_timestamp() - lag(at) OVER newest_first) / 86400 AS days_since \
        FROM mcp_tool_history WINDOW newest_first AS (PARTITION BY tenant, name_key ORDER BY revision DESC)), \
    gone AS (DELETE FROM mcp_tool_history AS version USING placed \
        WHERE version.revision = placed.revision AND place > 1 AND (place > $1 OR days_since >= $2) \
        RETURNING next_revision) \
    SELECT count(*), max(next_revision) FROM gone";
const REMEMBER: &str = "INSERT INTO toolrail_meta AS known (name, value) VALUES ('history_from', $1::bigint::text) \
    ON CONFLICT (name) DO UPDATE SET value = greatest(known.value::bigint, excluded.value::bigint)::text";

/// Versions, the newest first.
pub(super) async fn read(pool: &PgPool, query: &HistoryQuery) -> Result<Vec<Version>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let before = query.before.unwrap_or(i64::MAX);
    let select = match &query.of {
        None => sqlx::query(ALL).bind(before).bind(i64::from(query.most)),
        Some(ToolKey { tenant, name }) => sqlx::query(OF_ONE)
            .bind(before)
            .bind(i64::from(query.most))
            .bind(tenant.as_deref().unwrap_or_default())
            .bind(ToolName::fold(name)),
    };
    let rows = select.fetch_all(lease.connection()?).await?;
    lease.give_back();
    Ok(rows.iter().map(version_of).collect::<Result<_, _>>()?)
}

/// What there was at that revision.
pub(super) async fn state_at(pool: &PgPool, revision: Revision) -> Result<Vec<Version>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(SNAPSHOT).await?;
    let oldest = oldest(&mut transaction).await?;
    let rows = if revision < oldest {
        Vec::new()
    } else {
        sqlx::query(STATE).bind(revision).fetch_all(&mut *transaction).await?
    };
    transaction.commit().await?;
    lease.give_back();
    if revision < oldest {
        return Err(StoreError::Forgotten { asked: revision, oldest }.into());
    }
    let mut state = rows.iter().map(version_of).collect::<Result<Vec<_>, _>>()?;
    state.retain(|version| version.kind != VersionKind::Removed);
    state.sort_by_cached_key(|version| ToolKey {
        tenant: version.tenant.clone(),
        name: ToolName::fold(&version.name),
    });
    Ok(state)
}

async fn oldest(connection: &mut PgConnection) -> Result<Revision, sqlx::Error> {
    let value: Option<String> = sqlx::query_scalar(HISTORY_FROM).fetch_optional(connection).await?;
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or_default())
}

/// Forgets versions, and remembers from which revision on the state can still be told.
pub(super) async fn forget(pool: &PgPool, retention: &Retention) -> Result<u64, Failure> {
    if *retention == Retention::default() {
        return Ok(0);
    }
    let mut lease = Lease::take(pool).await?;
    let mut transaction =
        lease.connection()?.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").await?;
    sqlx::raw_sql(TURN).execute(&mut *transaction).await?;
    let forget = sqlx::query_as(FORGET)
        .bind(retention.versions.map_or(i64::MAX, i64::from))
        .bind(retention.days.map_or(i64::MAX, i64::from));
    let (count, replaced_at): (i64, Option<Revision>) = forget.fetch_one(&mut *transaction).await?;
    if let Some(revision) = replaced_at {
        sqlx::query(REMEMBER).bind(revision).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    lease.give_back();
    Ok(u64::try_from(count).unwrap_or_default())
}

fn version_of(row: &PgRow) -> Result<Version, sqlx::Error> {
    let kind: String = row.try_get(3)?;
    Ok(Version {
        revision: row.try_get(0)?,
        tenant: row.try_get(1)?,
        name: row.try_get(2)?,
        kind: VersionKind::of_word(&kind).unwrap_or(VersionKind::Updated),
        enabled: row.try_get(4)?,
        config_json: row.try_get(5)?,
        at: row.try_get(6)?,
        who: row.try_get(7)?,
        address: row.try_get(8)?,
        via: row.try_get(9)?,
    })
}
