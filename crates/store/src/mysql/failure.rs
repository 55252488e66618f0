//! What goes wrong with a server, in words that say what to do; which failures are worth another try.

use sqlx::mysql::MySqlDatabaseError;
use toolrail_core::StoreError;

use super::keys::KeyError;

/// Numbers of the server's errors (<https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>).
pub(super) mod number {
    pub(in crate::mysql) const TOO_MANY_CONNECTIONS: u16 = 1040;
    pub(in crate::mysql) const NO_RIGHT_TO_DATABASE: u16 = 1044;
    pub(in crate::mysql) const UNKNOWN_DATABASE: u16 = 1049;
    pub(in crate::mysql) const DUPLICATE: u16 = 1062;
    pub(in crate::mysql) const NO_RIGHT_TO_TABLE: u16 = 1142;
    pub(in crate::mysql) const NO_TABLE: u16 = 1146;
    pub(in crate::mysql) const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
    pub(in crate::mysql) const TOO_MANY_OF_THIS_USER: u16 = 1203;
    pub(in crate::mysql) const LOCK_WAIT: u16 = 1205;
    pub(in crate::mysql) const DEADLOCK: u16 = 1213;
    pub(in crate::mysql) const LIMIT_OF_THIS_USER: u16 = 1226;
    pub(in crate::mysql) const NO_RIGHT: u16 = 1227;
    pub(in crate::mysql) const TRIGGERS_NOT_TRUSTED: u16 = 1419;
}

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
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failure {
    /// As the error of the store of that description.
    pub(super) fn of(self, store: String) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::TooNew { found, known } => StoreError::TooNew { store, found, known },
            other => StoreError::Unavailable { store, source: Box::new(other) },
        }
    }

    /// Whether somebody else was in the way, so that the same may succeed next time.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self.number(), Some(number::DEADLOCK | number::LOCK_WAIT))
    }

    /// Whether the server, or we, said no, so that the connection is as good as before.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Told(_) | Self::Key(_)) || self.number().is_some()
    }

    /// The number of the server's error.
    pub(super) fn number(&self) -> Option<u16> {
        match self {
            Self::Sql(error) => number_of(error),
            Self::Key(_) | Self::Late(_) | Self::Told(_) | Self::TooNew { .. } | Self::Store(_) => None,
        }
    }
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
