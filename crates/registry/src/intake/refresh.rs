//! Refreshing: a source is read page by page, each page compiled while the next is read, and all of it published at once; of
//! changes, if a page cannot be read, what came before it.
//! Each source is read by itself: one that is slow holds up no other.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use tokio::time::Instant;
use toolrail_core::Revision;

use super::Intake;
use super::compile::{FEW, Work, compile_all};
use super::gathered::Gathered;
use super::layer::Layer;
use super::source::{Draft, Loaded, SourceError};
use super::tracked::{Failure, Reading, Tracked, Turn};
use crate::entry_key::EntryKey;
use crate::gauges;
use crate::source_id::SourceId;

/// How far a long reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// Which source is read.
    pub source: SourceId,
    /// How many definitions were read.
    pub done: u64,
    /// How many there were when the reading began.
    pub total: u64,
}

/// Hears how far a long reading is.
pub type OnProgress = Arc<dyn Fn(LoadProgress) + Send + Sync>;

/// How many times longer than a comparison takes the rest after it is at least: it may cost a thirtieth of a core.
const REST_AFTER_RECONCILING: u32 = 30;

/// When a comparison that failed is tried again.
const RECONCILE_AGAIN: Duration = Duration::from_secs(5);

/// How a reading ended.
struct Ended {
    /// What was read, and when that ended.
    read: Option<(Gathered, Instant)>,
    /// Why no more was.
    error: Option<SourceError>,
}

impl Intake {
    /// Looks at every source and publishes what changed. A source that fails keeps its last good definitions. Whatever was
    /// there when this was called is published when it returns.
    pub async fn refresh(&self) {
        join_all(self.sources.iter().map(|tracked| self.refresh_source(tracked))).await;
        self.refresh_offers();
    }

    /// The same for the store alone: after a write, nothing else need be looked at.
    pub async fn refresh_store(&self) {
        let stores = self.sources.iter().filter(|tracked| tracked.source.id() == SourceId::Store);
        join_all(stores.map(|tracked| self.refresh_source(tracked))).await;
    }

    pub(crate) async fn refresh_source(&self, tracked: &Tracked) {
        let Some(mut turn) = tracked.turn().await else {
            return;
        };
        let ended = self.read(tracked, &mut turn.reading).await;
        if ended.error.is_some() && ended.read.is_none() {
            self.fall_back(tracked, &mut turn.reading).await;
        }
        let found = ended.read.is_some() || ended.error.is_some();
        gauges::source_read(tracked.source.id(), ended.error.is_none());
        // May be long: a hundred thousand definitions go into their places.
        tokio::task::block_in_place(|| self.take_over(tracked, &mut turn, ended));
        turn.end(found);
    }

    async fn read(&self, tracked: &Tracked, reading: &mut Reading) -> Ended {
        let mut gathered = Gathered::default();
        self.reconcile(tracked, reading).await;
        let pages = self.read_pages(tracked, reading, &mut gathered).await;
        let whole = match &pages {
            Ok(any) => *any,
            // A page was compiled in part.
            Err(SourceError::Interrupted(_)) => false,
            // Changes up to some revision stand by themselves, and need not be read again; the beginning of everything
            // does not.
            Err(_) => !gathered.complete && reading.revision.is_some_and(|before| gathered.revision > before),
        };
        let doubt = reading.unreconciled.clone().map(SourceError::Unreconciled);
        Ended { read: whole.then(|| (gathered, Instant::now())), error: pages.err().or(doubt) }
    }

    /// Has the source compare its definitions with what was written down of them, when it is time and before everything is
    /// read.
    async fn reconcile(&self, tracked: &Tracked, reading: &mut Reading) {
        let begun = Instant::now();
        if begun < reading.reconcile_at && reading.since().is_some() {
            return;
        }
        let reconciled = self.ask(tracked, tracked.source.reconcile()).await;
        reading.unreconciled = reconciled.err().map(|error| chain(&error));
        let rest = match &reading.unreconciled {
            None => self.settings.limits.recount.max(begun.elapsed() * REST_AFTER_RECONCILING),
            Some(_) => self.settings.limits.recount.min(RECONCILE_AGAIN),
        };
        reading.reconcile_at = Instant::now() + rest;
    }

    /// Whether there was anything to read.
    async fn read_pages(
        &self,
        tracked: &Tracked,
        reading: &mut Reading,
        gathered: &mut Gathered,
    ) -> Result<bool, SourceError> {
        let source = &tracked.source;
        reading.recounted = None;
        let mut page = self.ask(tracked, source.load(reading.since())).await?;
        if page.is_none() && reading.counted.elapsed() >= self.settings.limits.recount {
            page = self.recount(tracked, reading).await?;
        }
        let Some(mut page) = page else {
            return Ok(false);
        };
        let total = self.total_of(tracked, &page).await;
        let mut done = 0;
        loop {
            // If this does not come to its end, the next reading must not take up changes alone.
            reading.anew |= page.complete;
            done += page.drafts.len() as u64;
            let next = self.gather(tracked, page, gathered).await?;
            if let (Some(tell), Some(total)) = (&self.settings.progress, total) {
                tell(LoadProgress { source: source.id(), done, total: total.max(done) });
            }
            match next {
                Some(next) => page = next,
                None => return Ok(true),
            }
        }
    }

    /// Everything anew, if the source has another number of definitions than we know: some databases let a table be
    /// emptied without a trigger that could tell.
    async fn recount(&self, tracked: &Tracked, reading: &mut Reading) -> Result<Option<Loaded>, SourceError> {
        reading.counted = Instant::now();
        let Some(count) = self.ask(tracked, tracked.source.count()).await? else {
            return Ok(None);
        };
        if surplus(count, &self.state().layers[tracked.index]) == reading.surplus {
            return Ok(None);
        }
        // Somebody may have written between the look and the count.
        if let Some(changes) = self.ask(tracked, tracked.source.load(reading.revision)).await? {
            return Ok(Some(changes));
        }
        tracing::warn!(
            count,
            "the store has another number of definitions than its revision tells; all are read anew"
        );
        reading.recounted = Some(count);
        self.ask(tracked, tracked.source.load(None)).await
    }

    async fn total_of(&self, tracked: &Tracked, page: &Loaded) -> Option<u64> {
        if self.settings.progress.is_none() || !page.more {
            return None;
        }
        self.ask(tracked, tracked.source.count()).await.ok().flatten()
    }

    /// The answer of a source, if it comes in time.
    async fn ask<T>(
        &self,
        tracked: &Tracked,
        answer: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        let within = self.settings.limits.patience;
        let slow = |_| SourceError::Slow { source_words: tracked.source.describe(), within };
        tokio::time::timeout(within, answer).await.map_err(slow)?
    }

    /// Compiles a page while the next one is read.
    async fn gather(
        &self,
        tracked: &Tracked,
        page: Loaded,
        gathered: &mut Gathered,
    ) -> Result<Option<Loaded>, SourceError> {
        let Loaded { revision, complete, more, drafts, removed, problems, age } = page;
        if complete {
            *gathered = Gathered { complete, ..Gathered::default() };
        }
        gathered.revision = revision;
        gathered.problems.extend(problems);
        gathered.age = gathered.age.max(age);
        let key = |key: toolrail_core::ToolKey| EntryKey::new(key.tenant.map(Into::into), &key.name);
        gathered.remove(removed.into_iter().map(key).collect());
        let (source, work) = (Arc::clone(&tracked.source), self.work(tracked, drafts));
        let compiler = Arc::clone(&self.compiler);
        if work.len() < FEW && !more {
            let compiled = tokio::task::block_in_place(|| compile_all(work, &*source, &compiler));
            gathered.add(&*source, self.with_good_versions(tracked, compiled).await);
            return Ok(None);
        }
        let compiling = tokio::task::spawn_blocking(move || compile_all(work, &*source, &compiler));
        let next = async {
            if more { self.ask(tracked, tracked.source.load(Some(revision))).await } else { Ok(None) }
        };
        let (compiled, next) = tokio::join!(compiling, next);
        gathered.add(&*tracked.source, self.with_good_versions(tracked, compiled?).await);
        next
    }

    /// A store that cannot be read at the start gives what it last gave.
    async fn fall_back(&self, tracked: &Tracked, reading: &mut Reading) {
        let is_start = reading.revision.is_none() && reading.failure.is_none();
        let last_good =
            self.settings.last_good.as_ref().filter(|_| is_start && tracked.source.id() == SourceId::Store);
        let describe = tracked.source.describe();
        let kept = last_good.and_then(|kept| tokio::task::block_in_place(|| kept.read(&describe)));
        let mut gathered = Gathered::default();
        let Some(kept) = kept else {
            return;
        };
        if self.gather(tracked, kept, &mut gathered).await.is_ok() {
            reading.fallen_back = Some(gathered.revision);
            let mut state = self.state();
            let changed = state.layers[tracked.index].apply(gathered);
            state.note(changed);
        }
    }

    /// What is to be compiled, with what was there before.
    fn work(&self, tracked: &Tracked, drafts: Vec<Draft>) -> Vec<Work> {
        let mut work: Vec<Work> = drafts.into_iter().map(Work::new).collect();
        let state = self.state();
        let entries = &state.layers[tracked.index].entries;
        for one in &mut work {
            one.before = entries.get(&one.key).cloned();
        }
        work
    }

    /// Takes over what was read, or notes why it was not, and publishes that.
    fn take_over(&self, tracked: &Tracked, turn: &mut Turn<'_>, ended: Ended) {
        let reading = &mut *turn.reading;
        let Ended { read, error } = ended;
        let news = match &error {
            None => recovered(tracked, reading),
            Some(error) => failed(tracked, reading, error),
        };
        if !news && read.is_none() {
            return;
        }
        let mut state = self.state();
        let layer = &mut state.layers[tracked.index];
        let mut published_change = None;
        let mut journal = Vec::new();
        let mut changed = Vec::new();
        if let Some((gathered, read_at)) = read {
            let age = gathered.age.filter(|_| reading.revision.is_some());
            published_change = Some((age, read_at));
            reading.fallen_back = None;
            if let Some(last_good) =
                self.settings.last_good.as_ref().filter(|_| tracked.source.id() == SourceId::Store)
            {
                last_good.note();
            }
            reading.revision = Some(gathered.revision);
            reading.anew = false;
            // Whatever was written before a reading of everything began is in it, also where the revision is smaller.
            let read = if gathered.complete { Revision::MAX } else { gathered.revision };
            changed = layer.apply(gathered);
            changed.extend(layer.keep_withdrawn(read));
            if let Some(count) = reading.recounted.take() {
                // If it is the same afterwards, there are rows that cannot be told apart; reading once is enough then.
                reading.surplus = surplus(count, layer);
            }
        }
        layer.status = Some(tracked.status(reading, layer.entries.len()));
        if let Some(last_good) = self.settings.last_good.as_ref().filter(|_| layer.id == SourceId::Store) {
            journal = last_good.journal.lines(layer, &changed);
        }
        state.note(changed);
        self.publish(&mut state);
        drop(state);
        // Before whoever made the change is told that it holds.
        if let Some(last_good) = &self.settings.last_good {
            last_good.journal.append(journal);
        }
        if let Some((age, read_at)) = published_change {
            gauges::refreshed(tracked.source.id(), turn.took());
            let propagated = age.map(|age| age + read_at.elapsed());
            propagated.into_iter().for_each(gauges::propagated);
        }
    }
}

/// Whether the source could not be read before.
fn recovered(tracked: &Tracked, reading: &mut Reading) -> bool {
    let recovered = reading.failure.take().is_some();
    if recovered {
        tracing::info!(source = tracked.source.id().word(), "source can be read again");
    }
    recovered
}

/// Whether that is news.
fn failed(tracked: &Tracked, reading: &mut Reading, error: &SourceError) -> bool {
    let text = chain(error);
    let before = reading.failure.take();
    let news = before.as_ref().is_none_or(|before| before.text != text);
    if news {
        let source = tracked.source.id().word();
        if reading.revision.or(reading.fallen_back).is_some() {
            tracing::warn!(
                source,
                error = text,
                "source cannot be read; its last good definitions stay in place"
            );
        } else {
            tracing::warn!(source, error = text, "source cannot be read; it is tried again and again");
        }
    }
    let since = before.map_or_else(SystemTime::now, |before| before.since);
    reading.failure = Some(Failure { text, since });
    news
}

/// How many more definitions the source counts than the layer has.
fn surplus(count: u64, layer: &Layer) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(count) - signed(layer.entries.len() as u64)
}

/// The error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
