//! Keeps the connection to one server: connects, lists, follows changes, and begins again when the server was away.

use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolrail_core::{CallError, Changed, ErrorCode, Offer, UpstreamState};

use super::connection::{Connection, answer_unasked};
use super::failure::Failure;
use super::following::{Following, ServerEvent};
use super::hub::Hub;
use super::lists::{Lists, Work};
use super::settings::Selection;
use super::wire::Unsolicited;
use super::{lists, offer, on_behalf};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Between two attempts, even if calls ask for more.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// Changes that come together are looked at together.
const SETTLE: Duration = Duration::from_millis(20);
/// The least time between two looks at lists that are said to have changed: it grows while they keep changing.
const SHORTEST_GAP: Duration = Duration::from_millis(100);
const LONGEST_GAP: Duration = Duration::from_secs(30);
/// The least time between two looks at lists that the server says may change at any moment.
const SHORTEST_TTL: Duration = Duration::from_secs(10);
const SWEEP: Duration = Duration::from_secs(15);

/// What the registry sees of a server.
#[derive(Default)]
pub(super) struct Published(Mutex<ServerView>);

#[derive(Default)]
struct ServerView {
    offer: Arc<Offer>,
    /// Whether it has been listed once, or has failed.
    is_known: bool,
    /// Why there is no connection, or the lists are old.
    failure: Option<String>,
    /// Whether the server has resources, listed or not.
    has_resources: bool,
    /// Of the lists from which the offer was made.
    fingerprint: u64,
}

impl Published {
    pub(super) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner).offer)
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }

    pub(super) fn has_resources(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).has_resources
    }

    pub(super) fn state(&self) -> UpstreamState {
        let view = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (view.is_known, &view.failure) {
            (false, _) => UpstreamState::Connecting,
            (true, Some(_)) => UpstreamState::Failing,
            (true, None) => UpstreamState::Live,
        }
    }

    /// Offers what is listed; false if nothing of it is new.
    fn take(&self, lists: Lists, selection: &Selection, hub: &Arc<Hub>) -> bool {
        let (fingerprint, has_resources) = (lists.fingerprint(), lists.has_resources);
        let is_known = self.0.lock().unwrap_or_else(PoisonError::into_inner).fingerprint == fingerprint;
        let made = (!is_known).then(|| offer::build(lists, selection, hub));
        let mut view = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let was_known = std::mem::replace(&mut view.is_known, true);
        let is_news = view.failure.take().is_some() || !was_known;
        let Some(offer) = made else { return is_news };
        (view.offer, view.has_resources) = (Arc::new(offer), has_resources);
        view.fingerprint = fingerprint;
        true
    }
}

/// Keeps the connection to one server.
pub(super) struct Supervisor {
    pub(super) hub: Arc<Hub>,
    pub(super) selection: Selection,
    pub(super) published: Arc<Published>,
    pub(super) changed: Arc<dyn Fn(Changed) + Send + Sync>,
}

impl Supervisor {
    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let error = self.one_life().await;
            if began.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            self.fail(&error);
            tokio::time::sleep(SHORTEST_PAUSE).await;
            tokio::select! {
                () = tokio::time::sleep(jittered(pause)) => pause = (pause * 2).min(LONGEST_PAUSE),
                () = self.hub.wake.notified() => {}
            }
        }
    }

    /// One connection from its beginning to its end; a server that only lost it is connected again at once.
    async fn one_life(&self) -> CallError {
        loop {
            let began = Instant::now();
            let (connection, unsolicited) = match self.hub.connector.connect().await {
                Ok((connection, unsolicited)) => (Arc::new(connection), unsolicited),
                Err(error) => {
                    self.hub.disconnected(error.clone());
                    return error;
                }
            };
            self.hub.connected(&connection);
            let error = match self.list(&connection).await {
                Ok(ttl) => {
                    tracing::debug!(server = self.hub.name, "connected");
                    self.follow(&connection, unsolicited, ttl).await
                }
                Err(failure) => failure.into_error(),
            };
            self.hub.lost(&connection, &error);
            if began.elapsed() < FIRST_PAUSE {
                self.hub.disconnected(error.clone());
                return error;
            }
        }
    }

    /// Follows the server until the connection is gone.
    async fn follow(
        &self,
        connection: &Arc<Connection>,
        unsolicited: Unsolicited,
        ttl: Duration,
    ) -> CallError {
        let mut following = Following::begin(connection, unsolicited, self.hub.watched()).await;
        let mut sweep = tokio::time::interval(SWEEP);
        let mut look_at = Instant::now() + ttl;
        let mut pace = Pace::default();
        loop {
            let heard = tokio::select! {
                heard = following.next() => heard,
                () = self.hub.lists.notified() => ServerEvent::ListsChanged,
                () = tokio::time::sleep_until(look_at) => {
                    pace.looked();
                    match self.list(connection).await {
                        Ok(ttl) => look_at = Instant::now() + ttl,
                        Err(failure @ (Failure::Lost(_) | Failure::SessionGone)) => return failure.into_error(),
                        Err(failure) => {
                            self.fail(&failure.into_error());
                            look_at = Instant::now() + SHORTEST_TTL;
                        }
                    }
                    continue;
                }
                () = self.hub.watched_changed.notified() => {
                    following.watch(self.hub.watched()).await;
                    continue;
                }
                () = self.hub.wake.notified() => {
                    if self.hub.is_current(connection) {
                        continue;
                    }
                    return self.hub.failure().unwrap_or_else(gone);
                }
                _ = sweep.tick() => {
                    self.hub.sessions.sweep();
                    self.hub.parked.sweep();
                    continue;
                }
            };
            match heard {
                ServerEvent::ListsChanged => look_at = look_at.min(pace.next()),
                ServerEvent::Resource(uri) => (self.changed)(Changed::Resource { uri, conversation: None }),
                // It was said to nobody in particular.
                ServerEvent::Notice(_) => {}
                ServerEvent::Question { id, method } => {
                    // Nobody in particular is concerned, so nobody can be asked.
                    drop(connection.wire.send(answer_unasked(&id, &method)).await);
                }
                ServerEvent::Gone => return gone(),
            }
        }
    }

    /// Lists everything, offers it if it is new, and says when to look again.
    async fn list(&self, connection: &Arc<Connection>) -> Result<Duration, Failure> {
        let mut lists = lists::all(connection).await?;
        for session in self.hub.sessions.with_own_lists() {
            // If it cannot tell, its client will hear of it; the server is none the worse.
            if let Ok(more) = lists::all(&session.connection).await {
                lists.add(more);
            }
        }
        let limit = self.hub.connector.limits.list_ttl;
        let ttl = lists
            .ttl_ms
            .map_or(limit, |millis| Duration::from_millis(millis).clamp(SHORTEST_TTL.min(limit), limit));
        let (published, selection, hub) =
            (Arc::clone(&self.published), self.selection.clone(), Arc::clone(&self.hub));
        let work = Work::of_entries(lists.entries());
        let is_new = lists::aside(work, move || published.take(lists, &selection, &hub)).await?;
        if is_new {
            self.hub.gates.forget();
            (self.changed)(Changed::Offer);
        }
        Ok(ttl)
    }

    fn fail(&self, error: &CallError) {
        let words = self.hub.connector.words_for("cannot use", &error.message);
        let words = format!("{words}; it is tried again by itself");
        let is_new = {
            let mut view = self.published.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = view.failure.as_ref() != Some(&words);
            (view.failure, view.is_known) = (Some(words), true);
            // Before anybody has connected his account there may be nothing but the way to do so.
            if view.fingerprint == 0 && view.offer.is_empty() {
                let mut offer = Offer::default();
                on_behalf::add_connect(&mut offer, &self.selection, &self.hub);
                view.offer = Arc::new(offer);
            }
            is_new
        };
        if is_new {
            // The registry logs it.
            (self.changed)(Changed::Offer);
        }
    }
}

/// How often the lists of a server are looked at because it says that they have changed.
struct Pace {
    /// When a look was last taken for that reason.
    looked: Option<Instant>,
    gap: Duration,
    is_due: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { looked: None, gap: SHORTEST_GAP, is_due: false }
    }
}

impl Pace {
    /// When to look after a change: the first is looked at at once.
    fn next(&mut self) -> Instant {
        self.is_due = true;
        let soon = Instant::now() + SETTLE;
        self.looked.map_or(soon, |looked| soon.max(looked + self.gap))
    }

    /// A look is taken, for whatever reason.
    fn looked(&mut self) {
        if !std::mem::take(&mut self.is_due) {
            return;
        }
        let keeps_changing = self.looked.is_some_and(|looked| looked.elapsed() < self.gap * 2);
        if keeps_changing {
            self.gap = (self.gap * 2).min(LONGEST_GAP);
        } else {
            self.gap = SHORTEST_GAP;
        }
        self.looked = Some(Instant::now());
    }
}

fn gone() -> CallError {
    CallError::new(ErrorCode::UpstreamUnreachable, "the connection has ended")
}

/// Between half and all of the pause, so that many gateways do not come back in step.
fn jittered(pause: Duration) -> Duration {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let part = u32::try_from(random % 512).unwrap_or_default();
    pause / 2 + pause * part / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the first looks were taken, in seconds, if a change is heard of every `pause`.
    async fn looks(pause: Duration) -> Vec<u64> {
        let (mut pace, began) = (Pace::default(), Instant::now());
        let mut looks = Vec::new();
        let mut look_at = None;
        while looks.len() < 8 {
            let next = pace.next();
            let at = *look_at.get_or_insert(next);
            if Instant::now() >= at {
                pace.looked();
                look_at = None;
                looks.push(began.elapsed().as_secs());
            }
            tokio::time::advance(pause).await;
        }
        looks
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_keeps_changing_is_looked_at_less_and_less_often() {
        assert_eq!(looks(Duration::from_millis(10)).await, [0, 0, 0, 0, 1, 3, 6, 12]);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_quiet_while_a_change_is_looked_at_at_once() {
        let mut pace = Pace::default();
        for _ in 0..10 {
            assert_eq!(pace.next(), Instant::now() + SETTLE);
            pace.looked();
            assert_eq!(pace.next(), Instant::now() + SHORTEST_GAP);
            pace.is_due = false;
            tokio::time::advance(Duration::from_secs(5)).await;
        }
    }
}
