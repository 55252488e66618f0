//! What a change to a definition comes to, whatever the database: which definition it is about, whether somebody else was
//! first, and its entry in the audit record.

use toolrail_core::{
    Action, AuditEntry, Author, Change, Expected, Revision, Row, Standing, StoreError, ToolKey, ToolName,
    audit_changes,
};

/// The key of the definition that a change is about. An empty tenant is none, as in the rows that others write.
pub(crate) fn key_of(change: &Change) -> ToolKey {
    ToolKey { tenant: tenant_of(change), name: ToolName::fold(&change.name) }
}

fn tenant_of(change: &Change) -> Option<String> {
    change.tenant.clone().filter(|tenant| !tenant.is_empty())
}

/// Refuses a change if something else is there than it expects.
pub(crate) fn check(change: &Change, found: Option<&Row>) -> Result<(), StoreError> {
    let is_met = match change.expected {
        Expected::Anything => true,
        Expected::Absent => found.is_none(),
        Expected::Version(version) => found.is_some_and(|row| row.version == version),
    };
    if is_met { Ok(()) } else { Err(conflict(change, found.cloned())) }
}

/// That something else is there than a change expects.
pub(crate) fn conflict(change: &Change, found: Option<Row>) -> StoreError {
    let (name, expected) = (change.name.clone(), change.expected);
    StoreError::Conflict { name, expected, found: found.map(Box::new) }
}

/// A change that has an effect.
pub(crate) struct Effect<'a> {
    pub(crate) change: &'a Change,
    /// What was there, if anything was: whether it could be called, and the definition.
    pub(crate) before: Option<(bool, String)>,
    /// The name, as it is stored.
    pub(crate) name: String,
    /// The revision that it leads to.
    pub(crate) revision: Revision,
}

impl<'a> Effect<'a> {
    /// What a change makes of the row that was there, if one was. A definition that is put is stored under the name it is put
    /// under; any other keeps its own.
    pub(crate) fn on(before: Option<Row>, change: &'a Change, revision: Revision) -> Self {
        let is_put = matches!(change.action, Action::Put { .. });
        let kept = before.as_ref().filter(|_| !is_put).map(|row| row.name.clone());
        let name = kept.unwrap_or_else(|| change.name.clone());
        Self { change, before: before.map(|row| (row.enabled, row.config_json)), name, revision }
    }

    /// Its entry in the audit record, not chained yet.
    pub(crate) fn entry(&self, author: &Author, at: &str) -> AuditEntry {
        let before = self.before.as_ref();
        let before = before.map(|(enabled, config_json)| Standing { enabled: *enabled, config_json });
        let (action, after) = match &self.change.action {
            Action::Put { enabled, config_json } => {
                let action = if before.is_some() { "update" } else { "create" };
                (action, Some(Standing { enabled: *enabled, config_json }))
            }
            Action::SetEnabled(enabled) => {
                let action = if *enabled { "enable" } else { "disable" };
                (action, before.map(|before| Standing { enabled: *enabled, ..before }))
            }
            Action::Purge => ("purge", None),
        };
        AuditEntry {
            number: 0,
            at: at.to_owned(),
            who: author.who.clone(),
            address: author.address.clone(),
            via: author.via.clone(),
            action: action.to_owned(),
            tenant: tenant_of(self.change),
            name: self.name.clone(),
            revision: self.revision,
            changes: audit_changes(before, after),
            previous: String::new(),
            hash: String::new(),
        }
    }
}
