//! Follows what changes on behalf of one client and turns it into notifications: lists that changed, resources that were
//! updated. Bursts are merged: the first change is told at once, those that follow together.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use toolrail_core::Principal;
use toolrail_registry::{Endpoint, Lists, Registry};

use crate::caller::notification;
use crate::live::Live;

/// How long changes are gathered after one has been told.
const GATHER: Duration = Duration::from_millis(200);

/// What a client wants to hear of.
pub(crate) struct Wanted {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) watched: Watched,
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
    pub(crate) fn by_session(live: &Arc<Live>) -> Self {
        let watched = Watched::Session(Arc::clone(live));
        Self { tools: true, prompts: true, resources: true, watched, subscription: None }
    }

    fn params(&self) -> Value {
        match &self.subscription {
            None => json!({}),
            Some(id) => {
                let id: Value = serde_json::from_str(id.get()).unwrap_or_default();
                json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}})
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

    fn watches(&self, uri: &str) -> bool {
        match &self.watched {
            Watched::Session(live) => live.watches(uri),
            Watched::These(uris) => uris.iter().any(|known| known == uri),
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
pub(crate) struct View {
    pub(crate) registry: Arc<Registry>,
    pub(crate) principal: Principal,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl View {
    /// The same as long as the list of tools is.
    fn tools_mark(&self) -> u64 {
        self.registry.catalogue_at(self.principal.tenant(), &self.endpoint).tools_mark()
    }
}

/// Follows changes.
pub(crate) struct Follower {
    view: View,
    /// Of the list of tools that was told last; none if any is to be told.
    tools_mark: Option<u64>,
    pub(crate) wanted: Wanted,
    lists: watch::Receiver<Lists>,
    resources: Option<broadcast::Receiver<Arc<str>>>,
    seen: Lists,
    quiet_until: Option<Instant>,
    ready: Vec<Bytes>,
}

impl Follower {
    /// Follows from now on.
    pub(crate) fn new(view: View, wanted: Wanted) -> Self {
        let feed = view.registry.feed();
        let lists = feed.lists();
        let seen = *lists.borrow();
        // A receiver keeps a place in the queue; who watches nothing needs none.
        let watches = !matches!(&wanted.watched, Watched::These(uris) if uris.is_empty());
        let resources = watches.then(|| feed.resources());
        let tools_mark = wanted.tools.then(|| view.tools_mark());
        Self { view, tools_mark, wanted, lists, resources, seen, quiet_until: None, ready: Vec::new() }
    }

    /// Tells of every list at once: for a client that may have missed something.
    pub(crate) fn tell_everything(&mut self) {
        self.tools_mark = None;
        self.seen = Lists { tools: u64::MAX, prompts: u64::MAX, resources: u64::MAX };
        self.look();
    }

    /// The next notification. Safe to drop while waiting.
    pub(crate) async fn next(&mut self) -> Bytes {
        loop {
            if let Some(message) = self.ready.pop() {
                return message;
            }
            if let Some(until) = self.quiet_until {
                tokio::time::sleep_until(until).await;
                self.quiet_until = None;
            }
            if *self.lists.borrow() != self.seen {
                self.look();
                continue;
            }
            tokio::select! {
                changed = self.lists.changed() => if changed.is_err() {
                    // The registry is gone; so will this be, soon.
                    std::future::pending::<()>().await;
                },
                updated = updated(&mut self.resources) => self.note_update(updated),
            }
        }
    }

    /// Turns the difference to what was told last into notifications.
    fn look(&mut self) {
        let now = *self.lists.borrow_and_update();
        let tools = self.wanted.tools && now.tools != self.seen.tools && self.tools_differ();
        let changed = [
            (tools, "notifications/tools/list_changed"),
            (self.wanted.prompts && now.prompts != self.seen.prompts, "notifications/prompts/list_changed"),
            (
                self.wanted.resources && now.resources != self.seen.resources,
                "notifications/resources/list_changed",
            ),
        ];
        self.seen = now;
        // Even if there is nothing to tell: looking costs something too.
        self.quiet_until = Some(Instant::now() + GATHER);
        for (_, method) in changed.into_iter().filter(|(changed, _)| *changed) {
            self.ready.push(self.wanted.notification(method, &[]));
        }
    }

    /// Whether this client would be shown other tools than it was told of: what changed may be another tenant's, in another
    /// group, or not listed.
    fn tools_differ(&mut self) -> bool {
        let mark = Some(self.view.tools_mark());
        std::mem::replace(&mut self.tools_mark, mark) != mark
    }

    fn note_update(&mut self, updated: Result<Arc<str>, RecvError>) {
        let uris = match updated {
            Ok(uri) if self.wanted.watches(&uri) => vec![uri.to_string()],
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

async fn updated(resources: &mut Option<broadcast::Receiver<Arc<str>>>) -> Result<Arc<str>, RecvError> {
    match resources {
        Some(resources) => resources.recv().await,
        None => std::future::pending().await,
    }
}
