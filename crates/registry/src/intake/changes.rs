//! What a reload of a source changed, for the log.

use std::sync::Arc;

use toolrail_core::Revision;

use crate::catalog::Entry;
use crate::source_id::SourceId;

/// The most definitions that one reload names.
const MOST_NAMED: usize = 20;

/// What became of one definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Created,
    Updated,
    LiveAgain,
    SwitchedOff,
    Removed,
}

/// Logs what changed between the entries before and after, with the revision that it led to. A definition with errors is told of where it is compiled.
pub(crate) fn log<'e>(
    source: SourceId,
    revision: Option<Revision>,
    pairs: impl Iterator<Item = (Option<&'e Arc<Entry>>, Option<&'e Arc<Entry>>)>,
) {
    let changes: Vec<_> = pairs.filter_map(|(before, after)| change(before, after)).collect();
    for (change, entry) in changes.iter().take(MOST_NAMED) {
        let (name, origin) = (&entry.name, &entry.origin);
        match change {
            Change::Created => tracing::info!(name, origin, revision, "definition created"),
            Change::Updated => tracing::info!(name, origin, revision, "definition updated"),
            Change::LiveAgain => tracing::info!(name, origin, revision, "definition live again"),
            Change::SwitchedOff => tracing::info!(name, origin, revision, "definition switched off"),
            Change::Removed => tracing::info!(name, origin, revision, "definition removed"),
        }
    }
    if changes.len() > MOST_NAMED {
        tracing::info!(
            source = source.word(),
            revision,
            more = changes.len() - MOST_NAMED,
            "more definitions changed"
        );
    }
}

fn change<'e>(before: Option<&'e Arc<Entry>>, after: Option<&'e Arc<Entry>>) -> Option<(Change, &'e Entry)> {
    let Some(after) = after else {
        return before.map(|before| (Change::Removed, &**before));
    };
    if after.has_errors() || before.is_some_and(|before| Arc::ptr_eq(before, after)) {
        return None;
    }
    let change = match (before, after.live()) {
        (None, _) => Change::Created,
        (Some(before), Some(_)) if before.live().is_none() => Change::LiveAgain,
        (Some(before), None) if before.live().is_some() => Change::SwitchedOff,
        (Some(_), _) => Change::Updated,
    };
    Some((change, after))
}
