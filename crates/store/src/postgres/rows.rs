//! Reads definitions and what changed. Every read of several statements sees one state of the database.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{Connection, Row as _};
use toolrail_core::{Changes, Revision, Row, ToolKey, ToolName};

use super::failure::Failure;
use super::pool::Lease;

pub(super) const REVISION: &str = "SELECT version FROM mcp_config_version WHERE id = 1";
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A time column as RFC 3339 in UTC.
macro_rules! rfc3339 {
    ($column:literal) => {
        concat!(
            "coalesce(to_char(",
            $column,
            "::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), '')"
        )
    };
}
pub(super) use rfc3339;

// `row_of` reads the columns in this order.
macro_rules! select_rows {
    ($source:literal) => {
        concat!(
            "SELECT nullif(tool.tenant_id, '')::text, tool.name::text, coalesce(tool.enabled, FALSE), ",
            "mcp_tool_document(tool), tool.version, ",
            rfc3339!("tool.updated_at"),
            ", tool.updated_by::text, ",
            "extract(epoch FROM clock_timestamp() - tool.updated_at::timestamptz)::float8 ",
            "FROM ",
            $source
        )
    };
}

const CHANGED_ROWS: &str = select_rows!("mcp_tool_page($1, $2, $3) AS tool ORDER BY tool.version");
const ONE_ROW: &str = select_rows!(
    "mcp_tool AS tool WHERE coalesce(tool.tenant_id, '') = $1 AND lower(tool.name COLLATE \"C\") = $2"
);
const REMOVED: &str = "SELECT nullif(tenant, ''), name_key, version, \
    extract(epoch FROM clock_timestamp() - at)::float8 FROM mcp_tool_tombstone \
    WHERE version > $1 AND NOT EXISTS (SELECT 1 FROM mcp_tool AS tool \
    WHERE coalesce(tool.tenant_id, '') = tenant AND lower(tool.name COLLATE \"C\") = name_key) \
    ORDER BY version LIMIT $2";

/// The current revision.
pub(super) async fn revision(pool: &PgPool) -> Result<Revision, Failure> {
    let mut lease = Lease::take(pool).await?;
    let revision = sqlx::query_scalar(REVISION).fetch_one(lease.connection()?).await?;
    lease.give_back();
    Ok(revision)
}

/// How many rows there are.
pub(super) async fn count(pool: &PgPool) -> Result<u64, Failure> {
    let mut lease = Lease::take(pool).await?;
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM mcp_tool").fetch_one(lease.connection()?).await?;
    lease.give_back();
    Ok(u64::try_from(count).unwrap_or_default())
}

/// One row.
pub(super) async fn find(pool: &PgPool, tenant: Option<&str>, name: &str) -> Result<Option<Row>, Failure> {
    let mut lease = Lease::take(pool).await?;
    let row = find_by(lease.connection()?, tenant, name).await?;
    lease.give_back();
    Ok(row)
}

/// One row, within a transaction.
pub(super) async fn find_by(
    connection: &mut PgConnection,
    tenant: Option<&str>,
    name: &str,
) -> Result<Option<Row>, sqlx::Error> {
    let tenant = tenant.unwrap_or_default();
    // The server has no such text, and would not even look for it.
    if name.contains('\0') || tenant.contains('\0') {
        return Ok(None);
    }
    let query = sqlx::query(ONE_ROW).bind(tenant).bind(ToolName::fold(name));
    query.fetch_optional(connection).await?.as_ref().map(row_of).transpose()
}

/// What changed after `since`: a page of it, cut where either the rows or the removals would be too many.
pub(super) async fn changes_since(pool: &PgPool, since: Revision) -> Result<Changes, Failure> {
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(SNAPSHOT).await?;
    let revision: Revision = sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?;
    let page = if revision > since || since == 0 {
        Page::read(&mut transaction, since).await?
    } else {
        Page::default()
    };
    transaction.commit().await?;
    lease.give_back();
    Ok(page.up_to(revision))
}

/// Rows and removals with their ages in seconds, in the order of their versions; more than are given out, if there are.
#[derive(Default)]
struct Page {
    rows: Vec<(Row, f64)>,
    removed: Vec<(ToolKey, Revision, f64)>,
}

impl Page {
    async fn read(connection: &mut PgConnection, since: Revision) -> Result<Self, sqlx::Error> {
        let most = i64::from(Changes::MOST) + 1;
        let bytes = i64::try_from(Changes::MOST_BYTES).unwrap_or(i64::MAX);
        let rows = sqlx::query(CHANGED_ROWS).bind(since).bind(most).bind(bytes).fetch_all(&mut *connection);
        let rows = rows.await?;
        let rows =
            rows.iter().map(|row| Ok((row_of(row)?, age_of(row, 7)?))).collect::<Result<_, sqlx::Error>>()?;
        // Whoever knows nothing has nothing to remove.
        if since == 0 {
            return Ok(Self { rows, removed: Vec::new() });
        }
        let removed = sqlx::query(REMOVED).bind(since).bind(most).fetch_all(connection).await?;
        let one = |row: &PgRow| {
            let key = ToolKey { tenant: row.try_get(0)?, name: row.try_get(1)? };
            Ok((key, row.try_get(2)?, age_of(row, 3)?))
        };
        Ok(Self { rows, removed: removed.iter().map(one).collect::<Result<_, sqlx::Error>>()? })
    }

    /// The version of the last row that is given out, if there are more.
    fn last_row(&self, most: usize) -> Option<Revision> {
        let mut bytes = 0;
        let fitting = self.rows.iter().take(most).take_while(|(row, _)| {
            bytes += row.config_json.len();
            bytes <= Changes::MOST_BYTES
        });
        let given = fitting.count().max(1);
        (self.rows.len() > given).then(|| self.rows[given - 1].0.version)
    }

    fn up_to(mut self, revision: Revision) -> Changes {
        let most = usize::try_from(Changes::MOST).unwrap_or(usize::MAX);
        let last_removed = (self.removed.len() > most).then(|| self.removed[most - 1].1);
        let cut = [self.last_row(most), last_removed].into_iter().flatten().min();
        if let Some(cut) = cut {
            self.rows.retain(|(row, _)| row.version <= cut);
            self.removed.retain(|(_, version, _)| *version <= cut);
        }
        let ages = self.rows.iter().map(|(_, age)| *age).chain(self.removed.iter().map(|(.., age)| *age));
        let oldest = ages.reduce(f64::max);
        Changes {
            revision: cut.unwrap_or(revision),
            rows: self.rows.into_iter().map(|(row, _)| row).collect(),
            removed: self.removed.into_iter().map(|(key, ..)| key).collect(),
            more: cut.is_some(),
            age: oldest.map(|age| Duration::try_from_secs_f64(age).unwrap_or_default()),
        }
    }
}

fn row_of(row: &PgRow) -> Result<Row, sqlx::Error> {
    Ok(Row {
        tenant: row.try_get(0)?,
        name: row.try_get(1)?,
        enabled: row.try_get(2)?,
        config_json: row.try_get(3)?,
        version: row.try_get(4)?,
        updated_at: row.try_get(5)?,
        updated_by: row.try_get(6)?,
    })
}

fn age_of(row: &PgRow, column: usize) -> Result<f64, sqlx::Error> {
    Ok(row.try_get::<Option<f64>, _>(column)?.unwrap_or_default())
}
