//! Making the vectors of tools that changed, in the background, batch by batch; while the embedder fails, later.

use std::sync::Arc;
use std::time::Duration;

use toolrail_core::EmbedError;

use super::Finder;
use super::meaning::{Meaning, Meanings, Pinned};
use crate::catalog::{Tool, meaning_of};
use crate::entry_key::EntryKey;

/// An embedder that fails is not asked again sooner than this.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);

impl Finder {
    /// Makes the vectors of tools that have none, but no longer than `within`. For commands, which have no background; who
    /// follows the registry need not.
    pub async fn await_meanings(&self, within: Duration) {
        if let Meaning::Present(meanings) = &*self.meaning {
            // What is missing after that is told by the search.
            let _ = tokio::time::timeout(within, self.catch_up(meanings)).await;
        }
    }

    /// Makes vectors whenever tools change, until the future is dropped.
    pub(crate) async fn follow_meanings(&self) {
        let Meaning::Present(meanings) = &*self.meaning else {
            return;
        };
        loop {
            while let Err(error) = self.catch_up(meanings).await {
                tokio::time::sleep(error.retry_after.max(SHORTEST_PAUSE)).await;
            }
            meanings.bell.notified().await;
        }
    }

    async fn catch_up(&self, meanings: &Meanings) -> Result<(), EmbedError> {
        let _working = meanings.working.lock().await;
        loop {
            // Taken out before they are read: what changes while its vector is made waits again.
            let batch = meanings.take(meanings.embedder.batch().max(1));
            if batch.is_empty() {
                return Ok(());
            }
            let putting_back = PutBack { meanings, batch };
            let pinned = self.embedded(meanings, &putting_back.batch).await?;
            meanings.pin(pinned);
            putting_back.finish();
            tokio::task::yield_now().await;
        }
    }

    async fn embedded(&self, meanings: &Meanings, keys: &[EntryKey]) -> Result<Vec<Pinned>, EmbedError> {
        let snapshot = self.catalog.snapshot();
        let reach = meanings.embedder.reach();
        let texts = keys.iter().map(|key| {
            let told = snapshot.definition(key).and_then(|entry| meaning_of(entry));
            told.filter(|(_, text)| reach.covers(text))
        });
        let told: Vec<Option<(Arc<Tool>, String)>> = texts.collect();
        let texts: Vec<String> = told.iter().flatten().map(|(_, text)| text.clone()).collect();
        let vectors = if texts.is_empty() { Vec::new() } else { meanings.embedder.embed(&texts).await? };
        let mut vectors = vectors.into_iter();
        let pinned = keys.iter().zip(told).map(|(key, told)| {
            let pin = told.and_then(|(tool, _)| Some((vectors.next().flatten()?, tool)));
            (key.clone(), pin)
        });
        Ok(pinned.collect())
    }
}

/// Tools whose vectors are being made; if that fails or is given up, they wait again.
struct PutBack<'m> {
    meanings: &'m Meanings,
    batch: Vec<EntryKey>,
}

impl PutBack<'_> {
    fn finish(mut self) {
        self.batch.clear();
    }
}

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        self.meanings.waiting().extend(self.batch.drain(..));
    }
}
