//! What goes wrong with a server, in words that say what to do; which failures are worth another try.

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};
use toolrail_core::StoreError;

use super::rows::text;
use crate::keys::KeyError;

/// Numbers of the server's errors (<https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>).
pub(super) mod number {
    pub(in crate::mysql) const TOO_MANY_CONNECTIONS: u16 = 1040;
    pub(in crate::mysql) const NO_RIGHT_TO_DATABASE: u16 = 1044;
    pub(in crate::mysql) const UNKNOWN_DATABASE: u16 = 1049;
    pub(in crate::mysql) const DUPLICATE: u16 = 1062;
    pub(in crate::mysql) const ROW_TOO_LARGE: u16 = 1118;
    pub(in crate::mysql) const NO_RIGHT_TO_TABLE: u16 = 1142;
    pub(in crate::mysql) const NO_TABLE: u16 = 1146;
    pub(in crate::mysql) const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
    pub(in crate::mysql) const TOO_MANY_OF_THIS_USER: u16 = 1203;
    pub(in crate::mysql) const LOCK_WAIT: u16 = 1205;
    pub(in crate::mysql) const DEADLOCK: u16 = 1213;
    pub(in crate::mysql) const LIMIT_OF_THIS_USER: u16 = 1226;
    pub(in crate::mysql) const NO_RIGHT: u16 = 1227;
    pub(in crate::mysql) const CUT_OFF: u16 = 1265;
    pub(in crate::mysql) const NO_DEFAULT: u16 = 1364;
    pub(in crate::mysql) const WRONG_TEXT: u16 = 1366;
    pub(in crate::mysql) const TRIGGERS_NOT_TRUSTED: u16 = 1419;
    pub(in crate::mysql) const CHECK: u16 = 3819;
}

const LOCKED: &str = "another transaction holds a lock on its tables and does not end; find it with \
    SELECT trx_mysql_thread_id, trx_started FROM information_schema.innodb_trx ORDER BY trx_started, \
    and end it there or with KILL";

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("it did not answer within {0} seconds")]
    Late(u64),
    #[error("{0}")]
    Told(String),
    #[error("schema version {found} is newer than {known}")]
    TooNew { found: i64, known: i64 },
    #[error(
        "its table mcp_tool has lost Toolrail's triggers, as when it is swapped or restored by itself, and they could not be \
         made anew at once; try again"
    )]
    Unwatched,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failure {
    /// As the error of the store of that description.
    pub(super) fn of(self, store: String) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::TooNew { found, known } => StoreError::TooNew { store, found, known },
            Self::Sql(error) if is_about_data(&error) => {
                let answer = error.as_database_error().map(|answer| answer.message().to_owned());
                StoreError::Refused { store, reason: answer.unwrap_or_default() }
            }
            Self::Sql(error) if number_of(&error) == Some(number::LOCK_WAIT) => {
                StoreError::Unavailable { store, source: Box::new(Self::Told(LOCKED.into())) }
            }
            other => StoreError::Unavailable { store, source: Box::new(other) },
        }
    }

    /// How often to try in all: more than once if somebody else was in the way. Waiting for a lock has taken seconds.
    pub(super) fn tries(&self) -> u32 {
        match self.number() {
            Some(number::DEADLOCK) => 16,
            Some(number::LOCK_WAIT) => 2,
            _ => 1,
        }
    }

    /// Whether the server, or we, said no, so that the connection is as good as before.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Told(_) | Self::Key(_) | Self::Unwatched)
            || self.number().is_some()
    }

    /// The number of the server's error.
    pub(super) fn number(&self) -> Option<u16> {
        match self {
            Self::Sql(error) => number_of(error),
            Self::Key(_)
            | Self::Late(_)
            | Self::Told(_)
            | Self::TooNew { .. }
            | Self::Unwatched
            | Self::Store(_) => None,
        }
    }
}

/// That the user lacks a right on the database, with the statement that grants it.
pub(super) async fn missing_right(
    connection: &mut MySqlConnection,
    right: &str,
    error: &sqlx::Error,
) -> Failure {
    let names = sqlx::query("SELECT DATABASE(), CURRENT_USER()").fetch_one(connection).await;
    let told = |column| names.as_ref().ok().and_then(|row| text(row, column).ok()).unwrap_or_default();
    let (database, user) = (told(0).replace('`', "``"), told(1).replace('@', "'@'"));
    Failure::Told(format!(
        "its user lacks a right there ({error}); as an administrator run: GRANT {right} ON `{database}`.* TO '{user}'"
    ))
}

/// Whether the server takes no more connections just now.
pub(super) fn is_full(error: &sqlx::Error) -> bool {
    use number::{LIMIT_OF_THIS_USER, TOO_MANY_CONNECTIONS, TOO_MANY_OF_THIS_USER};
    matches!(number_of(error), Some(TOO_MANY_CONNECTIONS | TOO_MANY_OF_THIS_USER | LIMIT_OF_THIS_USER))
}

/// The number of the server's error, if the server refused.
pub(super) fn number_of(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

/// Whether the server took offence at what was to be written: a value (22), a constraint (23), a trigger's own rule (45).
/// Some of these have no class of their own.
fn is_about_data(error: &sqlx::Error) -> bool {
    use number::{CHECK, CUT_OFF, NO_DEFAULT, ROW_TOO_LARGE, WRONG_TEXT};
    let state = error.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default();
    ["22", "23", "45"].iter().any(|class| state.starts_with(class))
        || matches!(number_of(error), Some(CHECK | CUT_OFF | NO_DEFAULT | ROW_TOO_LARGE | WRONG_TEXT))
}
