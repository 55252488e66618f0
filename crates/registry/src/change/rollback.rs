//! Going back: one definition to one of its versions, or all of them to how they were at a revision.

use std::collections::HashMap;

use toolrail_core::{
    Action, Author, Change, Problem, Revision, Row, Severity, ToolKey, ToolName, Version, VersionKind,
};

use super::Changes;
use super::contradiction::{Contradiction, HistoryFault};
use super::contradictions::key_of;
use super::error::WriteError;
use super::plan::{Covers, Desired, Plan, PlanMode, Step};
use super::stored_form::{document_of, form_of_row, form_of_version};
use super::write::{Done, Which};
use crate::intake::with_name;
use crate::source_id::SourceId;

/// Up to how many versions are compared with the audit record by themselves; for more, the whole history is.
const ONE_BY_ONE: usize = 200;

/// What going back to a version led to.
#[derive(Clone, Debug)]
pub struct RolledBack {
    /// The definition as it is now.
    pub done: Done,
    /// The version that was there, if any.
    pub from: Option<Revision>,
    /// What was done.
    pub outcome: RollbackOutcome,
    /// What is poor about what was restored.
    pub warnings: Vec<Problem>,
}

/// What going back to a version meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollbackOutcome {
    /// The definition is as it was then.
    Restored,
    /// It was removed then, and is again.
    Removed,
    /// It was as it was then already.
    Unchanged,
}

impl Changes {
    /// Makes a definition what it was at one of its versions: its text and its switch, or removed if it was. Each way
    /// back is a version of its own, so that it can be undone as well.
    pub async fn roll_back(
        &self,
        which: &Which,
        to: Revision,
        author: &Author,
    ) -> Result<RolledBack, WriteError> {
        let version = self.version(&which.key(), to).await?;
        let row = self.store.find(which.tenant.as_deref(), &which.name).await?;
        let from = row.as_ref().map(|row| row.version);
        if row.as_ref().map(form_of_row) == form_of_version(&version) {
            let done = self.as_it_is(which, row, &version).await?;
            return Ok(RolledBack { done, from, outcome: RollbackOutcome::Unchanged, warnings: Vec::new() });
        }
        self.refuse_contradicted(&version).await?;
        let (action, warnings, outcome) = match version.kind {
            VersionKind::Removed => (Action::Purge, Vec::new(), RollbackOutcome::Removed),
            VersionKind::Created | VersionKind::Updated => {
                let warnings = self.check_restored(&version)?;
                let put = Action::Put { enabled: version.enabled, config_json: version.config_json.clone() };
                (put, warnings, RollbackOutcome::Restored)
            }
        };
        let (tenant, name) = (version.tenant.clone(), version.name.clone());
        let change = Change { tenant, name: name.clone(), expected: which.expected, action };
        let revision = self.write(&[change], author).await?;
        let there = (outcome == RollbackOutcome::Restored).then_some(revision);
        Ok(RolledBack { done: Done { name, revision, version: there }, from, outcome, warnings })
    }

    async fn as_it_is(&self, which: &Which, row: Option<Row>, version: &Version) -> Result<Done, WriteError> {
        match row {
            Some(row) => self.already(which, row).await,
            None if !which.is_met(None) => Err(which.conflict(None)),
            None => {
                let revision = self.store.revision().await?;
                Ok(Done { name: version.name.clone(), revision, version: None })
            }
        }
    }

    /// A version that would be broken now is no way back.
    fn check_restored(&self, version: &Version) -> Result<Vec<Problem>, WriteError> {
        // A row's document may leave the name out: the column has it. What is restored is the text as it was.
        let document = with_name(document_of(&version.config_json), &version.name);
        let problems =
            tokio::task::block_in_place(|| self.intake.compiler().check(&document, SourceId::Store));
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(WriteError::Refused(problems));
        }
        Ok(problems)
    }

    /// What must change for all definitions to be as they were at that revision.
    pub async fn plan_rollback(&self, to: Revision, covers: &Covers) -> Result<Plan, WriteError> {
        let store = &self.store;
        let now = store.revision().await?;
        if !(1..=now).contains(&to) {
            return Err(WriteError::NoRevision { asked: to, now });
        }
        let then = store.state_at(to).await?;
        let covered = |version: &Version| covers.includes(version.tenant.as_deref());
        let then: HashMap<ToolKey, Version> =
            then.into_iter().filter(covered).map(|version| (key_of(&version), version)).collect();
        let desired = then.values().cloned().map(|version| Desired {
            tenant: version.tenant,
            name: version.name,
            enabled: version.enabled,
            config_json: version.config_json,
        });
        let plan = self.plan(desired.collect(), covers, PlanMode::Exactly).await?;
        self.refuse_contradicted_steps(&plan, &then).await?;
        Ok(plan)
    }

    /// What a plan would restore must be what was written.
    async fn refuse_contradicted_steps(
        &self,
        plan: &Plan,
        then: &HashMap<ToolKey, Version>,
    ) -> Result<(), WriteError> {
        let key = |step: &Step| ToolKey { tenant: step.tenant.clone(), name: ToolName::fold(&step.name) };
        let restored: Vec<&Version> = plan.steps.iter().filter_map(|step| then.get(&key(step))).collect();
        if restored.len() <= ONE_BY_ONE {
            for version in restored {
                self.refuse_contradicted(version).await?;
            }
            return Ok(());
        }
        let entries = self.audit_head().await?.map_or(0, |head| head.number);
        let found = self.contradictions(entries).await?;
        let is_restored = |found: &Contradiction| {
            restored.iter().any(|version| match found.fault {
                HistoryFault::Otherwise => version.revision == found.version,
                HistoryFault::OtherwiseOr(before) => [found.version, before].contains(&version.revision),
                HistoryFault::Missing => false,
            })
        };
        match found.into_iter().find(is_restored) {
            Some(found) => Err(WriteError::Contradicted(Box::new(found))),
            None => Ok(()),
        }
    }

    /// Makes all definitions what they were at that revision, in one write or not at all, and returns what that took. What
    /// somebody else makes of them meanwhile does not count, and stays in the history.
    pub async fn roll_back_all(
        &self,
        to: Revision,
        covers: &Covers,
        author: &Author,
    ) -> Result<(Plan, Revision), WriteError> {
        let plan = self.plan_rollback(to, covers).await?;
        let changes: Vec<Change> = plan.changes().cloned().collect();
        if changes.is_empty() {
            return Ok((plan, self.store.revision().await?));
        }
        let revision = match self.write(&changes, author).await {
            // Then from whatever is there: with conditions, somebody who keeps writing would keep this from ever ending.
            Err(WriteError::Conflict(_)) => {
                let changes: Vec<Change> = plan.unconditional().collect();
                self.write(&changes, author).await?
            }
            written => written?,
        };
        Ok((plan, revision))
    }
}
