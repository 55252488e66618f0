//! Messages between the replicas of a gateway, by way of their store.

use toolrail_core::{News, NewsKind, StoreError};

use crate::registry::Registry;

impl Registry {
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
