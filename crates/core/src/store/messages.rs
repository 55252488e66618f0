//! What gateways on one store tell each other: messages for one of them, news for all.

use std::time::Duration;

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
