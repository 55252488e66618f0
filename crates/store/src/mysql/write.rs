//! Writing: all changes or none, in one transaction that holds the revision locked from its first step, so that versions
//! become visible in the order of their numbers.

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, MySql, QueryBuilder, Row as _};
use toolrail_core::{Action, Author, Change, Revision, ToolKey};

use super::failure::{Failure, number};
use super::pieces::pieces;
use super::plan::{self, Deed, Rows, Step};
use super::pool::{Begun, begin_writing};
use super::rows::{row_of, select_rows, tenant_bytes, text};
use super::{audit, truncated};

const LOCK: &str = "SELECT version, DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%fZ'), \
    CAST(truncated OR (live > 0 AND NOT EXISTS (SELECT 1 FROM mcp_tool)) AS SIGNED) \
    FROM mcp_config_version WHERE id = 1 FOR UPDATE";
const REVISION: &str = "SELECT version FROM mcp_config_version WHERE id = 1";
const SIGN: &str =
    "UPDATE mcp_tool_history SET who = ?, address = ?, via = ? WHERE revision > ? AND revision <= ?";
const UNIQUE_NAMES: &str = "SELECT index_name FROM information_schema.statistics \
    WHERE table_schema = DATABASE() AND table_name = 'mcp_tool' AND non_unique = 0 AND index_name <> 'PRIMARY' \
    GROUP BY index_name HAVING count(*) = 1 AND lower(max(column_name)) = 'name'";

/// Makes the changes and returns the revision they lead to.
pub(super) async fn write(
    connection: &mut MySqlConnection,
    changes: &[Change],
    author: &Author,
) -> Result<Revision, Failure> {
    match write_once(connection, changes, author).await {
        Err(failure) if failure.number() == Some(number::DUPLICATE) => {
            if !release_names(connection).await? {
                return Err(failure);
            }
            write_once(connection, changes, author).await
        }
        done => done,
    }
}

async fn write_once(
    connection: &mut MySqlConnection,
    changes: &[Change],
    author: &Author,
) -> Result<Revision, Failure> {
    // The triggers put it into the rows: they cannot tell a writer who signs as the last one did from one who does not.
    sqlx::query("SET @toolrail_by = ?").bind(&author.who).execute(&mut *connection).await?;
    let mut transaction = begin_writing(connection).await?;
    let Locked { revision: before, at, lost } = lock(&mut transaction).await?;
    if lost {
        transaction.rollback().await?;
        truncated::bury(connection).await?;
        return Box::pin(write_once(connection, changes, author)).await;
    }
    let found = find_all(&mut transaction, changes).await?;
    let steps = match plan::plan(changes, found, before) {
        Ok(steps) => steps,
        Err(conflict) => {
            transaction.rollback().await?;
            return Err(conflict.into());
        }
    };
    let after = steps.last().map_or(before, |step| step.revision);
    for alike in steps.chunk_by(|one, next| one.deed == next.deed && one.deed == Deed::Create) {
        apply(&mut transaction, alike).await?;
    }
    let reached: Revision = sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?;
    if reached != after {
        let told = format!(
            "its revision is {reached} after a write that leads to {after}; look for triggers on mcp_tool that are not Toolrail's"
        );
        return Err(Failure::Told(told));
    }
    sign(&mut transaction, author, before..after).await?;
    audit::append(&mut transaction, steps.iter().map(|step| step.entry(author, &at)).collect()).await?;
    transaction.commit().await?;
    Ok(after)
}

/// What was found when the revision was locked.
struct Locked {
    revision: Revision,
    /// Now.
    at: String,
    /// Whether rows went without the triggers seeing it.
    lost: bool,
}

async fn lock(transaction: &mut Begun<'_>) -> Result<Locked, sqlx::Error> {
    let row = sqlx::query(LOCK).fetch_one(&mut **transaction).await?;
    Ok(Locked { revision: row.try_get(0)?, at: text(&row, 1)?, lost: row.try_get::<i64, _>(2)? != 0 })
}

async fn find_all(transaction: &mut Begun<'_>, changes: &[Change]) -> Result<Rows, sqlx::Error> {
    let mut keys: Vec<ToolKey> = changes.iter().map(plan::key).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut found = Rows::with_capacity(keys.len());
    for keys in pieces(&keys, |_| 0) {
        let mut select = QueryBuilder::<MySql>::new(select_rows!("WHERE (tenant_key, name_key) IN "));
        select.push_tuples(keys, |mut tuple, key| {
            tuple.push_bind(tenant_bytes(key)).push_bind(key.name.as_bytes());
        });
        for row in select.build().fetch_all(&mut **transaction).await? {
            let row = row_of(&row)?;
            let key = ToolKey { tenant: row.tenant.clone(), name: toolrail_core::ToolName::fold(&row.name) };
            found.insert(key, row);
        }
    }
    Ok(found)
}

async fn apply(transaction: &mut Begun<'_>, alike: &[Step<'_>]) -> Result<(), sqlx::Error> {
    let Some(step) = alike.first() else { return Ok(()) };
    let (tenant, name) = (tenant_bytes(&step.key), step.key.name.as_bytes());
    match (step.deed, &step.change.action) {
        (Deed::Create, _) => create(transaction, alike).await?,
        (Deed::Replace, Action::Put { enabled, config_json }) => {
            sqlx::query("UPDATE mcp_tool SET name = ?, enabled = ?, config_json = ? WHERE tenant_key = ? AND name_key = ?")
                .bind(&step.change.name)
                .bind(enabled)
                .bind(config_json)
                .bind(tenant)
                .bind(name)
                .execute(&mut **transaction)
                .await?;
        }
        (Deed::Switch, Action::SetEnabled(enabled)) => {
            sqlx::query("UPDATE mcp_tool SET enabled = ? WHERE tenant_key = ? AND name_key = ?")
                .bind(enabled)
                .bind(tenant)
                .bind(name)
                .execute(&mut **transaction)
                .await?;
        }
        (Deed::Replace | Deed::Switch | Deed::Remove, _) => {
            for sql in [
                "DELETE FROM mcp_tool WHERE tenant_key = ? AND name_key = ?",
                "DELETE FROM mcp_tool_use WHERE tenant_key = ? AND name_key = ?",
            ] {
                sqlx::query(sql).bind(tenant).bind(name).execute(&mut **transaction).await?;
            }
        }
    }
    Ok(())
}

async fn create(transaction: &mut Begun<'_>, steps: &[Step<'_>]) -> Result<(), sqlx::Error> {
    let bytes = |step: &Step<'_>| match &step.change.action {
        Action::Put { config_json, .. } => config_json.len(),
        Action::SetEnabled(_) | Action::Purge => 0,
    };
    for piece in pieces(steps, bytes) {
        let mut insert =
            QueryBuilder::<MySql>::new("INSERT INTO mcp_tool (tenant_id, name, enabled, config_json) ");
        insert.push_values(piece, |mut row, step| {
            if let Action::Put { enabled, config_json } = &step.change.action {
                row.push_bind(&step.key.tenant).push_bind(&step.change.name);
                row.push_bind(enabled).push_bind(config_json);
            }
        });
        insert.build().execute(&mut **transaction).await?;
    }
    Ok(())
}

/// Says who made the versions that the triggers have just entered.
async fn sign(
    transaction: &mut Begun<'_>,
    author: &Author,
    made: std::ops::Range<Revision>,
) -> Result<(), sqlx::Error> {
    sqlx::query(SIGN)
        .bind(&author.who)
        .bind(&author.address)
        .bind(&author.via)
        .bind(made.start)
        .bind(made.end)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

/// Lets two tenants have tools of one name: an adopted table may say that names are unique whoever they belong to, or
/// whatever accents they have. Our own index stays. Whether there was anything to do.
async fn release_names(connection: &mut MySqlConnection) -> Result<bool, Failure> {
    let indexes = sqlx::query(UNIQUE_NAMES).fetch_all(&mut *connection).await?;
    for index in &indexes {
        let index = text(index, 0)?;
        tracing::warn!(%index, "dropped a unique index of mcp_tool: names are unique within a tenant only");
        let index = index.replace('`', "``");
        let sql = format!("ALTER TABLE mcp_tool DROP INDEX `{index}`, ADD INDEX `{index}` (name)");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    Ok(!indexes.is_empty())
}
