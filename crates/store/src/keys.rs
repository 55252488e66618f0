//! What the databases share of the keys that gateways have in common: how one is made, and what a stored one must be.

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("the system has no randomness to give: {0}")]
    Randomness(#[from] getrandom::Error),
    #[error("its key {name:?} in the table toolrail_keys has {length} bytes instead of 32; delete that row")]
    Length { name: String, length: usize },
}

/// A key that nobody has yet.
pub(crate) fn new_key() -> Result<[u8; 32], KeyError> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(key)
}

/// The key of that name, as it was stored.
pub(crate) fn stored_key(name: &str, bytes: Vec<u8>) -> Result<[u8; 32], KeyError> {
    let length = bytes.len();
    bytes.try_into().map_err(|_| KeyError::Length { name: name.to_owned(), length })
}
