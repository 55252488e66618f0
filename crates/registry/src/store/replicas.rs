//! What the replicas of a gateway share through their store: keys, for signing what clients carry from one to another, and
//! messages.

use std::sync::Arc;

use toolrail_core::{News, NewsKind, ReplicaStore, StoreError};

/// The other gateways on the same store.
pub struct Replicas {
    store: Arc<dyn ReplicaStore>,
}

impl Replicas {
    pub(crate) fn new(store: Arc<dyn ReplicaStore>) -> Self {
        Self { store }
    }

    /// The key of that name, made on first use.
    pub async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.store.shared_key(name).await
    }

    /// Leaves a message for whoever collects that topic.
    pub async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError> {
        self.store.leave(topic, body).await
    }

    /// Takes the oldest messages of a topic, in the order in which they were left.
    pub async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.store.collect(topic).await
    }

    /// Tells every replica.
    pub async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        self.store.announce(kind, bodies).await
    }

    /// The oldest news after that number, in order.
    pub async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError> {
        self.store.news_after(number).await
    }
}
