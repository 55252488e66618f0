//! From the definitions there are to those there should be: what to create, change, switch and remove. Nothing is
//! written for what is so already, so that doing it twice changes nothing the second time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolrail_core::{
    Action, Author, Change, Difference, Expected, Revision, Row, ToolKey, ToolName, differences,
};

use super::Changes;
use super::error::WriteError;
use super::stored_form::{form_of_row, named, same_but_switch, stored_form};

/// The most changes that are written at once.
const PORTION: usize = 1_000;

/// A definition as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// Whose; everybody's if absent.
    pub tenant: Option<String>,
    /// Its name.
    pub name: String,
    /// Whether it may be called.
    pub enabled: bool,
    /// The definition as JSON text.
    pub config_json: String,
}

/// Whose definitions a plan is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covers {
    /// Everybody's.
    All,
    /// Those of these tenants; none stands for the shared ones.
    Only(BTreeSet<Option<String>>),
}

impl Covers {
    /// Only those of one tenant, or the shared ones.
    pub fn one(tenant: Option<&str>) -> Self {
        Self::Only(BTreeSet::from([tenant.map(str::to_owned)]))
    }

    /// Whether that tenant's are covered.
    pub fn includes(&self, tenant: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(tenants) => tenants.iter().any(|covered| covered.as_deref() == tenant),
        }
    }
}

/// How far a plan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMode {
    /// Creates what is missing; what is there stays as it is.
    Add,
    /// Also changes what is there.
    AddAndChange,
    /// Also removes what is not desired.
    Exactly,
}

/// What is to be done with one definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// It is new.
    Create,
    /// Its text changes.
    Update,
    /// Only its switch changes, to on.
    Enable,
    /// Only its switch changes, to off.
    Disable,
    /// It goes.
    Remove,
    /// It is otherwise than desired, and stays so.
    Keep,
}

impl StepKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Update, Self::Enable, Self::Disable, Self::Remove, Self::Keep];

    /// The word for it in answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Remove => "remove",
            Self::Keep => "keep",
        }
    }
}

/// What is to be done with one definition, and what that changes.
#[derive(Clone, Debug)]
pub struct Step {
    /// Whose; everybody's if absent.
    pub tenant: Option<String>,
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub kind: StepKind,
    /// What becomes otherwise, the switch as `/enabled`. Empty for what is created or removed.
    pub differences: Vec<Difference>,
    /// The change to write; none for what is kept.
    change: Option<Change>,
    /// What was desired where only the switch changes, or something else is kept.
    desired: Option<String>,
}

impl Step {
    /// The definition that was sent, if it is another than the one in the store.
    pub fn document(&self) -> Option<&str> {
        match self.change.as_ref().map(|change| &change.action) {
            Some(Action::Put { config_json, .. }) => Some(config_json),
            Some(Action::SetEnabled(_) | Action::Purge) => None,
            None => self.desired.as_deref(),
        }
    }
}

/// All there is to do, in the order of tenants and names.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is to be done.
    pub steps: Vec<Step>,
    /// How many are as they should be.
    pub unchanged: usize,
}

impl Plan {
    /// The changes to write.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.steps.iter().filter_map(|step| step.change.as_ref())
    }

    /// Changes that lead there from anything: all of a definition is put, and nothing is expected.
    pub(crate) fn unconditional(&self) -> impl Iterator<Item = Change> {
        self.steps.iter().filter_map(|step| {
            let Change { tenant, name, action, .. } = step.change.clone()?;
            let action = match (action, &step.desired) {
                (Action::SetEnabled(enabled), Some(config_json)) => {
                    Action::Put { enabled, config_json: config_json.clone() }
                }
                (action, _) => action,
            };
            Some(Change { tenant, name, expected: Expected::Anything, action })
        })
    }

    /// How many steps of that kind there are.
    pub fn count(&self, kind: StepKind) -> usize {
        self.steps.iter().filter(|step| step.kind == kind).count()
    }

    fn add(&mut self, desired: Desired, row: Option<&Row>, mode: PlanMode) {
        let Desired { tenant, name, enabled, config_json } = desired;
        let after = named(stored_form(enabled, &config_json), &name);
        let before = row.map(|row| named(form_of_row(row), &row.name));
        if before.as_ref() == Some(&after) {
            self.unchanged += 1;
            return;
        }
        let kind = if mode == PlanMode::Add && row.is_some() {
            StepKind::Keep
        } else {
            kind_of(before.as_ref(), &after, row)
        };
        let differences = before.as_ref().map(|before| differences(Some(before), Some(&after)));
        let (action, desired) = match kind {
            StepKind::Create | StepKind::Update => (Some(Action::Put { enabled, config_json }), None),
            StepKind::Enable => (Some(Action::SetEnabled(true)), Some(config_json)),
            StepKind::Disable => (Some(Action::SetEnabled(false)), Some(config_json)),
            StepKind::Remove | StepKind::Keep => (None, Some(config_json)),
        };
        let change = action.map(|action| Change {
            tenant: tenant.clone(),
            name: name.clone(),
            expected: expected(row),
            action,
        });
        let differences = differences.unwrap_or_default();
        self.steps.push(Step { tenant, name, kind, differences, change, desired });
    }

    fn remove(&mut self, row: &Row) {
        let (tenant, name) = (row.tenant.clone(), row.name.clone());
        let change = Change {
            tenant: tenant.clone(),
            name: name.clone(),
            expected: expected(Some(row)),
            action: Action::Purge,
        };
        self.steps.push(Step {
            tenant,
            name,
            kind: StepKind::Remove,
            differences: Vec::new(),
            change: Some(change),
            desired: None,
        });
    }
}

/// The column alone can only switch what the document itself does not switch off.
fn kind_of(before: Option<&Value>, after: &Value, row: Option<&Row>) -> StepKind {
    let (Some(before), Some(row)) = (before, row) else {
        return StepKind::Create;
    };
    match after["enabled"].as_bool() {
        Some(false) if same_but_switch(before, after) => StepKind::Disable,
        Some(true) if same_but_switch(before, after) && !row.enabled && says_nothing(row) => StepKind::Enable,
        _ => StepKind::Update,
    }
}

fn says_nothing(row: &Row) -> bool {
    serde_json::from_str::<Value>(&row.config_json).is_ok_and(|document| document["enabled"] != false)
}

/// How far applying a plan came.
#[derive(Debug)]
pub struct Applied {
    /// How many changes were written.
    pub written: usize,
    /// The revision they led to.
    pub revision: Revision,
    /// Why the others were not, if any were not.
    pub failure: Option<WriteError>,
}

impl Changes {
    /// Every row of the store, at the revision it has them at.
    pub async fn rows(&self) -> Result<(Revision, BTreeMap<ToolKey, Row>), WriteError> {
        let store = &self.store;
        let (mut revision, mut rows) = (0, BTreeMap::new());
        loop {
            let changes = store.changes_since(revision).await?;
            for key in changes.removed {
                rows.remove(&key);
            }
            for row in changes.rows {
                let key = ToolKey { tenant: row.tenant.clone(), name: ToolName::fold(&row.name) };
                rows.insert(key, row);
            }
            // A store that says there is more without coming further would be asked for ever.
            if !changes.more || changes.revision <= revision {
                return Ok((changes.revision, rows));
            }
            revision = changes.revision;
        }
    }

    /// What it takes for the store to have those definitions. Of two of one name the last counts.
    pub async fn plan(
        &self,
        desired: Vec<Desired>,
        covers: &Covers,
        mode: PlanMode,
    ) -> Result<Plan, WriteError> {
        let (_, rows) = self.rows().await?;
        let key = |one: &Desired| ToolKey { tenant: one.tenant.clone(), name: ToolName::fold(&one.name) };
        let mut desired: BTreeMap<ToolKey, Desired> =
            desired.into_iter().map(|desired| (key(&desired), desired)).collect();
        let keys: BTreeSet<ToolKey> = rows.keys().chain(desired.keys()).cloned().collect();
        Ok(tokio::task::block_in_place(|| {
            let mut plan = Plan::default();
            for key in keys {
                match (desired.remove(&key), rows.get(&key)) {
                    (Some(wanted), row) => plan.add(wanted, row, mode),
                    (None, Some(row))
                        if mode == PlanMode::Exactly && covers.includes(row.tenant.as_deref()) =>
                    {
                        plan.remove(row);
                    }
                    (None, _) => {}
                }
            }
            plan
        }))
    }

    /// Writes what a plan says, up to a thousand changes at once and each thousand whole or not at all. `progress` is told
    /// how many are written after each.
    pub async fn apply(
        &self,
        plan: &Plan,
        author: &Author,
        progress: &(dyn Fn(usize) + Send + Sync),
    ) -> Result<Applied, WriteError> {
        let store = &self.store;
        let changes: Vec<Change> = plan.changes().cloned().collect();
        let mut applied = Applied { written: 0, revision: self.catalog.snapshot().revision, failure: None };
        for portion in changes.chunks(PORTION) {
            match store.write(portion, author).await {
                Ok(revision) => {
                    applied.revision = revision;
                    applied.written += portion.len();
                    progress(applied.written);
                }
                Err(error) => {
                    applied.failure = Some(WriteError::of_write(error, portion));
                    break;
                }
            }
        }
        if applied.written > 0 {
            self.intake.refresh_store().await;
            self.intake.withdraw_unread(&changes[..applied.written], applied.revision);
        }
        Ok(applied)
    }
}

/// Nothing of a definition may be lost that nobody has looked at.
fn expected(row: Option<&Row>) -> Expected {
    row.map_or(Expected::Absent, |row| Expected::Version(row.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_repeat_its_name_is_the_same_as_a_file_that_does() {
        let row = Row {
            tenant: None,
            name: "a".into(),
            enabled: true,
            config_json: r#"{"http":{"url":"x"}}"#.into(),
            version: 1,
            updated_at: String::new(),
            updated_by: None,
        };
        let desired = |config_json: &str| Desired {
            tenant: None,
            name: "a".into(),
            enabled: true,
            config_json: config_json.into(),
        };
        let mut plan = Plan::default();
        plan.add(desired(r#"{"name":"a","http":{"url":"x"}}"#), Some(&row), PlanMode::Exactly);
        assert_eq!((plan.unchanged, plan.steps.len()), (1, 0));
        plan.add(desired(r#"{"name":"a","http":{"url":"y"}}"#), Some(&row), PlanMode::Exactly);
        assert_eq!((plan.unchanged, plan.count(StepKind::Update)), (1, 1));
    }
}
