//! Follows tasks on behalf of a subscription.

use std::sync::Arc;

use futures_util::future::select_all;
use tokio::sync::watch;
use toolrail_core::Principal;

use super::task::Task;
use super::{Tasks, write};
use crate::introduction::Introduction;

/// The tasks that one subscription follows.
#[derive(Default)]
pub(crate) struct Followed(Vec<(Arc<Task>, watch::Receiver<u64>)>);

impl Tasks {
    /// Follows those of the tasks that are there and that caller's.
    pub(crate) fn follow(&self, ids: &[String], principal: &Principal) -> Followed {
        let found = ids.iter().filter_map(|id| self.find(id, principal));
        Followed(
            found
                .map(|task| {
                    let mut changes = task.changes();
                    // Where each one stands is told first: it may have changed just before.
                    changes.mark_changed();
                    (task, changes)
                })
                .collect(),
        )
    }
}

impl Followed {
    /// The ids of those that are followed.
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|(task, _)| task.id.as_str()).collect()
    }

    /// The parameters of the next `notifications/tasks`, without their last brace, so that more can follow. Safe to drop
    /// while waiting.
    pub(crate) async fn next(&mut self, me: &Introduction) -> Vec<u8> {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let changes = self.0.iter_mut().map(|(_, changes)| Box::pin(changes.changed()));
        let (_, index, _) = select_all(changes).await;
        let (task, _) = &self.0[index];
        let params = write::notified(task, me);
        // After its end there is nothing more to tell.
        if task.expires().is_some() {
            self.0.swap_remove(index);
        }
        params
    }
}
