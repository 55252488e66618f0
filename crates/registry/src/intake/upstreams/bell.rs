//! How it is heard that upstreams offer something else, or that one of their resources was updated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use toolrail_core::Changed;

use super::followed::Listener;
use crate::catalog::{Feed, Updated};

/// Says that an upstream offers something else than what is published.
#[derive(Default)]
pub(crate) struct OffersBell {
    rung: AtomicBool,
    /// Rings when it happens.
    pub(crate) bell: Arc<Notify>,
}

impl OffersBell {
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.bell.notify_one();
    }

    pub(crate) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Whether it was rung since the last time.
    pub(crate) fn take(&self) -> bool {
        self.rung.swap(false, Ordering::AcqRel)
    }
}

/// Hears of the changes of upstreams.
pub(crate) fn listener(offers: &Arc<OffersBell>, feed: &Arc<Feed>) -> Listener {
    let (offers, feed) = (Arc::clone(offers), Arc::clone(feed));
    Arc::new(move |of, changed| match changed {
        Changed::Offer => offers.ring(),
        Changed::Resource { uri, conversation } => {
            feed.tell(Updated {
                uri: uri.into(),
                of: of.cloned(),
                conversation: conversation.map(Into::into),
            });
        }
        Changed::Told { conversation, notice } => feed.notices.tell(&conversation, notice),
    })
}
