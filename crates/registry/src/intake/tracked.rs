//! One source as the registry follows it: whose turn it is to read it, up to where it was read, and how fast that goes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;
use toolrail_core::{Revision, rfc3339};

use super::source::Source;
use crate::catalog::SourceStatus;

/// How many times longer than a refresh takes is the time from its beginning to that of the next.
const REST: u32 = 10;

/// A source.
pub(crate) struct Tracked {
    pub(crate) source: Arc<dyn Source>,
    /// The place of its layer.
    pub(crate) index: usize,
    begun: AtomicU64,
    done: AtomicU64,
    reading: Mutex<Reading>,
    pace: StdMutex<Option<(Instant, Duration)>>,
}

/// Up to where a source was read.
pub(crate) struct Reading {
    pub(crate) revision: Option<Revision>,
    /// Whether everything is to be read anew: that was begun and not ended.
    pub(crate) anew: bool,
    /// Why it could not be read the last time.
    pub(crate) failure: Option<Failure>,
    /// When to compare the definitions with what was written down of them.
    pub(crate) reconcile_at: Instant,
    /// Why that failed the last time.
    pub(crate) unreconciled: Option<String>,
    /// When the definitions were last counted.
    pub(crate) counted: Instant,
    /// How many more the source counts than the registry can tell apart.
    pub(crate) surplus: i64,
    /// How many it counted, where all are read anew because of that.
    pub(crate) recounted: Option<u64>,
    /// The revision of the definitions that are served instead of those that could not be read.
    pub(crate) fallen_back: Option<Revision>,
}

/// Why a source cannot be read, and since when.
pub(crate) struct Failure {
    pub(crate) text: String,
    pub(crate) since: SystemTime,
}

/// The right to read a source. Whoever drops it before the end has not read it.
pub(crate) struct Turn<'t> {
    tracked: &'t Tracked,
    number: u64,
    began: Instant,
    pub(crate) reading: MutexGuard<'t, Reading>,
}

impl Tracked {
    pub(crate) fn new(source: Arc<dyn Source>, index: usize) -> Self {
        let reading = Reading {
            revision: None,
            anew: false,
            failure: None,
            reconcile_at: Instant::now(),
            unreconciled: None,
            counted: Instant::now(),
            surplus: 0,
            recounted: None,
            fallen_back: None,
        };
        Self {
            source,
            index,
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            reading: Mutex::new(reading),
            pace: StdMutex::default(),
        }
    }

    /// Waits for the turn to read it; nothing, if somebody else began and ended a reading meanwhile, which then has seen
    /// whatever there was to see when this was called.
    pub(crate) async fn turn(&self) -> Option<Turn<'_>> {
        let seen = self.begun.load(Ordering::Acquire);
        let reading = self.reading.lock().await;
        if self.done.load(Ordering::Acquire) > seen {
            return None;
        }
        let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        Some(Turn { tracked: self, number, began: Instant::now(), reading })
    }

    /// Has everything read the next time, whatever changed since the last.
    pub(crate) async fn forget(&self) {
        self.reading.lock().await.revision = None;
    }

    /// When it may next be read because of a change: at once after a rest, the rarer the longer it takes, but no later than
    /// `window` after the last reading began.
    pub(crate) fn next_look(&self, window: Duration) -> Instant {
        let pace = *self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.map_or_else(Instant::now, |(began, took)| began + took.saturating_mul(REST).min(window))
    }

    /// How it is.
    pub(crate) fn status(&self, reading: &Reading, definitions: usize) -> SourceStatus {
        let failure = reading.failure.as_ref();
        SourceStatus {
            source: self.source.id(),
            description: self.source.describe(),
            definitions,
            failure: failure.map(|failure| match reading.fallen_back {
                None => failure.text.clone(),
                Some(revision) => {
                    format!("{}; the last good definitions are served, of revision {revision}", failure.text)
                }
            }),
            since: failure.map(|failure| rfc3339(failure.since)),
        }
    }
}

impl Reading {
    /// After which revision changes are to be read; none, if everything is.
    pub(crate) fn since(&self) -> Option<Revision> {
        self.revision.filter(|_| !self.anew)
    }
}

impl Turn<'_> {
    /// How long it has been going on.
    pub(crate) fn took(&self) -> Duration {
        self.began.elapsed()
    }

    /// The source was read and what it gave, if anything, is published. A look that found nothing makes nobody wait: one that
    /// was slow by chance would hold up the next change.
    pub(crate) fn end(self, found: bool) {
        self.tracked.done.store(self.number, Ordering::Release);
        let pace = found.then(|| (self.began, self.began.elapsed()));
        *self.tracked.pace.lock().unwrap_or_else(PoisonError::into_inner) = pace;
    }
}
