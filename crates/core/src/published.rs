//! The revision that this process serves: answers and log lines name it. One for the whole process, like its log.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::Revision;

/// No store has it.
const NONE: Revision = Revision::MIN;

static PUBLISHED: AtomicI64 = AtomicI64::new(NONE);

/// Says that definitions of that revision are served from now on.
pub fn publish_revision(revision: Revision) {
    PUBLISHED.store(revision, Ordering::Release);
}

/// The revision that is served; nothing before the first.
pub fn published_revision() -> Option<Revision> {
    Some(PUBLISHED.load(Ordering::Acquire)).filter(|revision| *revision != NONE)
}
