//! Creates and replaces definitions, many with one statement: a statement for each would take most of the time of an
//! import.

use std::collections::HashSet;

use sqlx::QueryBuilder;
use sqlx::sqlite::{Sqlite, SqliteConnection};
use toolrail_core::{Action, Change, Revision, Row, ToolKey};

use super::failure::Failure;
use super::rows;
use crate::effect::{Effect, check, key_of};

/// The most that are put at once.
const AT_ONCE: usize = 200;

/// The most bytes of definitions that are put at once, unless one alone has more: each is copied for the statement.
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

/// The first changes, as far as they put definitions and each another one.
pub(super) fn run(changes: &[Change]) -> &[Change] {
    let (mut keys, mut bytes) = (HashSet::new(), 0);
    let fits = |change: &&Change| match &change.action {
        Action::Put { config_json, .. } => {
            bytes += config_json.len();
            (bytes <= BYTES_AT_ONCE || keys.is_empty()) && keys.insert(key_of(change))
        }
        Action::SetEnabled(_) | Action::Purge => false,
    };
    let length = changes.iter().take(AT_ONCE).take_while(fits).count();
    &changes[..length]
}

/// A definition to put.
struct Put<'a> {
    change: &'a Change,
    enabled: bool,
    config_json: &'a str,
    key: ToolKey,
    /// What is there, and where.
    found: Option<(i64, Row)>,
}

/// Puts all of a run, and tells them in the order of their versions.
pub(super) async fn put_all<'a>(
    connection: &mut SqliteConnection,
    changes: &'a [Change],
) -> Result<Vec<Effect<'a>>, Failure> {
    let keys: Vec<ToolKey> = changes.iter().map(key_of).collect();
    let mut found = rows::find_all_to_change(connection, &keys).await?;
    let mut puts = Vec::with_capacity(changes.len());
    for (change, key) in changes.iter().zip(keys) {
        let Action::Put { enabled, config_json } = &change.action else { continue };
        let found = found.remove(&key);
        check(change, found.as_ref().map(|(_, row)| row))?;
        puts.push(Put { change, enabled: *enabled, config_json, key, found });
    }
    let before: Revision = sqlx::query_scalar(rows::REVISION).fetch_one(&mut *connection).await?;
    for same in puts.chunk_by(|one, next| one.found.is_some() == next.found.is_some()) {
        if same.first().is_some_and(|put| put.found.is_some()) {
            update(connection, same).await?;
        } else {
            insert(connection, same).await?;
        }
    }
    let versions = rows::versions_after(connection, before).await?;
    let made = |put: Put<'a>| {
        let revision = versions.get(&put.key).copied().unwrap_or(before);
        Effect::on(put.found.map(|(_, row)| row), put.change, revision)
    };
    let mut made: Vec<Effect<'a>> = puts.into_iter().map(made).collect();
    // One statement may update in an order of its own.
    made.sort_by_key(|made| made.revision);
    Ok(made)
}

async fn insert(connection: &mut SqliteConnection, puts: &[Put<'_>]) -> Result<(), sqlx::Error> {
    let mut query =
        QueryBuilder::<Sqlite>::new("INSERT INTO mcp_tool (tenant_id, name, enabled, config_json) ");
    query.push_values(puts, |mut row, put| {
        row.push_bind(put.key.tenant.as_deref()).push_bind(&put.change.name);
        row.push_bind(put.enabled).push_bind(put.config_json);
    });
    query.build().persistent(puts.len() == 1).execute(connection).await?;
    Ok(())
}

async fn update(connection: &mut SqliteConnection, puts: &[Put<'_>]) -> Result<(), sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new("WITH put (place, name, enabled, config_json) AS (");
    query.push_values(puts, |mut row, put| {
        row.push_bind(put.found.as_ref().map(|(place, _)| *place)).push_bind(&put.change.name);
        row.push_bind(put.enabled).push_bind(put.config_json);
    });
    query.push(
        ") UPDATE mcp_tool SET name = put.name, enabled = put.enabled, config_json = put.config_json \
         FROM put WHERE mcp_tool.rowid = put.place",
    );
    query.build().persistent(puts.len() == 1).execute(connection).await?;
    Ok(())
}
