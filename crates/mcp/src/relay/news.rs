//! What concerns whichever replica holds a legacy session: that the session has ended, or one of its calls was cancelled.
//! It is told to all and read by those who hold sessions; the others sleep.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use toolrail_core::{MailLimits, NewsKind, StoreError};
use toolrail_registry::Registry;

use crate::live::Sessions;
use crate::stamp::now;

/// How often a replica that holds sessions looks for news.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long it leaves a store alone that has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(2);
/// How long a server that starts may take to read what was told before.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(5);
/// The most news of each kind that may wait to be told.
const MOST_UNTOLD: usize = 1_000;
/// A cancellation older than this, in seconds, concerns no call that is still under way.
const FRESH_SECONDS: u64 = 60;

/// Something that all replicas are told.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Report {
    /// The client has ended a session.
    Ended {
        /// The session's key.
        session: String,
    },
    /// The client has cancelled a call.
    Cancelled {
        /// The session's key.
        session: String,
        /// The id of the request, as JSON.
        id: String,
        /// When, in seconds since 1970.
        at: u64,
    },
}

impl Report {
    /// A call of that session has been cancelled just now.
    pub(crate) fn cancelled(session: &str, id: &str) -> Self {
        Self::Cancelled { session: session.to_owned(), id: id.to_owned(), at: now() }
    }

    fn kind(&self) -> NewsKind {
        match self {
            Self::Ended { .. } => NewsKind::Lasting,
            Self::Cancelled { .. } => NewsKind::Passing,
        }
    }
}

/// News of this replica that are yet to be told, and how far it has read those of all.
#[derive(Default)]
pub(crate) struct Newsroom {
    untold: Mutex<Untold>,
    bell: Notify,
    last: AtomicI64,
}

/// Kept apart: however much is cancelled, that a session has ended is told.
#[derive(Default)]
struct Untold {
    lasting: Vec<Vec<u8>>,
    passing: Vec<Vec<u8>>,
}

impl Untold {
    fn of(&mut self, kind: NewsKind) -> &mut Vec<Vec<u8>> {
        match kind {
            NewsKind::Lasting => &mut self.lasting,
            NewsKind::Passing => &mut self.passing,
        }
    }

    fn is_empty(&self) -> bool {
        self.lasting.is_empty() && self.passing.is_empty()
    }
}

impl Newsroom {
    /// Has it told to all soon. What is told is a courtesy, so too much of it is dropped.
    pub(crate) fn tell(&self, report: &Report) {
        let Ok(body) = serde_json::to_vec(report) else { return };
        let mut all = self.untold();
        let untold = all.of(report.kind());
        if body.len() > MailLimits::ALL.largest_news || untold.len() >= MOST_UNTOLD {
            tracing::debug!("news to other replicas dropped: too large or too many");
            return;
        }
        untold.push(body);
        drop(all);
        self.bell.notify_one();
    }

    /// Keeps what could not be told, as far as there is room.
    fn put_back(&self, kind: NewsKind, older: Vec<Vec<u8>>) {
        let mut all = self.untold();
        let untold = all.of(kind);
        untold.splice(0..0, older);
        untold.truncate(MOST_UNTOLD);
    }

    fn untold(&self) -> MutexGuard<'_, Untold> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What news are exchanged through, and whom they concern.
#[derive(Clone, Copy)]
pub(crate) struct NewsExchange<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) newsroom: &'a Newsroom,
    pub(crate) sessions: &'a Sessions,
}

impl NewsExchange<'_> {
    /// Learns which sessions have ended at other replicas.
    pub(crate) async fn catch_up(self) {
        match tokio::time::timeout(CATCH_UP_WITHIN, self.read_news()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "news of other replicas cannot be read"),
            Err(_) => tracing::warn!("news of other replicas cannot be read: the store is too slow"),
        }
    }

    /// Tells and reads news while there are any to tell or sessions that they may concern.
    pub(crate) async fn follow(self) {
        let mut failing = false;
        loop {
            self.until_news_matter().await;
            let exchanged = self.exchange_news().await;
            let pause = if exchanged.is_ok() { LOOK_EVERY } else { AFTER_FAILURE };
            if let Err(error) = &exchanged
                && !failing
            {
                tracing::warn!(%error, "news cannot be exchanged with other replicas");
            }
            failing = exchanged.is_err();
            tokio::time::sleep(pause).await;
        }
    }

    async fn until_news_matter(self) {
        let newsroom = self.newsroom;
        while newsroom.untold().is_empty() && !self.sessions.any() {
            tokio::select! {
                () = newsroom.bell.notified() => {}
                () = self.sessions.begun.notified() => {}
            }
        }
    }

    async fn exchange_news(self) -> Result<(), StoreError> {
        let newsroom = self.newsroom;
        for kind in [NewsKind::Lasting, NewsKind::Passing] {
            let untold = std::mem::take(newsroom.untold().of(kind));
            if !untold.is_empty()
                && let Err(error) = self.registry.replicas().announce(kind, &untold).await
            {
                newsroom.put_back(kind, untold);
                return Err(error);
            }
        }
        self.read_news().await
    }

    async fn read_news(self) -> Result<(), StoreError> {
        let last = &self.newsroom.last;
        loop {
            let news = self.registry.replicas().news_after(last.load(Ordering::Relaxed)).await?;
            for told in &news {
                last.store(told.number, Ordering::Relaxed);
                match serde_json::from_slice(&told.body) {
                    Ok(Report::Ended { session }) => self.sessions.end(&session),
                    Ok(Report::Cancelled { session, id, at })
                        if now().saturating_sub(at) <= FRESH_SECONDS =>
                    {
                        if let Some(live) = self.sessions.find(&session) {
                            live.cancel(&id);
                        }
                    }
                    Ok(Report::Cancelled { .. }) => {}
                    Err(error) => tracing::warn!(%error, "news of another replica cannot be read"),
                }
            }
            if news.len() < MailLimits::ALL.news_at_once as usize {
                return Ok(());
            }
        }
    }
}
