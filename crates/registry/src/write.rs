//! Registering, switching and removing: checked first, then written in one transaction, then published before the
//! answer goes out (R86, R128, R143).

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use toolrail_core::{
    Action, Author, Change, Expected, Problem, Revision, Severity, Store, StoreError, ToolName,
};

use crate::entry::{Entry, SourceId};
use crate::registry::Registry;
use crate::snapshot::Snapshot;

/// A definition to register, as it was given.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The definition.
    pub document: Value,
    /// Whether it may be called; the document's own word if absent.
    pub enabled: Option<bool>,
    /// JSON pointer from what the user sent to the definition, for problems.
    pub base: String,
    /// The name beside the document, which must agree with it.
    pub name: Option<String>,
}

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
    /// Not written: it has errors.
    Refused,
    /// Not written: it is good, but another one of the batch is not.
    HeldBack,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no such definition.
    #[error("there is no definition named {0:?}; GET /admin/tools lists them")]
    NotFound(String),
    /// It is there, but not in the store.
    #[error("{name:?} comes from {origin}, not from the store; change it there")]
    Elsewhere {
        /// Its name.
        name: String,
        /// Where it comes from.
        origin: String,
    },
    /// There is nothing to write to.
    #[error("this gateway has no store to write to")]
    NoStore,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Registration {
    /// Reads what an administrator sent: a bare definition, or `{name, enabled, configJson}` (R82, R83).
    pub fn from_request(body: Value, base: &str) -> Result<Self, Vec<Problem>> {
        let fault = |pointer: &str, message: String| {
            vec![Problem {
                severity: Severity::Error,
                tool: None,
                origin: None,
                pointer: format!("{base}{pointer}"),
                message,
                spot: None,
            }]
        };
        let Value::Object(mut members) = body else {
            return Err(fault("", "a definition is a JSON object; send it bare or as {\"name\": …, \"enabled\": …, \"configJson\": {…}}".into()));
        };
        let Some(key) = ["configJson", "config_json"].into_iter().find(|key| members.contains_key(*key))
        else {
            return Ok(Self {
                document: Value::Object(members),
                enabled: None,
                base: base.to_owned(),
                name: None,
            });
        };
        let document = match members.shift_remove(key).unwrap_or_default() {
            Value::String(text) => serde_json::from_str(&text)
                .map_err(|error| fault(&format!("/{key}"), format!("is a text that is not JSON: {error}")))?,
            document => document,
        };
        let (name, enabled) = wrapper_fields(&mut members, &fault)?;
        Ok(Self { document, enabled, base: format!("{base}/{key}"), name })
    }
}

type Fault<'a> = dyn Fn(&str, String) -> Vec<Problem> + 'a;

fn wrapper_fields(
    members: &mut Map<String, Value>,
    fault: &Fault<'_>,
) -> Result<(Option<String>, Option<bool>), Vec<Problem>> {
    let name = match members.shift_remove("name") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(fault("/name", "must be a string".into())),
    };
    let enabled = match members.shift_remove("enabled") {
        None => None,
        Some(Value::Bool(enabled)) => Some(enabled),
        Some(_) => return Err(fault("/enabled", "must be true or false".into())),
    };
    match members.keys().next() {
        Some(unknown) => Err(fault(
            &format!("/{unknown}"),
            format!("unknown field {unknown:?} beside configJson; known here: name, enabled, configJson"),
        )),
        None => Ok((name, enabled)),
    }
}

impl Registry {
    /// Registers definitions. A result comes back for each, in order; the second is the revision they led to, if
    /// anything was written.
    pub async fn register(
        &self,
        registrations: Vec<Registration>,
        mode: BatchMode,
        author: &Author,
    ) -> Result<(Vec<Registered>, Revision), WriteError> {
        let store = self.store()?;
        let snapshot = self.snapshot();
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        let checked = tokio::task::block_in_place(|| {
            registrations
                .into_iter()
                .map(|registration| self.check_registration(registration, &snapshot, &mut seen, &mut changes))
                .collect::<Vec<_>>()
        });
        let mut results = checked;
        let any_refused = results.iter().any(|result| result.written == Written::Refused);
        if any_refused && mode == BatchMode::AllOrNothing {
            for result in &mut results {
                if result.written != Written::Refused {
                    result.written = Written::HeldBack;
                }
            }
            changes.clear();
        }
        if changes.is_empty() {
            return Ok((results, snapshot.revision));
        }
        let revision = store.write(&changes, author).await?;
        self.refresh().await;
        Ok((results, revision))
    }

    fn check_registration(
        &self,
        registration: Registration,
        snapshot: &Snapshot,
        seen: &mut HashSet<String>,
        changes: &mut Vec<Change>,
    ) -> Registered {
        let Registration { mut document, enabled, base, name } = registration;
        let mut problems = Vec::new();
        if let (Some(name), Some(members)) = (&name, document.as_object_mut()) {
            match members.get("name").and_then(Value::as_str) {
                None => {
                    members.shift_insert(0, "name".into(), name.as_str().into());
                }
                Some(inner) if inner == name => {}
                Some(inner) => problems.push(error_at(
                    "/name",
                    format!(
                        "the definition says {inner:?} but the request says {name:?}; make them the same"
                    ),
                )),
            }
        }
        let (compiled, found) = self.compiler.compile(&document, &Arc::from(""), SourceId::Store);
        problems.extend(found);
        let name = document.get("name").and_then(Value::as_str).map(str::to_owned);
        let existing = name.as_deref().and_then(|name| snapshot.entry(name));
        if let Some(conflict) = name.as_deref().and_then(|name| conflict(name, existing, seen)) {
            problems.push(conflict);
        }
        let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
        for problem in &mut problems {
            problem.pointer = format!("{base}{}", problem.pointer);
        }
        let (Some(finished), false) = (compiled, refused) else {
            return Registered { name, written: Written::Refused, problems };
        };
        // The column says whether it is on; a second word in the document could only contradict it.
        document.as_object_mut().map(|members| members.shift_remove("enabled"));
        changes.push(Change {
            tenant: None,
            name: finished.name.to_string(),
            expected: Expected::Anything,
            action: Action::Put {
                enabled: enabled.unwrap_or(finished.enabled),
                config_json: document.to_string(),
            },
        });
        let replaced = existing.is_some_and(|entry| entry.source == SourceId::Store);
        Registered { name, written: if replaced { Written::Updated } else { Written::Created }, problems }
    }

    /// Switches a tool on or off.
    pub async fn set_enabled(
        &self,
        name: &str,
        enabled: bool,
        author: &Author,
    ) -> Result<Revision, WriteError> {
        let entry = self.stored(name)?;
        let document: Option<Value> = serde_json::from_str(&entry.document).ok();
        let action = match document {
            // Written by another program with its own word on it, which the column could not overrule.
            Some(Value::Object(mut members))
                if enabled && members.get("enabled") == Some(&Value::Bool(false)) =>
            {
                members.shift_remove("enabled");
                Action::Put { enabled, config_json: Value::Object(members).to_string() }
            }
            _ => Action::SetEnabled(enabled),
        };
        let change = Change { tenant: None, name: entry.name.clone(), expected: Expected::Anything, action };
        self.write(&[change], author).await
    }

    /// Removes a tool for good.
    pub async fn purge(&self, name: &str, author: &Author) -> Result<Revision, WriteError> {
        let entry = self.stored(name)?;
        let change = Change {
            tenant: None,
            name: entry.name.clone(),
            expected: Expected::Anything,
            action: Action::Purge,
        };
        self.write(&[change], author).await
    }

    async fn write(&self, changes: &[Change], author: &Author) -> Result<Revision, WriteError> {
        let revision = self.store()?.write(changes, author).await?;
        self.refresh().await;
        Ok(revision)
    }

    fn store(&self) -> Result<&Arc<dyn Store>, WriteError> {
        self.store.as_ref().ok_or(WriteError::NoStore)
    }

    fn stored(&self, name: &str) -> Result<Arc<Entry>, WriteError> {
        match self.snapshot().entry(name) {
            None => Err(WriteError::NotFound(name.to_owned())),
            Some(entry) if entry.source != SourceId::Store => {
                Err(WriteError::Elsewhere { name: entry.name.clone(), origin: entry.origin.clone() })
            }
            Some(entry) => Ok(Arc::clone(entry)),
        }
    }
}

/// Names are unique by folded case: another spelling is a mistake more often than a wish to rename.
fn conflict(name: &str, existing: Option<&Arc<Entry>>, seen: &mut HashSet<String>) -> Option<Problem> {
    if !seen.insert(ToolName::fold(name)) {
        return Some(error_at(
            "/name",
            format!("{name:?} is in this batch twice; names ignore case, keep one"),
        ));
    }
    let existing = existing.filter(|entry| entry.source == SourceId::Store && entry.name != name)?;
    let message = format!(
        "there is already {:?}, and names ignore case; use that spelling to replace it, or another name",
        existing.name
    );
    Some(error_at("/name", message))
}

fn error_at(pointer: &str, message: String) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: None,
        origin: None,
        pointer: pointer.to_owned(),
        message,
        spot: None,
    }
}
