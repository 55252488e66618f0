//! Keys that all gateways on one file share: whoever asks first makes one.

use sqlx::sqlite::SqlitePool;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error("the system has no randomness to give: {0}")]
    Randomness(#[from] getrandom::Error),
    #[error("its key {name:?} in the table toolrail_keys has {length} bytes instead of 32; delete that row")]
    Length { name: String, length: usize },
}

/// The key of that name, made now if there is none.
pub(super) async fn shared(
    readers: &SqlitePool,
    writer: &SqlitePool,
    name: &str,
) -> Result<[u8; 32], KeyError> {
    if let Some(key) = find(readers, name).await? {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    // Of several who do this at once, the first wins and the others read what it wrote.
    sqlx::query("INSERT OR IGNORE INTO toolrail_keys (name, secret) VALUES (?, ?)")
        .bind(name)
        .bind(key.as_slice())
        .execute(writer)
        .await?;
    find(writer, name).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
}

async fn find(pool: &SqlitePool, name: &str) -> Result<Option<[u8; 32]>, KeyError> {
    let query = sqlx::query_scalar("SELECT CAST(secret AS BLOB) FROM toolrail_keys WHERE name = ?");
    let found: Option<Vec<u8>> = query.bind(name).fetch_optional(pool).await?;
    let check = |bytes: Vec<u8>| {
        let length = bytes.len();
        bytes.try_into().map_err(|_| KeyError::Length { name: name.to_owned(), length })
    };
    found.map(check).transpose()
}
