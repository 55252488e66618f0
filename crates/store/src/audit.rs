//! What the databases share of the audit record: how entries follow one another, and how the newest is remembered apart.

use toolrail_core::{AuditEntry, AuditHead};

/// The entries chained to the newest of the record, and the newest from then on.
pub(crate) fn chained(
    entries: impl Iterator<Item = AuditEntry>,
    mut newest: AuditHead,
) -> (Vec<AuditEntry>, AuditHead) {
    let chain = |entry: AuditEntry| {
        let entry = entry.chained_to(&newest);
        newest = entry.head();
        entry
    };
    let entries = entries.map(chain).collect();
    (entries, newest)
}

/// The newest entry, as it is remembered.
pub(crate) fn head_text(head: &AuditHead) -> String {
    format!("{} {}", head.number, head.hash)
}

/// What was remembered; nothing if it makes no sense.
pub(crate) fn head_of(text: &str) -> Option<AuditHead> {
    let (number, hash) = text.split_once(' ')?;
    Some(AuditHead { number: number.parse().ok()?, hash: hash.to_owned() })
}
