//! One definition as the registry knows it: live, switched off, or broken, and where it came from.

use std::sync::Arc;

use serde::Serialize;
use toolrail_core::{Problem, Revision, Severity};

use crate::tool::Tool;

/// Which source a definition came from. Where two have the same name, the smaller one wins (R117).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceId {
    /// The database.
    Store,
    /// A folder of files.
    Files,
    /// The built-in demonstration.
    Demo,
}

impl SourceId {
    /// What it calls the text of a definition.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Store => "config_json",
            Self::Files | Self::Demo => "the definition",
        }
    }

    /// Its name for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Files => "files",
            Self::Demo => "demo",
        }
    }
}

/// One definition.
pub struct Entry {
    /// Its name as written.
    pub name: String,
    /// Where it came from.
    pub source: SourceId,
    /// The place in that source, for people.
    pub origin: String,
    /// Whether it may be called, if it compiled.
    pub enabled: bool,
    /// Whether its source has it switched on; the document may say otherwise.
    pub(crate) switched_on: bool,
    /// The definition as JSON text.
    pub document: Arc<str>,
    /// The compiled tool; absent if the definition has errors, unless it comes from a file in which it had none before: then
    /// this is the last good version.
    pub tool: Option<Arc<Tool>>,
    /// What is wrong with it, warnings included.
    pub problems: Vec<Problem>,
    /// The revision at which it last changed, in the store.
    pub version: Option<Revision>,
    /// When it last changed, in the store.
    pub updated_at: Option<String>,
    /// Who changed it last, in the store.
    pub updated_by: Option<String>,
}

impl Entry {
    /// The tool, if it may be called.
    pub fn live(&self) -> Option<&Arc<Tool>> {
        self.tool.as_ref().filter(|_| self.enabled)
    }

    /// `live`, `disabled` or `broken`. What is live may have errors: then its last good version is.
    pub fn state(&self) -> &'static str {
        match (&self.tool, self.enabled) {
            (None, _) => "broken",
            (Some(_), true) => "live",
            (Some(_), false) => "disabled",
        }
    }

    /// Whether anything keeps it, as it is written now, from going live.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}
