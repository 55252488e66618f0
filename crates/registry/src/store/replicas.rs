//! What the replicas of a gateway share through their store: keys, for signing what clients carry from one to another, and
//! messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use toolrail_core::{News, NewsKind, Store, StoreError};

/// The other gateways on the same store.
pub struct Replicas {
    store: Option<Arc<dyn Store>>,
    /// Keys of this process, where there is no store to keep them.
    keys: Mutex<BTreeMap<String, [u8; 32]>>,
}

impl Replicas {
    pub(crate) fn new(store: Option<Arc<dyn Store>>) -> Self {
        Self { store, keys: Mutex::default() }
    }

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

    /// Leaves a message for whoever collects that topic; fails where there is no store, hence no other replica.
    pub async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        match &self.store {
            Some(store) => store.leave(topic, body).await,
            None => Err(StoreError::Undelivered {
                store: "in memory".to_owned(),
                topic: topic.to_owned(),
                reason: "no other gateway uses this store",
            }),
        }
    }

    /// Takes the oldest messages of a topic, in the order in which they were left.
    pub async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        match &self.store {
            Some(store) => store.collect(topic).await,
            None => Ok(Vec::new()),
        }
    }

    /// Tells every replica; nobody where there is no store.
    pub async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        match &self.store {
            Some(store) => store.announce(kind, bodies).await,
            None => Ok(()),
        }
    }

    /// The oldest news after that number, in order.
    pub async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        match &self.store {
            Some(store) => store.news_after(number).await,
            None => Ok(Vec::new()),
        }
    }
}
