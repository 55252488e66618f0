//! What the databases share of messages between gateways: which are refused, and how long they are worth reading.

use toolrail_core::{MailLimits, NewsKind, StoreError};

const LIMITS: MailLimits = MailLimits::ALL;

/// What became of a message.
pub(crate) enum Left {
    Taken,
    TooLarge,
    NoRoom,
}

impl Left {
    /// As that store tells whoever left it.
    pub(crate) fn told(self, store: String, topic: &str) -> Result<(), StoreError> {
        let reason = match self {
            Self::Taken => return Ok(()),
            Self::TooLarge => "it is larger than 1 MiB; split it",
            Self::NoRoom => "too many messages lie there; nobody may be collecting them",
        };
        Err(StoreError::Undelivered { store, topic: topic.to_owned(), reason })
    }
}

/// Whether a message may be left at all.
pub(crate) fn fits(body: &[u8]) -> bool {
    body.len() <= LIMITS.largest
}

/// The second from which on messages are still worth reading.
pub(crate) fn oldest(now: i64) -> i64 {
    now.saturating_sub_unsigned(LIMITS.kept.as_secs())
}

/// Refuses news of which one is too large.
pub(crate) fn check_news(bodies: &[Vec<u8>], store: impl FnOnce() -> String) -> Result<(), StoreError> {
    if bodies.iter().all(|body| body.len() <= LIMITS.largest_news) {
        return Ok(());
    }
    let (topic, reason) = ("everybody".to_owned(), "it is larger than 4 KiB");
    Err(StoreError::Undelivered { store: store(), topic, reason })
}

/// How a kind of news is stored.
pub(crate) fn kind_number(kind: NewsKind) -> i16 {
    match kind {
        NewsKind::Lasting => 0,
        NewsKind::Passing => 1,
    }
}
