//! Keeps up with the records of a store: it is asked a few times a second whether there are new ones, once for all who hold
//! some of them in memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use toolrail_core::{RecordListener, Store, StoreError};

/// How often the store is asked whether there is anything new.
const LOOK: Duration = Duration::from_millis(250);

/// Keeps up with the records of a store.
pub struct RecordFollower {
    store: Arc<dyn Store>,
    listeners: Vec<Arc<dyn RecordListener>>,
    /// Held while one reads: of two at once, the one that began first could bring back what the other has seen removed.
    place: Mutex<Place>,
}

/// How far it has read.
#[derive(Default)]
struct Place {
    /// The number of the newest record that was handed on.
    number: i64,
    /// Whether everybody has settled what he was handed.
    settled: bool,
}

impl RecordFollower {
    /// Hands the records of that store to those; nothing before the first look.
    pub fn new(store: Arc<dyn Store>, listeners: Vec<Arc<dyn RecordListener>>) -> Self {
        Self { store, listeners, place: Mutex::default() }
    }

    /// Hands on what is new.
    pub async fn look(&self) -> Result<(), StoreError> {
        let mut place = self.place.lock().await;
        let newest = self.store.record_number().await?;
        if place.settled && place.number == newest {
            return Ok(());
        }
        place.settled = false;
        let kinds: Vec<&str> = self.listeners.iter().flat_map(|listener| listener.kinds()).copied().collect();
        loop {
            let page = self.store.records_after(place.number, &kinds).await?;
            let Some(last) = page.last() else { break };
            for listener in &self.listeners {
                listener.take(&page);
            }
            place.number = last.number;
        }
        for listener in &self.listeners {
            listener.settle().await?;
        }
        // What else there is was for others.
        place.number = place.number.max(newest);
        place.settled = true;
        Ok(())
    }

    async fn tend(&self) -> Result<(), StoreError> {
        for listener in &self.listeners {
            listener.tend().await?;
        }
        Ok(())
    }

    /// Keeps up until the future is dropped. While the store is away, what is known stays known.
    pub async fn follow(&self) {
        let mut failing = false;
        loop {
            tokio::time::sleep(LOOK).await;
            let looked = self.look().await;
            match looked.and(self.tend().await) {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    tracing::warn!(%error, "keys and rules cannot be read; those that are known stay good");
                }
                Err(_) => {}
            }
        }
    }
}
