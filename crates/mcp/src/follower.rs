//! Follows what changes on behalf of one client and turns it into notifications: lists that changed, resources that were
//! updated. Bursts are merged: the first change is told at once, those that follow together. What an upstream server tells
//! the client of a session beside its calls, such as log messages, is passed on as it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use toolrail_core::{LogLevel, Notice, Principal};
use toolrail_protocol::meta::SUBSCRIPTION_ID;
use toolrail_registry::{Endpoint, Hearing, Lists, Registry, Snapshot, Updated};

use crate::conversation;
use crate::live::Live;
use crate::outbox::{notification, raw_notification};

/// How long changes are gathered after one has been told.
const GATHER: Duration = Duration::from_millis(200);

/// What a client wants to hear of.
pub(crate) struct Wanted {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) watched: Watched,
    /// The client's conversation, which alone may concern it.
    pub(crate) conversation: Option<String>,
    /// The subscription that notifications name (2026-07-28).
    pub(crate) subscription: Option<Box<RawValue>>,
}

/// Which resources a client watches.
pub(crate) enum Watched {
    /// Those that its session names at the time.
    Session(Arc<Live>),
    /// These.
    These(Vec<String>),
}

impl Wanted {
    /// What every legacy session hears of.
    pub(crate) fn by_session(live: &Arc<Live>, replica: u32) -> Self {
        let watched = Watched::Session(Arc::clone(live));
        let conversation = Some(conversation::of_session(live, replica));
        Self { tools: true, prompts: true, resources: true, watched, conversation, subscription: None }
    }

    fn params(&self) -> Value {
        match &self.subscription {
            None => json!({}),
            Some(id) => {
                let id: Value = serde_json::from_str(id.get()).unwrap_or_default();
                json!({"_meta": {SUBSCRIPTION_ID: id}})
            }
        }
    }

    /// A notification of a subscription, or of a session.
    pub(crate) fn notification(&self, method: &str, more: &[(&str, Value)]) -> Bytes {
        let mut params = self.params();
        for (key, value) in more {
            params[*key] = value.clone();
        }
        notification(method, &params)
    }

    /// Whether that update is of a resource that is watched, and not in somebody else's conversation.
    fn concerns(&self, updated: &Updated) -> bool {
        let is_own =
            updated.conversation.as_deref().is_none_or(|of| self.conversation.as_deref() == Some(of));
        is_own
            && match &self.watched {
                Watched::Session(live) => live.watches(&updated.uri),
                Watched::These(uris) => uris.iter().any(|known| **known == *updated.uri),
            }
    }

    /// What a server tells the client, if it wants to hear of it.
    fn notice(&self, notice: &Notice) -> Option<Bytes> {
        let Watched::Session(live) = &self.watched else { return None };
        match notice {
            Notice::Log { level, params } => {
                let is_wanted = *level >= live.log_level().unwrap_or(LogLevel::Info);
                is_wanted.then(|| raw_notification("notifications/message", params.text()))
            }
            Notice::Elicited { id } => {
                Some(notification("notifications/elicitation/complete", &json!({"elicitationId": id})))
            }
            // One that the client did not make is none of its business.
            Notice::Task { id, params } => {
                let mut params = params.to_value();
                *params.get_mut("taskId")? = live.tasks.outside(id)?.into();
                Some(notification("notifications/tasks/status", &params))
            }
        }
    }

    fn watched(&self) -> Vec<String> {
        match &self.watched {
            Watched::Session(live) => live.watched(),
            Watched::These(uris) => uris.clone(),
        }
    }
}

/// On whose behalf changes are followed, and where.
pub(crate) struct FollowedView {
    pub(crate) registry: Arc<Registry>,
    pub(crate) principal: Principal,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl FollowedView {
    fn snapshot(&self) -> Arc<Snapshot> {
        self.registry.catalogue_at(&self.principal, &self.endpoint)
    }

    /// What this client is shown of the lists that it wants to hear of.
    fn marks(&self, wanted: &Wanted) -> Marks {
        let snapshot = self.snapshot();
        Marks {
            tools: wanted.tools.then(|| snapshot.tools_mark()),
            prompts: wanted.prompts.then(|| snapshot.prompts_mark()),
            resources: wanted.resources.then(|| snapshot.resources_mark()),
        }
    }
}

/// Marks of the lists, each the same as long as the list is; none of lists that nobody wants to hear of.
#[derive(Default)]
struct Marks {
    tools: Option<u64>,
    prompts: Option<u64>,
    resources: Option<u64>,
}

/// Follows changes.
pub(crate) struct Follower {
    view: FollowedView,
    /// Of the lists that were told last; none of those of which any is to be told.
    marks: Marks,
    pub(crate) wanted: Wanted,
    lists: watch::Receiver<Lists>,
    resources: Option<broadcast::Receiver<Updated>>,
    /// Of sessions only.
    notices: Option<Hearing>,
    seen: Lists,
    quiet_until: Option<Instant>,
    ready: Vec<Bytes>,
}

impl Follower {
    /// Follows from now on.
    pub(crate) fn new(view: FollowedView, wanted: Wanted) -> Self {
        let feed = view.registry.feed();
        let lists = feed.lists();
        let seen = *lists.borrow();
        // A receiver keeps a place in the queue; who watches nothing needs none.
        let watches = !matches!(&wanted.watched, Watched::These(uris) if uris.is_empty());
        let resources = watches.then(|| feed.resources());
        let notices = match (&wanted.watched, &wanted.conversation) {
            (Watched::Session(_), Some(conversation)) => Some(feed.notices(conversation)),
            _ => None,
        };
        let marks = view.marks(&wanted);
        Self { view, marks, wanted, lists, resources, notices, seen, quiet_until: None, ready: Vec::new() }
    }

    /// Tells of every list at once: for a client that may have missed something.
    pub(crate) fn tell_everything(&mut self) {
        self.marks = Marks::default();
        self.seen = Lists { tools: u64::MAX, prompts: u64::MAX, resources: u64::MAX };
        self.look();
    }

    /// The next notification. Safe to drop while waiting.
    pub(crate) async fn next(&mut self) -> Bytes {
        loop {
            if let Some(message) = self.ready.pop() {
                return message;
            }
            let is_quiet = self.quiet_until.is_some();
            if !is_quiet && *self.lists.borrow() != self.seen {
                self.look();
                continue;
            }
            tokio::select! {
                () = until(self.quiet_until) => self.quiet_until = None,
                changed = self.lists.changed(), if !is_quiet => if changed.is_err() {
                    // The registry is gone; so will this be, soon.
                    std::future::pending::<()>().await;
                },
                updated = updated(&mut self.resources), if !is_quiet => self.note_update(updated),
                notice = told(&mut self.notices) => if let Some(message) = self.wanted.notice(&notice) {
                    return message;
                },
            }
        }
    }

    /// Turns the difference to what was told last into notifications: what changed may be another tenant's, in another group,
    /// or not listed.
    fn look(&mut self) {
        let lists = *self.lists.borrow_and_update();
        let seen = std::mem::replace(&mut self.seen, lists);
        let (snapshot, wanted, marks) = (self.view.snapshot(), &self.wanted, &mut self.marks);
        let tools = wanted.tools && lists.tools != seen.tools;
        let prompts = wanted.prompts && lists.prompts != seen.prompts;
        let resources = wanted.resources && lists.resources != seen.resources;
        let changed = [
            (tools && differs(&mut marks.tools, snapshot.tools_mark()), "notifications/tools/list_changed"),
            (
                prompts && differs(&mut marks.prompts, snapshot.prompts_mark()),
                "notifications/prompts/list_changed",
            ),
            (
                resources && differs(&mut marks.resources, snapshot.resources_mark()),
                "notifications/resources/list_changed",
            ),
        ];
        // Even if there is nothing to tell: looking costs something too.
        self.quiet_until = Some(Instant::now() + GATHER);
        for (_, method) in changed.into_iter().filter(|(changed, _)| *changed) {
            self.ready.push(self.wanted.notification(method, &[]));
        }
    }

    fn note_update(&mut self, updated: Result<Updated, RecvError>) {
        let uris = match updated {
            Ok(updated) if self.wanted.concerns(&updated) && self.view.snapshot().shows_update(&updated) => {
                vec![updated.uri.to_string()]
            }
            Ok(_) => Vec::new(),
            // Too far behind to know which: any of them may have changed.
            Err(RecvError::Lagged(_)) => self.wanted.watched(),
            Err(RecvError::Closed) => {
                self.resources = None;
                Vec::new()
            }
        };
        for uri in uris {
            let message = self.wanted.notification("notifications/resources/updated", &[("uri", uri.into())]);
            if !self.ready.contains(&message) {
                self.ready.push(message);
            }
        }
    }
}

/// Whether a list is another than the one that was told last; from now on it is that one.
fn differs(told: &mut Option<u64>, now: u64) -> bool {
    told.replace(now) != Some(now)
}

async fn until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

async fn told(notices: &mut Option<Hearing>) -> Notice {
    match notices {
        Some(notices) => notices.next().await,
        None => std::future::pending().await,
    }
}

async fn updated(resources: &mut Option<broadcast::Receiver<Updated>>) -> Result<Updated, RecvError> {
    match resources {
        Some(resources) => resources.recv().await,
        None => std::future::pending().await,
    }
}
