//! Following: sources that ring are looked at at once, the others now and then; changes that come in bursts are merged.

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::time::Instant;

use super::Intake;
use super::tracked::Tracked;
use crate::source_id::SourceId;

impl Intake {
    /// Follows the sources and the upstreams until the future is dropped.
    pub(crate) async fn follow(&self) {
        let mut following: Vec<BoxFuture<'_, ()>> = vec![
            Box::pin(self.follow_offers()),
            Box::pin(self.follow_last_good()),
            Box::pin(self.follow_journal()),
        ];
        following.extend(
            self.sources.iter().map(|tracked| -> BoxFuture<'_, ()> { Box::pin(self.follow_source(tracked)) }),
        );
        join_all(following).await;
    }

    async fn follow_source(&self, tracked: &Tracked) {
        loop {
            let begun = Instant::now();
            // Asked for each time: a store that was opened late has none before.
            if let Some(bell) = tracked.source.bell() {
                let poll = begun + self.settings.limits.poll;
                let rung = tokio::time::timeout_at(poll, bell.notified()).await.is_ok();
                if rung && tracked.source.id() == SourceId::Files {
                    tokio::time::sleep(self.settings.limits.settle).await;
                }
            } else {
                let is_store = tracked.source.id() == SourceId::Store;
                let every = if is_store { self.settings.limits.look } else { self.settings.limits.poll };
                tokio::time::sleep_until(begun + every).await;
            }
            tokio::time::sleep_until(tracked.next_look(self.settings.limits.window)).await;
            self.refresh_source(tracked).await;
        }
    }

    async fn follow_offers(&self) {
        /// An upstream that tells of several changes is given this long to finish.
        const SETTLE_OFFERS: Duration = Duration::from_millis(20);
        loop {
            self.offers.bell.notified().await;
            tokio::time::sleep(SETTLE_OFFERS).await;
            self.refresh_offers();
        }
    }
}
