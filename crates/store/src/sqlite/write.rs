//! Changes to definitions: all of a write or none, in one transaction with their signatures and audit entries.

use sqlx::sqlite::{SqliteConnection, SqlitePool};
use toolrail_core::{
    Action, AuditEntry, AuditHead, Author, Change, Expected, Revision, Row, Standing, ToolKey, ToolName,
    audit_changes,
};

use super::{audit, put, rows, triggers};

const NOW: &str = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

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
    triggers::ensure(&mut transaction).await?;
    let before: Revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *transaction).await?;
    let at: String = sqlx::query_scalar(NOW).fetch_one(&mut *transaction).await?;
    let mut head = audit::end(&mut transaction).await?;
    let mut rest = changes;
    while let [first, others @ ..] = rest {
        let puts = put::run(rest);
        let made = if puts.is_empty() {
            rest = others;
            make(&mut transaction, first).await?.into_iter().collect()
        } else {
            rest = &rest[puts.len()..];
            put::put_all(&mut transaction, puts).await?
        };
        head = enter(&mut transaction, &made, (author, &at), head).await?;
    }
    let revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *transaction).await?;
    if revision != before {
        sign(&mut transaction, author, before).await?;
        audit::remember(&mut transaction, &head).await?;
    }
    transaction.commit().await?;
    Ok(revision)
}

async fn enter(
    connection: &mut SqliteConnection,
    made: &[Made<'_>],
    (author, at): (&Author, &str),
    mut head: AuditHead,
) -> Result<AuditHead, sqlx::Error> {
    let chained = |made: &Made<'_>| {
        let entry = made.entry(author, at).chained_to(&head);
        head = entry.head();
        entry
    };
    let entries: Vec<AuditEntry> = made.iter().map(chained).collect();
    audit::append(connection, &entries).await?;
    Ok(head)
}

/// A change that had an effect.
pub(super) struct Made<'a> {
    pub(super) action: &'static str,
    pub(super) change: &'a Change,
    pub(super) before: Option<Row>,
    pub(super) revision: Revision,
}

/// What a change is to be made to. An empty tenant is none, as in the rows that others write.
pub(super) fn key_of(change: &Change) -> ToolKey {
    let tenant = change.tenant.clone().filter(|tenant| !tenant.is_empty());
    ToolKey { tenant, name: ToolName::fold(&change.name) }
}

/// Switches or removes a definition, if it is there.
async fn make<'a>(
    connection: &mut SqliteConnection,
    change: &'a Change,
) -> Result<Option<Made<'a>>, WriteError> {
    let key = key_of(change);
    let found = rows::find_to_change(connection, &key).await?;
    check(change, found.as_ref().map(|(_, row)| row))?;
    let Some((place, before)) = found else { return Ok(None) };
    let action = match &change.action {
        Action::SetEnabled(enabled) => {
            sqlx::query(SWITCH).bind(enabled).bind(place).execute(&mut *connection).await?;
            if *enabled { "enable" } else { "disable" }
        }
        Action::Purge => {
            sqlx::query(DELETE).bind(place).execute(&mut *connection).await?;
            let query = sqlx::query(DELETE_USES).bind(key.tenant.unwrap_or_default()).bind(&key.name);
            query.execute(&mut *connection).await?;
            "purge"
        }
        // Those are made together with their neighbours.
        Action::Put { .. } => return Ok(None),
    };
    let revision = sqlx::query_scalar(rows::REVISION).fetch_one(connection).await?;
    Ok(Some(Made { action, change, before: Some(before), revision }))
}

/// Refuses a change if something else is there than it expects.
pub(super) fn check(change: &Change, found: Option<&Row>) -> Result<(), WriteError> {
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
    fn entry(&self, author: &Author, at: &str) -> AuditEntry {
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
            tenant: key_of(self.change).tenant,
            name,
            revision: self.revision,
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
