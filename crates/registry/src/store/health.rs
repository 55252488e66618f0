//! Whether the store takes writes: noted when one fails, and tried again and again until one succeeds, so that readiness
//! tells the truth without anybody asking for a change.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use toolrail_core::{Forget, StoreError, UseStore, rfc3339};

/// Since when and why something takes no writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// Why.
    pub reason: String,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

/// How writing goes.
#[derive(Default)]
pub(crate) struct WriteHealth {
    failure: Mutex<Option<WriteFailure>>,
    bell: Notify,
}

impl WriteHealth {
    /// Notes how a write ended. A store that refuses one change may take others.
    pub(crate) fn note<T>(&self, written: &Result<T, StoreError>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(_) => {
                if failure.take().is_some() {
                    tracing::info!("the store can be written again");
                }
            }
            Err(StoreError::Unavailable { source, .. }) => {
                let reason = source.to_string();
                if failure.is_none() {
                    tracing::error!(%reason, "the store cannot be written; it is tried again and again");
                }
                *failure = Some(WriteFailure::going_on(failure.take(), reason));
                self.bell.notify_one();
            }
            Err(_) => {}
        }
    }

    /// Since when and why the store takes no writes, if the last one failed.
    pub(crate) fn failure(&self) -> Option<WriteFailure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tries to write while writing fails, so often, until the future is dropped.
    pub(crate) async fn follow(&self, store: &dyn UseStore, every: Duration) {
        loop {
            self.bell.notified().await;
            while self.failure().is_some() {
                tokio::time::sleep(every).await;
                // Forgets nothing, in a transaction that is written all the same.
                let tried = store.forget_queries(&Forget::Tools(Vec::new())).await;
                self.note(&tried);
            }
        }
    }
}

impl WriteFailure {
    /// The same failure for another reason, or one that begins now.
    pub(crate) fn going_on(before: Option<Self>, reason: String) -> Self {
        let since = before.map_or_else(|| rfc3339(SystemTime::now()), |before| before.since);
        Self { reason, since }
    }
}
