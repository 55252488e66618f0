//! What a write comes to, worked out before anything is written: which changes have an effect, what each leads to, and
//! whether somebody else was first. The revision is locked meanwhile, so every number is known.

use std::collections::HashMap;

use toolrail_core::{
    Action, AuditEntry, Author, Change, Expected, Revision, Row, Standing, StoreError, ToolKey, ToolName,
    audit_changes,
};

/// What is done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Create,
    Replace,
    Switch,
    Remove,
}

/// A change that has an effect.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) key: ToolKey,
    pub(super) deed: Deed,
    pub(super) change: &'a Change,
    /// The revision that it leads to.
    pub(super) revision: Revision,
    /// The name, as it is stored.
    pub(super) name: String,
    /// What became otherwise, for the audit record.
    pub(super) changes: String,
}

/// The rows that are there, by key; follows what each change makes of them.
pub(super) type Rows = HashMap<ToolKey, Row>;

/// The key of the definition that a change is about.
pub(super) fn key(change: &Change) -> ToolKey {
    let tenant = change.tenant.clone().filter(|tenant| !tenant.is_empty());
    ToolKey { tenant, name: ToolName::fold(&change.name) }
}

/// The steps of a write after that revision, or the conflict that forbids it.
pub(super) fn plan(
    changes: &[Change],
    mut rows: Rows,
    mut revision: Revision,
) -> Result<Vec<Step<'_>>, StoreError> {
    let mut steps = Vec::with_capacity(changes.len());
    for change in changes {
        let key = key(change);
        let before = rows.remove(&key);
        check(change, before.as_ref())?;
        let Some((deed, after)) = outcome(change, before.as_ref(), revision + 1) else { continue };
        revision += 1;
        let name = after.as_ref().or(before.as_ref()).map(|row| row.name.clone()).unwrap_or_default();
        let changes = audit_changes(before.as_ref().map(standing), after.as_ref().map(standing));
        rows.extend(after.map(|row| (key.clone(), row)));
        steps.push(Step { key, deed, change, revision, name, changes });
    }
    Ok(steps)
}

fn check(change: &Change, found: Option<&Row>) -> Result<(), StoreError> {
    let is_met = match change.expected {
        Expected::Anything => true,
        Expected::Absent => found.is_none(),
        Expected::Version(version) => found.is_some_and(|row| row.version == version),
    };
    if is_met {
        return Ok(());
    }
    let found = found.cloned().map(Box::new);
    Err(StoreError::Conflict { name: change.name.clone(), expected: change.expected, found })
}

fn outcome(change: &Change, before: Option<&Row>, version: Revision) -> Option<(Deed, Option<Row>)> {
    match &change.action {
        Action::Put { enabled, config_json } => {
            let row = Row {
                tenant: change.tenant.clone(),
                name: change.name.clone(),
                enabled: *enabled,
                config_json: config_json.clone(),
                version,
                updated_at: String::new(),
                updated_by: None,
            };
            Some((if before.is_some() { Deed::Replace } else { Deed::Create }, Some(row)))
        }
        Action::SetEnabled(enabled) => {
            before.map(|row| (Deed::Switch, Some(Row { enabled: *enabled, version, ..row.clone() })))
        }
        Action::Purge => before.map(|_| (Deed::Remove, None)),
    }
}

fn standing(row: &Row) -> Standing<'_> {
    Standing { enabled: row.enabled, config_json: &row.config_json }
}

impl Step<'_> {
    /// Whether the definition may be called from then on.
    pub(super) fn enabled(&self) -> bool {
        match self.change.action {
            Action::Put { enabled, .. } | Action::SetEnabled(enabled) => enabled,
            Action::Purge => false,
        }
    }

    /// The definition that is put; empty if none is.
    pub(super) fn config_json(&self) -> &str {
        match &self.change.action {
            Action::Put { config_json, .. } => config_json,
            Action::SetEnabled(_) | Action::Purge => "",
        }
    }

    /// Its entry in the audit record, not chained yet.
    pub(super) fn entry(&self, author: &Author, at: &str) -> AuditEntry {
        let action = match (self.deed, &self.change.action) {
            (Deed::Create, _) => "create",
            (Deed::Remove, _) => "purge",
            (Deed::Switch, Action::SetEnabled(true)) => "enable",
            (Deed::Switch, _) => "disable",
            (Deed::Replace, _) => "update",
        };
        AuditEntry {
            number: 0,
            at: at.to_owned(),
            who: author.who.clone(),
            address: author.address.clone(),
            via: author.via.clone(),
            action: action.to_owned(),
            tenant: self.key.tenant.clone(),
            name: self.name.clone(),
            revision: self.revision,
            changes: self.changes.clone(),
            previous: String::new(),
            hash: String::new(),
        }
    }
}
