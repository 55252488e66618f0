//! Writing: all changes or none, in one transaction that holds the revision locked from its first step, so that versions
//! become visible in the order of their numbers.

use std::collections::HashSet;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, MySql, QueryBuilder, Row as _};
use toolrail_core::{Author, Change, Revision, ToolKey};

use super::failure::{Failure, number};
use super::pieces::pieces;
use super::plan::{self, Deed, Rows, Step};
use super::pool::{Begun, begin_writing};
use super::rows::{row_of, select_rows, tenant_bytes, text, time};
use super::{audit, rows, triggers, truncated};
use crate::commit::Commit;
use crate::effect::key_of;

const LOOK: &str = "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR), \
    CAST(truncated OR (live > 0 AND NOT EXISTS (SELECT 1 FROM mcp_tool)) AS SIGNED) \
    FROM mcp_config_version WHERE id = 1";
const REVISION: &str = "SELECT CAST(version AS SIGNED) FROM mcp_config_version WHERE id = 1";
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
    commit: &Commit,
) -> Result<Revision, Failure> {
    match write_once(connection, changes, author, commit).await {
        Err(failure) if failure.number() == Some(number::DUPLICATE) => {
            if !release_names(connection).await? {
                // Without a trigger of ours the number of a version may be taken.
                let is_watched = triggers::are_there(connection).await?;
                return Err(if is_watched { failure } else { Failure::Unwatched });
            }
            write_once(connection, changes, author, commit).await
        }
        done => done,
    }
}

async fn write_once(
    connection: &mut MySqlConnection,
    changes: &[Change],
    author: &Author,
    commit: &Commit,
) -> Result<Revision, Failure> {
    // The triggers put it into the rows: they cannot tell a writer who signs as the last one did from one who does not.
    sqlx::query("SET @toolrail_by = ?").bind(&author.who).execute(&mut *connection).await?;
    let mut transaction = begin_writing(connection).await?;
    lock_rows(&mut transaction, changes).await?;
    let Locked { revision: before, at, lost } = lock(&mut transaction).await?;
    if lost {
        transaction.rollback().await?;
        truncated::bury(connection).await?;
        return Box::pin(write_once(connection, changes, author, commit)).await;
    }
    let found = find_all(&mut transaction, changes).await?;
    let steps = match plan::plan(changes, found, before) {
        Ok(steps) => steps,
        Err(conflict) => {
            transaction.rollback().await?;
            return Err(conflict.into());
        }
    };
    let after = steps.last().map_or(before, |step| step.effect.revision);
    for steps in runs(&steps) {
        for piece in pieces(steps, |step| step.config_json().len()) {
            apply(&mut transaction, piece).await?;
        }
    }
    let reached: Revision = sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?;
    if reached != after {
        transaction.rollback().await?;
        return Err(miscounted(connection, reached, after).await?);
    }
    if sign(&mut transaction, author, before..after).await? < steps.len() as u64 {
        transaction.rollback().await?;
        return Err(Failure::Unwatched);
    }
    let entries = steps.iter().map(|step| step.effect.entry(author, &at)).collect();
    let last = audit::append(&mut transaction, entries).await?;
    commit.begin(last, after);
    transaction.commit().await?;
    Ok(after)
}

/// Why the triggers have not counted as they should.
async fn miscounted(
    connection: &mut MySqlConnection,
    reached: Revision,
    after: Revision,
) -> Result<Failure, Failure> {
    Ok(if triggers::are_there(connection).await? {
        Failure::Told(format!(
            "its revision is {reached} after a write that leads to {after}; look for triggers on mcp_tool that are not Toolrail's"
        ))
    } else {
        Failure::Unwatched
    })
}

/// Locks the rows that are there before the revision, as whoever changes or deletes one by plain SQL does: with the other
/// order, each could wait for the other.
async fn lock_rows(transaction: &mut Begun<'_>, changes: &[Change]) -> Result<(), sqlx::Error> {
    for keys in pieces(&keys_of(changes), |_| 0) {
        let mut select = QueryBuilder::<MySql>::new("SELECT version FROM mcp_tool ");
        select.push(BY_KEY).push(" WHERE ");
        of_keys(&mut select, keys.iter());
        select.push(" FOR UPDATE");
        select.build().execute(&mut **transaction).await?;
    }
    Ok(())
}

/// In one order for all who write several.
fn keys_of(changes: &[Change]) -> Vec<ToolKey> {
    let mut keys: Vec<ToolKey> = changes.iter().map(key_of).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
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
    let revision = rows::lock(transaction).await?;
    let row = sqlx::query(LOOK).fetch_one(&mut **transaction).await?;
    Ok(Locked { revision, at: time(&text(&row, 0)?), lost: row.try_get::<i64, _>(1)? != 0 })
}

async fn find_all(transaction: &mut Begun<'_>, changes: &[Change]) -> Result<Rows, sqlx::Error> {
    let keys = keys_of(changes);
    let mut found = Rows::with_capacity(keys.len());
    for keys in pieces(&keys, |_| 0) {
        let mut select = QueryBuilder::<MySql>::new(select_rows!("WHERE "));
        of_keys(&mut select, keys.iter());
        for row in select.build().fetch_all(&mut **transaction).await? {
            let row = row_of(&row)?;
            let key = ToolKey { tenant: row.tenant.clone(), name: toolrail_core::ToolName::fold(&row.name) };
            found.insert(key, row);
        }
    }
    Ok(found)
}

/// Steps that can be made by one statement: all of one kind, and no two on one row.
fn runs<'s, 'c>(steps: &'s [Step<'c>]) -> Vec<&'s [Step<'c>]> {
    let (mut runs, mut begin) = (Vec::new(), 0);
    let mut keys = HashSet::new();
    for (place, step) in steps.iter().enumerate() {
        if steps[begin].deed != step.deed || !keys.insert(&step.key) {
            runs.push(&steps[begin..place]);
            begin = place;
            keys.clear();
            keys.insert(&step.key);
        }
    }
    if begin < steps.len() {
        runs.push(&steps[begin..]);
    }
    runs
}

async fn apply(transaction: &mut Begun<'_>, steps: &[Step<'_>]) -> Result<(), sqlx::Error> {
    let Some(first) = steps.first() else { return Ok(()) };
    let mut sql = QueryBuilder::<MySql>::new("");
    match first.deed {
        Deed::Create => create(&mut sql, steps),
        Deed::Replace | Deed::Switch => change(&mut sql, steps),
        Deed::Remove if (2..=FEW).contains(&steps.len()) => {
            for step in steps.chunks(1) {
                Box::pin(apply(transaction, step)).await?;
            }
            return Ok(());
        }
        Deed::Remove => {
            sql.push("DELETE FROM mcp_tool");
            of_these(&mut sql, steps);
            in_their_order(&mut sql, steps);
        }
    }
    sql.build().execute(&mut **transaction).await?;
    if first.deed == Deed::Remove {
        let mut sql = QueryBuilder::<MySql>::new("DELETE FROM mcp_tool_use");
        of_these(&mut sql, steps);
        sql.build().execute(&mut **transaction).await?;
    }
    Ok(())
}

fn create(sql: &mut QueryBuilder<MySql>, steps: &[Step<'_>]) {
    sql.push("INSERT INTO mcp_tool (tenant_id, name, enabled, config_json) ");
    sql.push_values(steps, |mut row, step| {
        row.push_bind(step.key.tenant.clone()).push_bind(step.effect.name.clone());
        row.push_bind(step.enabled()).push_bind(step.config_json().to_owned());
    });
}

fn change(sql: &mut QueryBuilder<MySql>, steps: &[Step<'_>]) {
    sql.push("UPDATE mcp_tool ").push(BY_KEY).push(" SET enabled = ");
    each(sql, steps, |sql, step| {
        sql.push_bind(step.enabled());
    });
    if steps.iter().all(|step| step.deed == Deed::Replace) {
        sql.push(", name = ");
        each(sql, steps, |sql, step| {
            sql.push_bind(step.effect.name.clone());
        });
        sql.push(", config_json = ");
        each(sql, steps, |sql, step| {
            sql.push_bind(step.config_json().to_owned());
        });
    }
    of_these(sql, steps);
    in_their_order(sql, steps);
}

// Or the server may read a small table from its start, and wait for rows of others that wait for the revision. A statement
// that deletes cannot be told so: only with a single key, or with so many that it reads the whole table anyway, it does right.
const BY_KEY: &str = "FORCE INDEX (idx_mcp_tool_key)";
const FEW: usize = 32;

/// What tells one row from another, in one value.
const WHICH: &str = "CONCAT(tenant_key, x'00', name_key)";

fn which(step: &Step<'_>) -> Vec<u8> {
    [tenant_bytes(&step.key), b"\0", step.key.name.as_bytes()].concat()
}

/// A value of its own for each row.
fn each(
    sql: &mut QueryBuilder<MySql>,
    steps: &[Step<'_>],
    value: impl Fn(&mut QueryBuilder<MySql>, &Step<'_>),
) {
    sql.push("CASE ").push(WHICH);
    for step in steps {
        sql.push(" WHEN ").push_bind(which(step)).push(" THEN ");
        value(sql, step);
    }
    sql.push(" END");
}

// Written out, since not every server finds a list of pairs in an index.
fn of_these(sql: &mut QueryBuilder<MySql>, steps: &[Step<'_>]) {
    sql.push(" WHERE ");
    of_keys(sql, steps.iter().map(|step| &step.key));
}

/// Rows of those keys.
pub(super) fn of_keys<'k>(sql: &mut QueryBuilder<MySql>, keys: impl Iterator<Item = &'k ToolKey>) {
    for (place, key) in keys.enumerate() {
        sql.push(if place == 0 { "(tenant_key = " } else { " OR (tenant_key = " });
        sql.push_bind(tenant_bytes(key).to_vec()).push(" AND name_key = ");
        sql.push_bind(key.name.clone().into_bytes()).push(")");
    }
}

// The triggers number the rows as they come.
fn in_their_order(sql: &mut QueryBuilder<MySql>, steps: &[Step<'_>]) {
    sql.push(" ORDER BY FIELD(").push(WHICH);
    for step in steps {
        sql.push(", ").push_bind(which(step));
    }
    sql.push(")");
}

/// Says who made the versions that the triggers have just entered, and returns how many those are.
async fn sign(
    transaction: &mut Begun<'_>,
    author: &Author,
    made: std::ops::Range<Revision>,
) -> Result<u64, sqlx::Error> {
    let signed = sqlx::query(SIGN)
        .bind(&author.who)
        .bind(&author.address)
        .bind(&author.via)
        .bind(made.start)
        .bind(made.end)
        .execute(&mut **transaction)
        .await?;
    Ok(signed.rows_affected())
}

/// Lets two tenants have tools of one name: an adopted table may say that names are unique whoever they belong to, or
/// whatever accents they have. Our own index stays. Whether there was anything to do.
async fn release_names(connection: &mut MySqlConnection) -> Result<bool, Failure> {
    let indexes = sqlx::query(UNIQUE_NAMES).fetch_all(&mut *connection).await?;
    for index in &indexes {
        let index = text(index, 0)?;
        tracing::warn!(
            %index,
            "dropped a unique index of mcp_tool, because names are unique within a tenant only; \
             ON DUPLICATE KEY UPDATE and REPLACE of other programs find the shared tools only from now on"
        );
        let index = index.replace('`', "``");
        let sql = format!("ALTER TABLE mcp_tool DROP INDEX `{index}`, ADD INDEX `{index}` (name)");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    Ok(!indexes.is_empty())
}
