//! Keys that all gateways on one database share: whoever asks first makes one.

use sqlx::mysql::MySqlConnection;

use super::failure::Failure;
use crate::keys::{new_key, stored_key};

/// The key of that name, made now if there is none.
pub(super) async fn shared(connection: &mut MySqlConnection, name: &str) -> Result<[u8; 32], Failure> {
    if let Some(key) = find(connection, name).await? {
        return Ok(key);
    }
    let key = new_key()?;
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
    Ok(found.map(|bytes| stored_key(name, bytes)).transpose()?)
}
