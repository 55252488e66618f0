//! Keys that all replicas of a gateway share through their store, for signing what clients carry from one to another.

use toolrail_core::StoreError;

use crate::registry::Registry;

impl Registry {
    /// The key of that name, made on first use: that of the store, or one of this process where there is no store.
    pub async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        if let Some(store) = &self.store {
            return store.shared_key(name).await;
        }
        let mut keys = self.keys.lock().await;
        if let Some(key) = keys.get(name) {
            return Ok(*key);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| StoreError::Unavailable {
            store: "in memory".to_owned(),
            source: format!("the system has no randomness to give: {error}").into(),
        })?;
        keys.insert(name.to_owned(), key);
        Ok(key)
    }
}
