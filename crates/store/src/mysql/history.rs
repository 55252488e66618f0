//! Versions of definitions: the triggers enter them, this reads and forgets them.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{MySql, QueryBuilder, Row as _};
use toolrail_core::{HistoryQuery, Retention, Revision, StoreError, ToolName, Version, VersionKind};

use super::failure::Failure;
use super::pool::{begin_reading, begin_writing};
use super::rows::{optional, tenant_bytes, text, time};

// `version_of` reads the columns in this order.
const COLUMNS: &str = "SELECT revision, tenant, name, kind, CAST(enabled AS SIGNED), config_json, \
    CAST(at AS CHAR), who, address, via FROM mcp_tool_history AS version";
const OLDEST: &str = "SELECT CAST(value AS SIGNED) FROM toolrail_meta WHERE name = 'history_from'";
const REMEMBER: &str = "REPLACE INTO toolrail_meta (name, value) VALUES ('history_from', ?)";
const LOCK: &str = "SELECT CAST(version AS SIGNED) FROM mcp_config_version WHERE id = 1 FOR UPDATE";

// Every version with its place from the newest of its definition, and what came after it. A version counts until another
// replaces it, so that is when its days begin.
const PLACES: &str = "(SELECT revision, \
    ROW_NUMBER() OVER (PARTITION BY tenant_key, name_key ORDER BY revision DESC) AS place, \
    LEAD(revision) OVER (PARTITION BY tenant_key, name_key ORDER BY revision) AS next, \
    LEAD(at) OVER (PARTITION BY tenant_key, name_key ORDER BY revision) AS replaced \
    FROM mcp_tool_history) AS places";

/// Versions, the newest first.
pub(super) async fn read(
    connection: &mut MySqlConnection,
    query: &HistoryQuery,
) -> Result<Vec<Version>, Failure> {
    let mut select = QueryBuilder::<MySql>::new(COLUMNS);
    select.push(" WHERE revision < ").push_bind(query.before.unwrap_or(Revision::MAX));
    if let Some(key) = &query.of {
        select.push(" AND tenant_key = ").push_bind(tenant_bytes(key).to_vec());
        select.push(" AND name_key = ").push_bind(ToolName::fold(&key.name).into_bytes());
    }
    select.push(" ORDER BY revision DESC LIMIT ").push_bind(query.most);
    let rows = select.build().fetch_all(connection).await?;
    Ok(rows.iter().map(version_of).collect::<Result<_, _>>()?)
}

/// What there was at that revision.
pub(super) async fn state_at(
    connection: &mut MySqlConnection,
    revision: Revision,
) -> Result<Vec<Version>, Failure> {
    let mut transaction = begin_reading(connection).await?;
    let oldest: Option<i64> = sqlx::query_scalar(OLDEST).fetch_optional(&mut *transaction).await?;
    if let Some(oldest) = oldest.filter(|oldest| revision < *oldest) {
        transaction.rollback().await?;
        return Err(StoreError::Forgotten { asked: revision, oldest }.into());
    }
    let mut select = QueryBuilder::<MySql>::new(COLUMNS);
    select.push(" JOIN (SELECT max(revision) AS newest FROM mcp_tool_history WHERE revision <= ");
    select.push_bind(revision).push(
        " GROUP BY tenant_key, name_key) AS newest ON version.revision = newest.newest \
         WHERE kind <> 'removed' ORDER BY tenant_key, name_key",
    );
    let rows = select.build().fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(rows.iter().map(version_of).collect::<Result<_, _>>()?)
}

/// Forgets what need not be kept, and remembers how far back the whole can still be had.
pub(super) async fn forget(connection: &mut MySqlConnection, retention: &Retention) -> Result<u64, Failure> {
    let mut transaction = begin_writing(connection).await?;
    let _: i64 = sqlx::query_scalar(LOCK).fetch_one(&mut *transaction).await?;
    let mut oldest = QueryBuilder::<MySql>::new("SELECT max(next) FROM ");
    oldest.push(PLACES).push(" WHERE ");
    condition(&mut oldest, retention);
    let Some(oldest) = oldest.build_query_scalar::<Option<i64>>().fetch_one(&mut *transaction).await? else {
        transaction.rollback().await?;
        return Ok(0);
    };
    let mut delete = QueryBuilder::<MySql>::new("DELETE version FROM mcp_tool_history AS version JOIN ");
    delete.push(PLACES).push(" ON places.revision = version.revision WHERE ");
    condition(&mut delete, retention);
    let forgotten = delete.build().execute(&mut *transaction).await?.rows_affected();
    let known: Option<i64> = sqlx::query_scalar(OLDEST).fetch_optional(&mut *transaction).await?;
    let oldest = oldest.max(known.unwrap_or(0));
    sqlx::query(REMEMBER).bind(oldest.to_string()).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(forgotten)
}

/// Which versions need not be kept: never the newest of a definition.
fn condition(sql: &mut QueryBuilder<MySql>, retention: &Retention) {
    sql.push("places.place > 1 AND (FALSE");
    if let Some(versions) = retention.versions {
        sql.push(" OR places.place > ").push_bind(versions);
    }
    if let Some(days) = retention.days {
        // So many that no time is older: the server refuses to reckon before its first year.
        let days = days.min(700_000);
        sql.push(" OR places.replaced <= UTC_TIMESTAMP(6) - INTERVAL ").push_bind(days).push(" DAY");
    }
    sql.push(")");
}

fn version_of(row: &MySqlRow) -> Result<Version, sqlx::Error> {
    let kind = text(row, 3)?;
    let unknown = || sqlx::Error::Decode(format!("there is no kind of version {kind:?}").into());
    Ok(Version {
        revision: row.try_get(0)?,
        tenant: optional(row, 1)?.filter(|tenant| !tenant.is_empty()),
        name: text(row, 2)?,
        kind: VersionKind::of_word(&kind).ok_or_else(unknown)?,
        enabled: row.try_get::<i64, _>(4)? != 0,
        config_json: text(row, 5)?,
        at: time(&text(row, 6)?),
        who: optional(row, 7)?,
        address: optional(row, 8)?,
        via: optional(row, 9)?,
    })
}
