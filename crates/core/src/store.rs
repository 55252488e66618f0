//! The store: where registered definitions are kept. One revision counts every change, whoever made it.

use std::time::Duration;

use async_trait::async_trait;

/// The counter of the whole store, +1 with every change.
pub type Revision = i64;

/// One definition as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name, as written.
    pub name: String,
    /// Whether it may be called.
    pub enabled: bool,
    /// The definition as JSON text; may be anything if another program wrote it.
    pub config_json: String,
    /// The revision at which this row last changed.
    pub version: Revision,
    /// When it last changed, RFC 3339 in UTC.
    pub updated_at: String,
    /// Who changed it last, if known.
    pub updated_by: Option<String>,
}

/// A change to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Create or replace.
    Put {
        /// The name, as written.
        name: String,
        /// Whether it may be called.
        enabled: bool,
        /// The definition as JSON text.
        config_json: String,
    },
    /// Switch on or off; no effect on an unknown name.
    SetEnabled {
        /// The name, in any case.
        name: String,
        /// Whether it may be called.
        enabled: bool,
    },
    /// Remove for good; no effect on an unknown name.
    Purge {
        /// The name, in any case.
        name: String,
    },
}

/// What changed after some revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The revision that these changes lead to.
    pub revision: Revision,
    /// Rows that were created or changed.
    pub rows: Vec<Row>,
    /// Folded names that were removed and have not come back.
    pub removed: Vec<String>,
}

/// How much a tool has been used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The folded name.
    pub name: String,
    /// How many calls, ever.
    pub count: i64,
    /// When last, RFC 3339 in UTC.
    pub last_used: String,
}

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

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened, read or written.
    #[error("the store {store} is unavailable: {source}")]
    Unavailable {
        /// Which store, without credentials.
        store: String,
        /// What its driver said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It was written by something newer.
    #[error(
        "the store {store} has schema version {found}, this program knows up to {known}; run the newer program, or restore a backup"
    )]
    TooNew {
        /// Which store.
        store: String,
        /// The schema version found.
        found: i64,
        /// The newest schema version known here.
        known: i64,
    },
    /// It takes no such message between gateways, or no more of them.
    #[error("the store {store} takes no message for {topic:?}: {reason}")]
    Undelivered {
        /// Which store.
        store: String,
        /// Who it was for.
        topic: String,
        /// Why not.
        reason: &'static str,
    },
}

/// A store. Every implementation passes the same behaviour suite.
#[async_trait]
pub trait Store: Send + Sync {
    /// Which store this is, for people; without credentials.
    fn describe(&self) -> String;

    /// The current revision.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// Everything that changed after `since`; with 0, everything there is.
    async fn changes_since(&self, since: Revision) -> Result<Changes, StoreError>;

    /// One row, by name in any case.
    async fn find(&self, name: &str) -> Result<Option<Row>, StoreError>;

    /// Makes all the changes or none, durably, and returns the revision they lead to. `by` says who makes them.
    async fn write(&self, changes: &[Change], by: &str) -> Result<Revision, StoreError>;

    /// Adds calls made just now to the count of each named tool. Changes no definition, hence no revision.
    async fn record_uses(&self, calls_by_name: &[(String, u32)]) -> Result<(), StoreError>;

    /// How much each tool has been used; a tool never used is absent.
    async fn usage(&self) -> Result<Vec<Usage>, StoreError>;

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
