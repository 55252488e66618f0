//! What can go wrong with the server, before it is told as an error of the store. Nothing here knows a password.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use toolrail_core::StoreError;

use crate::keys::KeyError;

/// What went wrong.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the connection to it said so.
    Sql(sqlx::Error),
    /// The server did not answer in time.
    Slow(Duration),
    /// In words.
    Told(String),
    /// Already an error of the store.
    Store(StoreError),
}

impl Failure {
    pub(super) fn told(words: impl Into<String>) -> Self {
        Self::Told(words.into())
    }

    pub(super) fn slow(limit: Duration) -> Self {
        Self::Slow(limit)
    }

    /// The SQLSTATE, if the server gave one.
    pub(super) fn code(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Sql(error) => code(error),
            Self::Slow(_) | Self::Told(_) | Self::Store(_) => None,
        }
    }

    /// As the error of that store.
    pub(super) fn of(self, store: &str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(sqlx::Error::PoolTimedOut) => Self::told(
                "no connection could be had in time; the server does not answer, or it has none left to give",
            )
            .of(store),
            Self::Sql(error) if is_about_data(&error) => {
                StoreError::Refused { store: store.to_owned(), reason: told(&error) }
            }
            Self::Sql(error) => {
                StoreError::Unavailable { store: store.to_owned(), source: told(&error).into() }
            }
            Self::Slow(_) | Self::Told(_) => {
                StoreError::Unavailable { store: store.to_owned(), source: self.to_string().into() }
            }
        }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::Told(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(error) => formatter.write_str(&told(error)),
            Self::Slow(limit) => write!(formatter, "the server did not answer within {} s", limit.as_secs()),
            Self::Told(words) => formatter.write_str(words),
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

/// The SQLSTATE of an error (https://www.postgresql.org/docs/current/errcodes-appendix.html).
pub(super) fn code(error: &sqlx::Error) -> Option<Cow<'_, str>> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code)
}

/// What the server said. The driver would add a line number, which is one of the server's own source.
pub(super) fn told(error: &sqlx::Error) -> String {
    match error.as_database_error() {
        Some(answer) => answer.message().to_owned(),
        None => error.to_string(),
    }
}

/// Whether the server took offence at what was to be written: a value (22), a constraint (23), its size (54), or a
/// trigger's own rule.
fn is_about_data(error: &sqlx::Error) -> bool {
    let code = code(error).unwrap_or_default();
    ["22", "23", "54"].iter().any(|class| code.starts_with(class)) || code == "P0001"
}
