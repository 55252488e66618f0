//! Why a change was not made, or a version not read.

use std::fmt;

use toolrail_core::{Action, Change, Expected, Problem, Revision, Row, StoreError, ToolName};

use super::contradiction::Contradiction;

/// Why a change was not made, or what is asked for cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no such definition.
    #[error("there is no definition named {0:?}; GET /admin/tools lists them")]
    NotFound(String),
    /// The tenant sees it, but it is not the tenant's own.
    #[error(
        "{tenant:?} has no definition {name:?} of its own, only the shared one; change that without a tenant"
    )]
    Shared {
        /// Its name.
        name: String,
        /// Who asked.
        tenant: String,
    },
    /// It is there, but not in the store.
    #[error("{name:?} comes from {origin}, not from the store; change it there")]
    Elsewhere {
        /// Its name.
        name: String,
        /// Where it comes from.
        origin: String,
    },
    /// Somebody else changed it first.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// It has no history at all.
    #[error("there is no history of {0:?}: the store never had it; GET /admin/history shows what changed")]
    NoHistory(String),
    /// It has no version of that number.
    #[error(
        "{name:?} has no version {asked} (its newest: {}); GET /admin/tools/{name}/history lists them",
        numbers(newest)
    )]
    NoVersion {
        /// Its name.
        name: String,
        /// The number asked for.
        asked: Revision,
        /// The newest versions it has.
        newest: Vec<Revision>,
    },
    /// The store has not come that far.
    #[error("the store has no revision {asked}: it is at {now}; GET /admin/history shows how it came there")]
    NoRevision {
        /// The revision asked for.
        asked: Revision,
        /// The revision of the store.
        now: Revision,
    },
    /// The version to go back to is not what was written.
    #[error("{0}; it was not restored, `toolrail audit verify` tells more")]
    Contradicted(Box<Contradiction>),
    /// What would be written has errors.
    #[error("the definition has errors, so it was not written")]
    Refused(Vec<Problem>),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

fn numbers(versions: &[Revision]) -> String {
    versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A change that would have overwritten somebody else's.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// Which definition.
    pub name: String,
    /// What the writer took to be there.
    pub expected: Expected,
    /// What is there.
    pub found: Option<Row>,
    /// What the writer wanted to write, if it was a definition: the switch and the text.
    pub proposed: Option<(bool, String)>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, expected, found, .. } = self;
        let found = found.as_ref().map(|row| row.version);
        match (expected, found) {
            (Expected::Absent, _) => {
                write!(
                    formatter,
                    "there is already a definition named {name:?}; name its version to replace it"
                )
            }
            (Expected::Version(version), Some(found)) => write!(
                formatter,
                "{name:?} was changed by somebody else: you expected version {version}, version {found} is there; look at it and try again"
            ),
            (Expected::Version(version), None) => write!(
                formatter,
                "{name:?} was removed by somebody else: you expected version {version}; leave the version out to create it anew"
            ),
            (Expected::Anything, _) => {
                write!(formatter, "{name:?} was changed by somebody else at the same time; try again")
            }
        }
    }
}

impl std::error::Error for Conflict {}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::of_write(error, &[])
    }
}

impl WriteError {
    /// What a store said of a write; a conflict comes with what the write would have made of the definition.
    pub(crate) fn of_write(error: StoreError, changes: &[Change]) -> Self {
        let StoreError::Conflict { name, expected, found } = error else {
            return Self::Store(error);
        };
        let found = found.map(|row| *row);
        let key = ToolName::fold(&name);
        let same = |change: &&Change| {
            change.expected == expected
                && ToolName::fold(&change.name) == key
                && found.as_ref().is_none_or(|row| row.tenant == change.tenant)
        };
        let proposed = changes.iter().find(same).and_then(|change| match &change.action {
            Action::Put { enabled, config_json } => Some((*enabled, config_json.clone())),
            Action::SetEnabled(_) | Action::Purge => None,
        });
        Self::Conflict(Box::new(Conflict { name, expected, found, proposed }))
    }
}
