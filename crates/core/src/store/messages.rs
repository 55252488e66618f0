//! What gateways on one store tell each other: messages for one of them, news for all.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;

/// What a store takes of messages between gateways.
#[derive(Clone, Copy, Debug)]
pub struct MailLimits {
    /// The most bytes of one message.
    pub largest: usize,
    /// The most messages that lie there for one topic.
    pub most_of_a_topic: u32,
    /// The most messages that lie there in all.
    pub most: u32,
    /// The most bytes that lie there for one topic.
    pub most_bytes_of_a_topic: u32,
    /// The most bytes that lie there in all.
    pub most_bytes: u32,
    /// How long a message lies there.
    pub kept: Duration,
    /// The most messages that are collected at once.
    pub at_once: u32,
    /// The most bytes of one piece of news.
    pub largest_news: usize,
    /// How many pieces of news are kept of each kind: the newest.
    pub most_news: u32,
    /// The most pieces of news that are read at once.
    pub news_at_once: u32,
}

impl MailLimits {
    /// Those of every store.
    pub const ALL: Self = Self {
        largest: 1024 * 1024,
        most_of_a_topic: 200,
        most: 2_000,
        most_bytes_of_a_topic: 32 * 1024 * 1024,
        most_bytes: 64 * 1024 * 1024,
        kept: Duration::from_mins(1),
        at_once: 32,
        largest_news: 4 * 1024,
        most_news: 10_000,
        news_at_once: 1_000,
    };
}

/// How long news matter. Those of one kind never push out those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewsKind {
    /// Also to a gateway that starts much later.
    Lasting,
    /// For a moment only.
    Passing,
}

/// Something that every gateway on a store is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Its place in the order of all news.
    pub number: i64,
    /// What is told.
    pub body: Vec<u8>,
}

/// What the gateways on a store share beside definitions: keys, messages for one of them, and news for all.
#[async_trait]
pub trait ReplicaStore: Send + Sync {
    /// The key of that name, made of the system's randomness on first use. Everybody who uses the store gets the same.
    async fn shared_key(&self, name: &str) -> Result<[u8; 32], StoreError>;

    /// Leaves a message for whoever collects that topic, within [`MailLimits::ALL`]. Changes no definition, hence no
    /// revision.
    async fn leave(&self, topic: &str, body: &[u8]) -> Result<(), StoreError>;

    /// Takes the oldest messages of a topic, in the order in which they were left. Each is given to one collector only, and
    /// to none when it has lain for too long.
    async fn collect(&self, topic: &str) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Tells everybody on the store, in one write. Changes no definition, hence no revision.
    async fn announce(&self, kind: NewsKind, bodies: &[Vec<u8>]) -> Result<(), StoreError>;

    /// The oldest news after that number, in order; from 0 on, all that are kept. Whoever goes on from the last number he
    /// got misses none, unless more have come than are kept.
    async fn news_after(&self, number: i64) -> Result<Vec<News>, StoreError>;
}
