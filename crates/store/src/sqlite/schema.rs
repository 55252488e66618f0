//! The schema's versions and how a file gets from one to the next. Append a file to `MIGRATIONS`; never change one.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection};

use super::adopt::{self, UnusableTable};
use super::unique::{self, UniqueError};

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_tools.sql"),
    include_str!("migrations/0002_keys.sql"),
    include_str!("migrations/0003_messages.sql"),
    include_str!("migrations/0004_kinds_of_news.sql"),
    include_str!("migrations/0005_tenants_history_audit.sql"),
    include_str!("migrations/0006_learnt.sql"),
    include_str!("migrations/0007_records.sql"),
];

/// Why a file could not be brought to the newest version.
#[derive(Debug, thiserror::Error)]
pub(super) enum MigrateError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Table(#[from] UnusableTable),
    #[error(transparent)]
    Unique(UniqueError),
    #[error("schema version {found} is newer than {known}")]
    TooNew { found: i64, known: i64 },
}

impl From<UniqueError> for MigrateError {
    fn from(error: UniqueError) -> Self {
        match error {
            UniqueError::Sql(error) => Self::Sql(error),
            stays @ UniqueError::Stays => Self::Unique(stays),
        }
    }
}

/// Applies what is missing, each version in a transaction of its own, so that processes starting at once take turns.
/// Foreign keys must not be enforced on the connection: others may point to a table that is made anew.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    while next_version(connection).await?.is_some() {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        // Another process may have been quicker while this one waited for the lock.
        if let Some((version, sql)) = next_version(&mut transaction).await? {
            before(version, &mut transaction).await?;
            sqlx::raw_sql(sql).execute(&mut *transaction).await?;
            sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA user_version = {version}")))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
    }
    Ok(())
}

/// What depends on the table as it was found.
async fn before(version: usize, connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    match version {
        1 => adopt::prepare(connection).await,
        5 => {
            // The table of another program keeps its constraint as long as it can: that program may rely on it.
            if unique::is_ours(connection, MIGRATIONS[0]).await? {
                unique::drop_unique_name(connection).await?;
            }
            Ok(adopt::add_tenant(connection).await?)
        }
        _ => Ok(()),
    }
}

async fn next_version(
    connection: &mut SqliteConnection,
) -> Result<Option<(usize, &'static str)>, MigrateError> {
    let found: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match usize::try_from(found) {
        Ok(applied) if applied <= MIGRATIONS.len() => {
            Ok(MIGRATIONS.get(applied).map(|sql| (applied + 1, *sql)))
        }
        _ => Err(MigrateError::TooNew { found, known }),
    }
}
