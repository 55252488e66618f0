//! The child and everything it started: how it ended, and that nothing of it stays behind.

use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::watch;

use super::groups;
use crate::mcp::failure::Failure;

/// How long a child may take to end by itself once its input is closed.
const END_WITHIN: Duration = Duration::from_secs(2);
/// How long a child whose output has ended is given to end itself, and then its log to come in.
const TELL_WITHIN: Duration = Duration::from_millis(500);
/// The most characters of its last words that are told.
const LAST_WORDS: usize = 200;

/// The child and everything it started.
pub(super) struct Group {
    child: tokio::sync::Mutex<Child>,
    /// Nothing once it was killed: from then on the number may belong to others.
    id: Mutex<Option<u32>>,
}

impl Group {
    pub(super) fn new(child: Child) -> Self {
        Self { id: Mutex::new(child.id()), child: tokio::sync::Mutex::new(child) }
    }

    /// Lets the child end by itself, whose input is closed, and kills what has not ended in time.
    pub(super) async fn end(&self) {
        drop(tokio::time::timeout(END_WITHIN, self.wait()).await);
        self.kill();
    }

    /// Kills all of it.
    pub(super) fn kill(&self) {
        let id = self.id.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(id) = id {
            groups::end(id);
        }
    }

    /// Why a child whose output has ended is lost: how it ended, and the last line of its log.
    pub(super) async fn ending(&self, name: &str, mut log: watch::Receiver<String>) -> Failure {
        let Ok(Some(status)) = tokio::time::timeout(TELL_WITHIN, self.wait()).await else {
            return Failure::lost(format!("{name:?} has closed its output; look into its log"));
        };
        let rest_of_log = async { while log.changed().await.is_ok() {} };
        drop(tokio::time::timeout(TELL_WITHIN, rest_of_log).await);
        let last = log.borrow();
        Failure::lost(format!("{name:?} ended {}{}", status_words(status), last_words(&last)))
    }

    async fn wait(&self) -> Option<ExitStatus> {
        let status = self.child.lock().await.wait().await.ok();
        // At once, while its number cannot be anybody else's group.
        self.kill();
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn status_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "without a status".to_owned(),
    }
}

fn last_words(line: &str) -> String {
    if line.is_empty() {
        return " and said nothing".to_owned();
    }
    let shown: String = line.chars().filter(|c| !c.is_control()).take(LAST_WORDS).collect();
    format!(": {shown}")
}
