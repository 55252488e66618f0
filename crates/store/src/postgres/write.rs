//! Our own writes: all changes in one transaction, with their signatures in the history and their audit entries.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{Connection, Row as _};
use tokio::time::{Instant, sleep};
use toolrail_core::{Action, Author, Change, Expected, Revision};

use super::audit::{self, About};
use super::failure::Failure;
use super::pool::Lease;
use super::rows::{self, REVISION};
use crate::commit::Commit;
use crate::effect::{Effect, conflict};
use crate::limits::{WRITING, writing};

/// How long a write that gave way to others is tried again; the last try may take the rest of a write's time.
const PATIENCE: Duration = Duration::from_secs(7);

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const APPLY: &str = "SELECT place, coalesce(refused, FALSE), at_revision, at, stored_name, enabled_before, \
    definition_before FROM toolrail_apply($1, $2, $3, $4, $5, $6, $7)";

/// Makes all the changes or none. Whoever is in the way for a moment is given way to, and the write made again.
pub(super) async fn write(
    pool: &PgPool,
    changes: &[Change],
    author: &Author,
    commit: &Commit,
) -> Result<Revision, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(5);
    loop {
        let failure = match attempt(pool, changes, author, commit).await {
            Ok(revision) => return Ok(revision),
            Err(failure) => failure,
        };
        match failure.code().as_deref() {
            // Deadlock, serialisation, a lock that was not to be had.
            Some("40P01" | "40001" | "55P03") if Instant::now() < deadline => {
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(200));
            }
            _ => return Err(failure),
        }
    }
}

async fn attempt(
    pool: &PgPool,
    changes: &[Change],
    author: &Author,
    commit: &Commit,
) -> Result<Revision, Failure> {
    let mut lease = Lease::take(pool).await?;
    let mut transaction = lease.connection()?.begin_with(BEGIN).await?;
    if writing(changes.len()) > WRITING {
        // One statement makes all of them; the driver's own limit is a little longer.
        let limit = writing(changes.len()).saturating_sub(Duration::from_secs(1)).as_millis().to_string();
        sqlx::query("SELECT set_config('statement_timeout', $1, TRUE)")
            .bind(limit)
            .execute(&mut *transaction)
            .await?;
    }
    let made = apply(&mut transaction, changes, author).await?;
    if let Some(refused) = made.iter().find(|made| made.refused) {
        let change = refused.effect.change;
        let found = rows::find_by(&mut transaction, change.tenant.as_deref(), &change.name).await?;
        transaction.rollback().await?;
        lease.give_back();
        return Err(conflict(change, found).into());
    }
    let entries = made.iter().map(|made| made.effect.entry(author, &made.at)).collect();
    let last = audit::append(&mut transaction, author, entries, About::Versions).await?;
    let revision = sqlx::query_scalar(REVISION).fetch_one(&mut *transaction).await?;
    commit.begin(last, revision);
    transaction.commit().await?;
    lease.give_back();
    Ok(revision)
}

/// A change that had an effect, or the one that was refused.
struct Made<'a> {
    effect: Effect<'a>,
    refused: bool,
    at: String,
}

impl<'a> Made<'a> {
    fn of(row: &PgRow, changes: &'a [Change]) -> Result<Self, sqlx::Error> {
        let place: i64 = row.try_get(0)?;
        let index = usize::try_from(place - 1).ok();
        let change = index.and_then(|index| changes.get(index)).ok_or(sqlx::Error::RowNotFound)?;
        let (enabled, definition): (Option<bool>, Option<String>) = (row.try_get(5)?, row.try_get(6)?);
        let effect = Effect {
            change,
            before: enabled.zip(definition),
            name: row.try_get::<Option<_>, _>(4)?.unwrap_or_default(),
            revision: row.try_get::<Option<_>, _>(2)?.unwrap_or_default(),
        };
        let at = row.try_get::<Option<_>, _>(3)?.unwrap_or_default();
        Ok(Self { effect, refused: row.try_get(1)?, at })
    }
}

async fn apply<'a>(
    connection: &mut PgConnection,
    changes: &'a [Change],
    author: &Author,
) -> Result<Vec<Made<'a>>, sqlx::Error> {
    let tenants: Vec<Option<&str>> = changes.iter().map(|change| change.tenant.as_deref()).collect();
    let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
    let expectations: Vec<Option<i64>> = changes.iter().map(|change| expectation(change.expected)).collect();
    let mut actions = Vec::with_capacity(changes.len());
    let mut switches = Vec::with_capacity(changes.len());
    let mut definitions = Vec::with_capacity(changes.len());
    for change in changes {
        let (action, switch, definition) = match &change.action {
            Action::Put { enabled, config_json } => ("put", Some(*enabled), Some(config_json.as_str())),
            Action::SetEnabled(enabled) => ("switch", Some(*enabled), None),
            Action::Purge => ("purge", None, None),
        };
        actions.push(action);
        switches.push(switch);
        definitions.push(definition);
    }
    let query = sqlx::query(APPLY)
        .bind(tenants)
        .bind(names)
        .bind(actions)
        .bind(switches)
        .bind(definitions)
        .bind(expectations)
        .bind(&author.who);
    query.fetch_all(connection).await?.iter().map(|row| Made::of(row, changes)).collect()
}

/// As `toolrail_apply` has it. No row has a version below 1, so such an expectation is never met.
fn expectation(expected: Expected) -> Option<i64> {
    match expected {
        Expected::Anything => None,
        Expected::Absent => Some(0),
        Expected::Version(version) => Some(if version > 0 { version } else { -1 }),
    }
}
