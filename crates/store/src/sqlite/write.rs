//! Changes to definitions: all of a write or none, in one transaction with their signatures and audit entries.

use sqlx::sqlite::{SqliteConnection, SqlitePool};
use toolrail_core::{Action, Author, Change, Revision};

use super::failure::Failure;
use super::{audit, put, rows, triggers};
use crate::audit::chained;
use crate::effect::{Effect, check, key_of};

pub(super) const NOW: &str = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

const SWITCH: &str = "UPDATE mcp_tool SET enabled = ? WHERE rowid = ?";
const DELETE: &str = "DELETE FROM mcp_tool WHERE rowid = ?";
const DELETE_USES: &str = "DELETE FROM mcp_tool_use WHERE tenant = ? AND name_key = ?";

// After the changes, not with them: the trigger cannot tell a writer who signs with the same name from one who does not
// sign. The file is locked, so whatever is newer than the first change is ours.
const SIGN_ROWS: &str = "UPDATE mcp_tool SET updated_by = ? WHERE version > ?";
const SIGN_VERSIONS: &str = "UPDATE mcp_tool_history SET who = ?, address = ?, via = ? WHERE revision > ?";

/// Makes all the changes or none.
pub(super) async fn write(
    writer: &SqlitePool,
    changes: &[Change],
    author: &Author,
) -> Result<Revision, Failure> {
    // Immediate: a transaction that reads before it locks can be refused instead of being made to wait.
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    triggers::ensure(&mut transaction).await?;
    let before: Revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *transaction).await?;
    let at: String = sqlx::query_scalar(NOW).fetch_one(&mut *transaction).await?;
    let mut head = audit::end(&mut transaction).await?;
    let mut rest = changes;
    while let [first, others @ ..] = rest {
        let puts = put::run(rest);
        let made: Vec<Effect<'_>> = if puts.is_empty() {
            rest = others;
            make(&mut transaction, first).await?.into_iter().collect()
        } else {
            rest = &rest[puts.len()..];
            put::put_all(&mut transaction, puts).await?
        };
        let (entries, newest) = chained(made.iter().map(|made| made.entry(author, &at)), head);
        audit::append(&mut transaction, &entries).await?;
        head = newest;
    }
    let revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *transaction).await?;
    if revision != before {
        sign(&mut transaction, author, before).await?;
        audit::remember(&mut transaction, &head).await?;
    }
    transaction.commit().await?;
    Ok(revision)
}

/// Switches or removes a definition, if it is there.
async fn make<'a>(
    connection: &mut SqliteConnection,
    change: &'a Change,
) -> Result<Option<Effect<'a>>, Failure> {
    let key = key_of(change);
    let found = rows::find_to_change(connection, &key).await?;
    check(change, found.as_ref().map(|(_, row)| row))?;
    let Some((place, before)) = found else { return Ok(None) };
    match &change.action {
        Action::SetEnabled(enabled) => {
            sqlx::query(SWITCH).bind(enabled).bind(place).execute(&mut *connection).await?;
        }
        Action::Purge => {
            sqlx::query(DELETE).bind(place).execute(&mut *connection).await?;
            let query = sqlx::query(DELETE_USES).bind(key.tenant.unwrap_or_default()).bind(&key.name);
            query.execute(&mut *connection).await?;
        }
        // Those are made together with their neighbours.
        Action::Put { .. } => return Ok(None),
    }
    let revision = sqlx::query_scalar(rows::REVISION).fetch_one(connection).await?;
    Ok(Some(Effect::on(Some(before), change, revision)))
}

async fn sign(
    connection: &mut SqliteConnection,
    author: &Author,
    after: Revision,
) -> Result<(), sqlx::Error> {
    sqlx::query(SIGN_ROWS).bind(&author.who).bind(after).execute(&mut *connection).await?;
    sqlx::query(SIGN_VERSIONS)
        .bind(&author.who)
        .bind(&author.address)
        .bind(&author.via)
        .bind(after)
        .execute(connection)
        .await?;
    Ok(())
}
