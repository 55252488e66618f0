//! Changes to definitions: all of a write or none, in one transaction with their signatures and audit entries.

use sqlx::sqlite::{SqliteConnection, SqlitePool};
use toolrail_core::{
    Action, AuditEntry, Author, Change, Expected, Revision, Row, Standing, ToolKey, ToolName, audit_changes,
};

use super::{audit, rows};

const NOW: &str = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

const INSERT: &str = "INSERT INTO mcp_tool (tenant_id, name, enabled, config_json) VALUES (?, ?, ?, ?)";
const UPDATE: &str = "UPDATE mcp_tool SET name = ?, enabled = ?, config_json = ? WHERE rowid = ?";
const SWITCH: &str = "UPDATE mcp_tool SET enabled = ? WHERE rowid = ?";
const DELETE: &str = "DELETE FROM mcp_tool WHERE rowid = ?";
const DELETE_USES: &str = "DELETE FROM mcp_tool_use WHERE tenant = ? AND name_key = ?";

// After the changes, not with them: the trigger cannot tell a writer who signs with the same name from one who does not
// sign. The file is locked, so whatever is newer than the first change is ours.
const SIGN_ROWS: &str = "UPDATE mcp_tool SET updated_by = ? WHERE version > ?";
const SIGN_VERSIONS: &str = "UPDATE mcp_tool_history SET who = ?, address = ?, via = ? WHERE revision > ?";

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error("something else is there than was expected")]
    Conflict { name: String, expected: Expected, found: Option<Box<Row>> },
}

/// Makes all the changes or none.
pub(super) async fn write(
    writer: &SqlitePool,
    changes: &[Change],
    author: &Author,
) -> Result<Revision, WriteError> {
    // Immediate: a transaction that reads before it locks can be refused instead of being made to wait.
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let before: Revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *transaction).await?;
    let at: String = sqlx::query_scalar(NOW).fetch_one(&mut *transaction).await?;
    let mut revision = before;
    let mut head = audit::end(&mut transaction).await?;
    for change in changes {
        let Some(made) = make(&mut transaction, change).await? else { continue };
        revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *transaction).await?;
        let entry = made.entry(author, &at, revision).chained_to(&head);
        audit::append(&mut transaction, &entry).await?;
        head = entry.head();
    }
    if revision != before {
        sign(&mut transaction, author, before).await?;
        audit::remember(&mut transaction, &head).await?;
    }
    transaction.commit().await?;
    Ok(revision)
}

/// A change that had an effect.
struct Made<'a> {
    action: &'static str,
    tenant: Option<&'a str>,
    before: Option<Row>,
    change: &'a Change,
}

/// Makes one change, if it has an effect.
async fn make<'a>(
    connection: &mut SqliteConnection,
    change: &'a Change,
) -> Result<Option<Made<'a>>, WriteError> {
    // An empty tenant is none, as in the rows that others write.
    let tenant = change.tenant.as_deref().filter(|tenant| !tenant.is_empty());
    let key = ToolKey { tenant: tenant.map(str::to_owned), name: ToolName::fold(&change.name) };
    let found = rows::find_to_change(connection, &key).await?;
    check(change, found.as_ref().map(|(_, row)| row))?;
    let action = match (&change.action, &found) {
        (Action::Put { enabled, config_json }, None) => {
            let query = sqlx::query(INSERT).bind(tenant).bind(&change.name).bind(enabled).bind(config_json);
            query.execute(connection).await?;
            "create"
        }
        (Action::Put { enabled, config_json }, Some((place, _))) => {
            let query = sqlx::query(UPDATE).bind(&change.name).bind(enabled).bind(config_json).bind(place);
            query.execute(connection).await?;
            "update"
        }
        (Action::SetEnabled(enabled), Some((place, _))) => {
            sqlx::query(SWITCH).bind(enabled).bind(place).execute(connection).await?;
            if *enabled { "enable" } else { "disable" }
        }
        (Action::Purge, Some((place, _))) => {
            sqlx::query(DELETE).bind(place).execute(&mut *connection).await?;
            let query = sqlx::query(DELETE_USES).bind(tenant.unwrap_or_default()).bind(&key.name);
            query.execute(connection).await?;
            "purge"
        }
        (Action::SetEnabled(_) | Action::Purge, None) => return Ok(None),
    };
    Ok(Some(Made { action, tenant, before: found.map(|(_, row)| row), change }))
}

fn check(change: &Change, found: Option<&Row>) -> Result<(), WriteError> {
    let as_expected = match change.expected {
        Expected::Anything => true,
        Expected::Absent => found.is_none(),
        Expected::Version(version) => found.is_some_and(|row| row.version == version),
    };
    if as_expected {
        return Ok(());
    }
    let (name, found) = (change.name.clone(), found.cloned().map(Box::new));
    Err(WriteError::Conflict { name, expected: change.expected, found })
}

impl Made<'_> {
    fn entry(&self, author: &Author, at: &str, revision: Revision) -> AuditEntry {
        let before =
            self.before.as_ref().map(|row| Standing { enabled: row.enabled, config_json: &row.config_json });
        let after = match &self.change.action {
            Action::Put { enabled, config_json } => Some(Standing { enabled: *enabled, config_json }),
            Action::SetEnabled(enabled) => before.map(|before| Standing { enabled: *enabled, ..before }),
            Action::Purge => None,
        };
        let name = match (&self.change.action, &self.before) {
            (Action::SetEnabled(_) | Action::Purge, Some(row)) => row.name.clone(),
            _ => self.change.name.clone(),
        };
        AuditEntry {
            number: 0,
            at: at.to_owned(),
            who: author.who.clone(),
            address: author.address.clone(),
            via: author.via.clone(),
            action: self.action.to_owned(),
            tenant: self.tenant.map(str::to_owned),
            name,
            revision,
            changes: audit_changes(before, after),
            previous: String::new(),
            hash: String::new(),
        }
    }
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
