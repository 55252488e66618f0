//! What goes wrong with a file, before it is told as an error of the store.

use toolrail_core::StoreError;

use super::place::Place;
use crate::keys::KeyError;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failure {
    /// As the error of the store at that place.
    pub(super) fn of(self, place: &Place) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Key(error) => place.failed(error),
            Self::Sql(error) => match refusal(&error) {
                Some(reason) => StoreError::Refused { store: place.describe(), reason },
                None => place.failed(error),
            },
        }
    }
}

/// Whether another process holds the lock.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    // SQLITE_BUSY.
    code(error) == Some(5)
}

/// What the database said, if it took offence at what was to be written: it is too large, a constraint or a trigger's own rule
/// forbids it, or its type is wrong.
fn refusal(error: &sqlx::Error) -> Option<String> {
    let answer = error.as_database_error()?;
    matches!(code(error), Some(18..=20)).then(|| answer.message().to_owned())
}

/// The primary code, which is the low byte of the extended one (<https://sqlite.org/rescode.html>).
fn code(error: &sqlx::Error) -> Option<i32> {
    let extended = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    Some(extended & 0xff)
}
