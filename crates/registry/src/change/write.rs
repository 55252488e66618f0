//! Registering, switching and removing: checked first, then written in one transaction, then published before the
//! answer goes out. If that cannot be read back, the snapshot's revision is below the written one.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{
    Action, Author, Change, Expected, Problem, Revision, Row, Severity, StoreError, ToolKey, ToolName,
};

use super::Changes;
use super::error::{Conflict, WriteError};
use crate::catalog::{Entry, Snapshot};
use crate::intake::{Registration, error_at};
use crate::source_id::SourceId;

/// What becomes of a batch in which some definitions have errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchMode {
    /// Nothing is written unless everything is good.
    AllOrNothing,
    /// The good ones are written.
    EachOnItsOwn,
}

/// What became of one registration.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The name, if it has one.
    pub name: Option<String>,
    /// Whose it is; everybody's if absent.
    pub tenant: Option<String>,
    /// What was done.
    pub written: Written,
    /// What is wrong with it, warnings included.
    pub problems: Vec<Problem>,
}

/// What was done with one registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A new tool.
    Created,
    /// A tool of that name was replaced.
    Updated,
    /// Not written: it is what is there already.
    Unchanged,
    /// Not written: it has errors.
    Refused,
    /// Not written: it is good, but another one of the batch is not.
    HeldBack,
}

/// Which definition to change, and what must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    /// Whose; everybody's if absent.
    pub tenant: Option<String>,
    /// Its name, in any case.
    pub name: String,
    /// What must be there for the change to be made.
    pub expected: Expected,
}

impl Which {
    /// The shared definition of that name, whatever it is.
    pub fn shared(name: &str) -> Self {
        Self { tenant: None, name: name.to_owned(), expected: Expected::Anything }
    }

    /// What it is kept under.
    pub fn key(&self) -> ToolKey {
        ToolKey { tenant: self.tenant.clone(), name: ToolName::fold(&self.name) }
    }

    pub(crate) fn conflict(&self, found: Option<Row>) -> WriteError {
        let (name, expected) = (self.name.clone(), self.expected);
        WriteError::Conflict(Box::new(Conflict { name, expected, found, proposed: None }))
    }

    /// Whether what is there is what was expected.
    pub(crate) fn is_met(&self, found: Option<&Row>) -> bool {
        match self.expected {
            Expected::Anything => true,
            Expected::Absent => found.is_none(),
            Expected::Version(version) => found.is_some_and(|row| row.version == version),
        }
    }
}

/// What a change of one definition led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its name as written.
    pub name: String,
    /// The revision of the store.
    pub revision: Revision,
    /// The version of the definition; none if it was removed.
    pub version: Option<Revision>,
}

/// Registrations on their way into the store.
struct Batch {
    /// What there is before.
    snapshot: Arc<Snapshot>,
    /// Whether that is what the store has.
    is_current: bool,
    seen: HashSet<ToolKey>,
    /// Each with the place of its registration.
    changes: Vec<(usize, Change)>,
}

impl Changes {
    /// Registers definitions. A result comes back for each, in order; the second is the revision they led to, if
    /// anything was written.
    pub async fn register(
        &self,
        registrations: Vec<Registration>,
        mode: BatchMode,
        author: &Author,
    ) -> Result<(Vec<Registered>, Revision), WriteError> {
        let is_current = self.be_current().await;
        let snapshot = self.catalog.snapshot();
        let mut batch = Batch { snapshot, is_current, seen: HashSet::new(), changes: Vec::new() };
        let mut results = tokio::task::block_in_place(|| {
            let check = |(index, registration)| self.check_registration(index, registration, &mut batch);
            registrations.into_iter().enumerate().map(check).collect::<Vec<_>>()
        });
        let any_refused = results.iter().any(|result| result.written == Written::Refused);
        if any_refused && mode == BatchMode::AllOrNothing {
            for result in &mut results {
                if !matches!(result.written, Written::Refused | Written::Unchanged) {
                    result.written = Written::HeldBack;
                }
            }
            batch.changes.clear();
        }
        let revision = match mode {
            BatchMode::AllOrNothing => self.write_batch(&batch.changes, author).await?,
            BatchMode::EachOnItsOwn => self.write_good(batch.changes, &mut results, author).await?,
        };
        Ok((results, revision))
    }

    /// Takes over what others have written, and returns whether that could be done.
    async fn be_current(&self) -> bool {
        let Ok(revision) = self.store.revision().await else {
            return false;
        };
        if self.catalog.snapshot().revision != revision {
            self.intake.refresh_store().await;
        }
        self.catalog.snapshot().revision >= revision
    }

    async fn write_batch(
        &self,
        changes: &[(usize, Change)],
        author: &Author,
    ) -> Result<Revision, WriteError> {
        if changes.is_empty() {
            return Ok(self.catalog.snapshot().revision);
        }
        let changes: Vec<Change> = changes.iter().map(|(_, change)| change.clone()).collect();
        self.write(&changes, author).await
    }

    /// Writes those that nobody else has changed meanwhile; every round leaves at least one out, so this ends.
    async fn write_good(
        &self,
        mut changes: Vec<(usize, Change)>,
        results: &mut [Registered],
        author: &Author,
    ) -> Result<Revision, WriteError> {
        loop {
            let conflict = match self.write_batch(&changes, author).await {
                Err(WriteError::Conflict(conflict)) => conflict,
                ended => return ended,
            };
            let key = ToolName::fold(&conflict.name);
            let lost =
                |change: &Change| change.expected == conflict.expected && ToolName::fold(&change.name) == key;
            let Some(place) = changes.iter().position(|(_, change)| lost(change)) else {
                return Err(WriteError::Conflict(conflict));
            };
            let (index, _) = changes.remove(place);
            if let Some(result) = results.get_mut(index) {
                result.written = Written::Refused;
                result.problems.push(error_at("", conflict.to_string()));
            }
        }
    }

    fn check_registration(
        &self,
        index: usize,
        mut registration: Registration,
        batch: &mut Batch,
    ) -> Registered {
        let mut problems: Vec<Problem> = registration.settle_name().into_iter().collect();
        let (compiled, found) =
            self.intake.compiler().compile(registration.document.clone(), &Arc::from(""), SourceId::Store);
        problems.extend(found);
        let name = registration.document.get("name").and_then(Value::as_str).map(str::to_owned);
        let tenant = registration.tenant.clone();
        let mut replaced = false;
        if let Some(name) = &name {
            let existing = batch.snapshot.entry_of(tenant.as_deref(), name);
            let existing = existing.filter(|entry| entry.source == SourceId::Store);
            replaced = existing.is_some();
            let key = ToolKey { tenant: tenant.clone(), name: ToolName::fold(name) };
            problems.extend(clash(name, existing, batch.seen.insert(key)));
        }
        let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
        for problem in &mut problems {
            problem.pointer = format!("{}{}", registration.base, problem.pointer);
        }
        let (Some(finished), false) = (compiled, refused) else {
            return Registered { name, tenant, written: Written::Refused, problems };
        };
        let enabled = registration.settle_switch();
        if batch.is_current
            && let Some(name) = &name
            && let Some(entry) = batch.snapshot.entry_of(tenant.as_deref(), name)
            && is_there(entry, &registration, enabled)
        {
            return Registered { name: Some(name.clone()), tenant, written: Written::Unchanged, problems };
        }
        let change = Change {
            tenant: tenant.clone(),
            name: finished.name.to_string(),
            expected: registration.expected,
            action: Action::Put { enabled, config_json: registration.document.to_string() },
        };
        batch.changes.push((index, change));
        let written = if replaced { Written::Updated } else { Written::Created };
        Registered { name, tenant, written, problems }
    }

    /// Switches a tool on or off. Where it is so already, nothing is written.
    pub async fn set_enabled(
        &self,
        which: &Which,
        enabled: bool,
        author: &Author,
    ) -> Result<Done, WriteError> {
        let row = self.stored(which).await?;
        let document: Option<Value> = serde_json::from_str(&row.config_json).ok();
        let action = match document {
            // Written by another program with its own word on it, which the column could not overrule.
            Some(Value::Object(mut members))
                if enabled && members.get("enabled") == Some(&Value::Bool(false)) =>
            {
                members.shift_remove("enabled");
                Action::Put { enabled, config_json: Value::Object(members).to_string() }
            }
            _ if row.enabled == enabled => return self.already(which, row).await,
            _ => Action::SetEnabled(enabled),
        };
        let change = Change { tenant: row.tenant, name: row.name.clone(), expected: which.expected, action };
        let revision = self.write(&[change], author).await?;
        Ok(Done { name: row.name, revision, version: Some(revision) })
    }

    /// Removes a tool for good.
    pub async fn purge(&self, which: &Which, author: &Author) -> Result<Done, WriteError> {
        let Row { tenant, name, .. } = self.stored(which).await?;
        let change = Change { tenant, name: name.clone(), expected: which.expected, action: Action::Purge };
        let revision = self.write(&[change], author).await?;
        Ok(Done { name, revision, version: None })
    }

    /// What is asked for is so, if it is what was expected.
    pub(crate) async fn already(&self, which: &Which, row: Row) -> Result<Done, WriteError> {
        if !which.is_met(Some(&row)) {
            return Err(which.conflict(Some(row)));
        }
        // Another replica may have made it so just now.
        self.intake.refresh_store().await;
        if !row.enabled {
            let change = Change {
                tenant: row.tenant,
                name: row.name.clone(),
                expected: Expected::Anything,
                action: Action::SetEnabled(false),
            };
            self.intake.withdraw_unread(&[change], row.version);
        }
        let revision = self.catalog.snapshot().revision.max(row.version);
        Ok(Done { name: row.name, revision, version: Some(row.version) })
    }

    pub(crate) async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, WriteError> {
        let written = self.store.write(changes, author).await;
        if matches!(written, Err(StoreError::Unknown { .. })) {
            self.intake.refresh_store().await;
        }
        self.writes.note(&written);
        let revision = written.map_err(|error| WriteError::of_write(error, changes))?;
        self.intake.refresh_store().await;
        self.intake.withdraw_unread(changes, revision);
        Ok(revision)
    }

    /// The row of a definition, as the store has it now.
    pub async fn stored(&self, which: &Which) -> Result<Row, WriteError> {
        let Which { tenant, name, .. } = which;
        let tenant = tenant.as_deref();
        if let Some(row) = self.store.find(tenant, name).await? {
            return Ok(row);
        }
        Err(match (self.catalog.seen_by(tenant).entry(name), tenant) {
            (Some(entry), _) if entry.source != SourceId::Store => {
                WriteError::Elsewhere { name: entry.name.clone(), origin: entry.origin.clone() }
            }
            (Some(entry), Some(tenant)) => {
                WriteError::Shared { name: entry.name.clone(), tenant: tenant.to_owned() }
            }
            (Some(_) | None, _) => WriteError::NotFound(name.clone()),
        })
    }
}

/// Whether a definition without a fault is in the store as it was sent, its switch included.
fn is_there(entry: &Entry, registration: &Registration, enabled: bool) -> bool {
    let expected = match registration.expected {
        Expected::Anything => true,
        Expected::Absent => false,
        Expected::Version(version) => entry.version == Some(version),
    };
    expected
        && entry.source == SourceId::Store
        && entry.switched_on == enabled
        && !entry.has_errors()
        && serde_json::from_str::<Value>(&entry.document)
            .is_ok_and(|document| document == registration.document)
}

/// Names are unique by folded case: another spelling is a mistake more often than a wish to rename.
fn clash(name: &str, existing: Option<&Arc<Entry>>, first: bool) -> Option<Problem> {
    if !first {
        return Some(error_at(
            "/name",
            format!("{name:?} is in this batch twice; names ignore case, keep one"),
        ));
    }
    let existing = existing.filter(|entry| entry.name != name)?;
    let message = format!(
        "there is already {:?}, and names ignore case; use that spelling to replace it, or another name",
        existing.name
    );
    Some(error_at("/name", message))
}
