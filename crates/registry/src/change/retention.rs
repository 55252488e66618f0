//! Forgetting what need not be kept of history, now and then.

use std::time::Duration;

use super::Changes;
use toolrail_core::Retention;

/// How often history is looked through.
const EVERY: Duration = Duration::from_hours(1);

impl Changes {
    /// Forgets old versions every hour until the future is dropped; does nothing if all are to be kept. Every replica
    /// may do that: what one has forgotten, another does not find.
    pub async fn keep_history(&self, retention: Retention) {
        if retention == Retention::default() {
            return std::future::pending().await;
        }
        let mut hours = tokio::time::interval(EVERY);
        hours.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            hours.tick().await;
            match self.store.forget(&retention).await {
                Ok(0) => {}
                Ok(versions) => tracing::info!(versions, "old versions of definitions were forgotten"),
                Err(error) => tracing::warn!(%error, "old versions of definitions could not be forgotten"),
            }
        }
    }
}
