//! Keys that all gateways on one database share: whoever asks first makes one.

use sqlx::mysql::MySqlConnection;

use super::failure::Failure;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("the system has no randomness to give: {0}")]
    Randomness(#[from] getrandom::Error),
    #[error("its key {name:?} in the table toolrail_keys has {length} bytes instead of 32; delete that row")]
    Length { name: String, length: usize },
}

/// The key of that name, made now if there is none.
pub(super) async fn shared(connection: &mut MySqlConnection, name: &str) -> Result<[u8; 32], Failure> {
    if let Some(key) = find(connection, name).await? {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(KeyError::from)?;
    // Of several who do this at once, the first wins and the others read what it wrote.
    sqlx::query("INSERT IGNORE INTO toolrail_keys (name, secret) VALUES (?, ?)")
        .bind(name)
        .bind(key.as_slice())
        .execute(&mut *connection)
        .await?;
    find(connection, name).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
}

async fn find(connection: &mut MySqlConnection, name: &str) -> Result<Option<[u8; 32]>, Failure> {
    let query = sqlx::query_scalar("SELECT secret FROM toolrail_keys WHERE name = ?");
    let found: Option<Vec<u8>> = query.bind(name).fetch_optional(connection).await?;
    let check = |bytes: Vec<u8>| {
        let length = bytes.len();
        bytes.try_into().map_err(|_| KeyError::Length { name: name.to_owned(), length }.into())
    };
    found.map(check).transpose()
}
