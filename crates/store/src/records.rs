//! What the databases share of records: which are refused, what a write leaves there, and its entry in the audit record.

use toolrail_core::{AuditEntry, RecordAudit, RecordLimits, RecordWrite, Revision};

use crate::learnt::now;

const LIMITS: RecordLimits = RecordLimits::ALL;

/// Kinds as databases are asked for them: each between commas, which no kind has; nothing for any.
pub(crate) fn listed(kinds: &[&str]) -> String {
    if kinds.is_empty() { String::new() } else { format!(",{},", kinds.join(",")) }
}

/// Whether a record may be written at all.
pub(crate) fn fits(write: &RecordWrite) -> bool {
    let is_short = |name: &str| name.len() <= LIMITS.longest_name;
    let size = write.body.as_ref().map_or(0, String::len);
    is_short(&write.kind) && is_short(&write.id) && size <= LIMITS.largest
}

/// Whether a write finds what it expects; `found` is the number of the record, if there is one that was not removed. What is
/// not there cannot be removed: neither others nor the audit record are told of nothing.
pub(crate) fn is_met(write: &RecordWrite, found: Option<i64>) -> bool {
    let is_as_expected = write.expected.is_none_or(|expected| expected == found.unwrap_or(0));
    is_as_expected && (found.is_some() || write.body.is_some())
}

/// Whether there is room for one more, beside so many of its kind.
pub(crate) fn has_room(there: i64) -> bool {
    there < i64::from(LIMITS.most)
}

/// When the record was removed, in seconds since 1970, if the write removes it.
pub(crate) fn removed_at(write: &RecordWrite) -> Option<i64> {
    write.body.is_none().then(now)
}

/// What was removed before this second is forgotten.
pub(crate) fn forgotten_before() -> i64 {
    now().saturating_sub(i64::from(LIMITS.removed_days) * 86_400)
}

/// The entry in the audit record, not chained yet. It leads to no revision, hence has the present one.
pub(crate) fn entry_of(audited: &RecordAudit, at: String, revision: Revision) -> AuditEntry {
    AuditEntry {
        number: 0,
        at,
        who: audited.author.who.clone(),
        address: audited.author.address.clone(),
        via: audited.author.via.clone(),
        action: audited.action.clone(),
        tenant: audited.tenant.clone().filter(|tenant| !tenant.is_empty()),
        name: audited.name.clone(),
        revision,
        changes: audited.changes.clone(),
        previous: String::new(),
        hash: String::new(),
    }
}
