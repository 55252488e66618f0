//! Keys that all gateways on one database share: whoever asks first makes one.

use sqlx::postgres::{PgConnection, PgPool};

use super::failure::Failure;
use super::pool::Lease;
use crate::keys::{new_key, stored_key};

const MAKE: &str = "INSERT INTO toolrail_keys (name, secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
const FIND: &str = "SELECT secret FROM toolrail_keys WHERE name = $1";

/// The key of that name, made now if there is none.
pub(super) async fn shared(pool: &PgPool, name: &str) -> Result<[u8; 32], Failure> {
    let mut lease = Lease::take(pool).await?;
    let connection = lease.connection()?;
    let found = match find(connection, name).await? {
        Some(found) => found,
        None => make(connection, name).await?,
    };
    lease.give_back();
    Ok(stored_key(name, found)?)
}

async fn make(connection: &mut PgConnection, name: &str) -> Result<Vec<u8>, Failure> {
    let key = new_key()?;
    // Of several who do this at once, the first wins and the others read what it wrote.
    sqlx::query(MAKE).bind(name).bind(key.as_slice()).execute(&mut *connection).await?;
    find(connection, name).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
}

async fn find(connection: &mut PgConnection, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    Ok(sqlx::query_scalar(FIND).bind(name).fetch_optional(connection).await?)
}
