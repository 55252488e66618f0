//! What a write comes to, worked out before anything is written: which changes have an effect, what each leads to, and
//! whether somebody else was first. The revision is locked meanwhile, so every number is known.

use std::collections::HashMap;

use toolrail_core::{Action, Change, Revision, Row, StoreError, ToolKey};

use crate::effect::{Effect, check, key_of};

/// What is done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Create,
    Replace,
    Switch,
    Remove,
}

/// A change that has an effect.
pub(super) struct Step<'a> {
    pub(super) key: ToolKey,
    pub(super) deed: Deed,
    pub(super) effect: Effect<'a>,
}

/// The rows that are there, by key; follows what each change makes of them.
pub(super) type Rows = HashMap<ToolKey, Row>;

/// The steps of a write after that revision, or the conflict that forbids it.
pub(super) fn plan(
    changes: &[Change],
    mut rows: Rows,
    mut revision: Revision,
) -> Result<Vec<Step<'_>>, StoreError> {
    let mut steps = Vec::with_capacity(changes.len());
    for change in changes {
        let key = key_of(change);
        let before = rows.remove(&key);
        check(change, before.as_ref())?;
        let Some((deed, after)) = outcome(change, before.as_ref(), revision + 1) else { continue };
        revision += 1;
        rows.extend(after.map(|row| (key.clone(), row)));
        steps.push(Step { key, deed, effect: Effect::on(before, change, revision) });
    }
    Ok(steps)
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

impl Step<'_> {
    /// Whether the definition may be called from then on.
    pub(super) fn enabled(&self) -> bool {
        match self.effect.change.action {
            Action::Put { enabled, .. } | Action::SetEnabled(enabled) => enabled,
            Action::Purge => false,
        }
    }

    /// The definition that is put; empty if none is.
    pub(super) fn config_json(&self) -> &str {
        match &self.effect.change.action {
            Action::Put { config_json, .. } => config_json,
            Action::SetEnabled(_) | Action::Purge => "",
        }
    }
}
