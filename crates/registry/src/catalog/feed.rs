//! What changed, for those who follow: live sessions and subscriptions hear of a new snapshot here.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};

use super::notices::{Hearing, Notices};
use crate::entry_key::EntryKey;

/// How often each list has changed since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Tools.
    pub tools: u64,
    /// Prompts.
    pub prompts: u64,
    /// Resources and resource templates.
    pub resources: u64,
}

/// The content of a resource changed.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The URI of the resource.
    pub uri: Arc<str>,
    /// The definition whose resource it is: others may have the URI too, in the eyes of other tenants.
    pub(crate) of: Option<EntryKey>,
    /// The conversation in which alone it changed.
    pub conversation: Option<Arc<str>>,
}

/// Tells what changed. Whoever is slow sees the newest state of the lists, never a queue of old ones.
pub struct Feed {
    lists: watch::Sender<Lists>,
    resources: broadcast::Sender<Updated>,
    /// What upstream servers tell single clients.
    pub(crate) notices: Notices,
}

impl Default for Feed {
    fn default() -> Self {
        /// A follower that is further behind than this must take it that every resource has changed.
        const MOST_UPDATES: usize = 256;
        Self {
            lists: watch::channel(Lists::default()).0,
            resources: broadcast::channel(MOST_UPDATES).0,
            notices: Notices::default(),
        }
    }
}

impl Feed {
    /// Follows the lists; what is there now counts as seen.
    pub fn lists(&self) -> watch::Receiver<Lists> {
        self.lists.subscribe()
    }

    /// Follows the contents of resources, whoever sees them: see [`crate::Snapshot::shows_update`].
    pub fn resources(&self) -> broadcast::Receiver<Updated> {
        self.resources.subscribe()
    }

    /// Hears what upstream servers tell the client of that conversation beside its calls; whoever did so before does no more.
    pub fn notices(&self, conversation: &str) -> Hearing {
        self.notices.hear(conversation)
    }

    /// Tells that those lists changed.
    pub(crate) fn lists_changed(&self, tools: bool, prompts: bool, resources: bool) {
        if tools || prompts || resources {
            self.lists.send_modify(|lists| {
                lists.tools += u64::from(tools);
                lists.prompts += u64::from(prompts);
                lists.resources += u64::from(resources);
            });
        }
    }

    /// Tells that somebody may see more or less from now on, though no definition changed: each looks for himself.
    pub fn rights_changed(&self) {
        self.lists_changed(true, true, true);
    }

    /// Tells that the content of a resource changed that has no definition, or is everybody's.
    pub fn resource_changed(&self, uri: &str) {
        self.tell(Updated { uri: uri.into(), of: None, conversation: None });
    }

    /// Tells that the content of a resource changed.
    pub(crate) fn tell(&self, updated: Updated) {
        // Nobody listening is no fault.
        let _ = self.resources.send(updated);
    }
}
