//! Writes that this replica has not read back: the answer says so, and claims nothing else.

use std::sync::Arc;

use serde_json::Value;
use toolrail_core::Revision;
use toolrail_registry::{Entry, Snapshot};

/// The state of what was written and is not known to be live.
pub(crate) const WRITTEN: &str = "written";
/// What is said of it.
pub(crate) const NOTE: &str = "it is in the store, but this gateway could not read it back yet and does so as soon as it can; \
    what was switched off or removed is off here already";

/// Whether a write that led to that revision is not in the snapshot yet.
pub(crate) fn is_unread(snapshot: &Snapshot, revision: Revision) -> bool {
    snapshot.revision < revision
}

/// The state of a definition after a write that led to that revision and left it in the store.
pub(crate) fn state_after(
    snapshot: &Snapshot,
    entry: Option<&Arc<Entry>>,
    revision: Revision,
) -> &'static str {
    match entry {
        _ if is_unread(snapshot, revision) => WRITTEN,
        Some(entry) => entry.state(),
        // Somebody else was quick.
        None => "purged",
    }
}

/// Adds to an answer that the write has not been read back, if so.
pub(crate) fn add_note(body: &mut Value, snapshot: &Snapshot, revision: Revision) {
    if is_unread(snapshot, revision)
        && let Some(members) = body.as_object_mut()
    {
        members.insert("live".to_owned(), false.into());
        members.insert("note".to_owned(), NOTE.into());
    }
}
