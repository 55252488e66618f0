//! What the store keeps of one version of the rules.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolrail_core::Severity;

use crate::rulebook::Rulebook;

/// The kind of these records in the store.
pub(crate) const KIND: &str = "permissions";

/// One version of the rules. A newer program may keep more: then this one does not know what was meant, and says so.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionRecord {
    pub(crate) document: Value,
    pub(crate) who: String,
    /// RFC 3339.
    pub(crate) at: String,
    pub(crate) via: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl VersionRecord {
    /// Why it cannot be read, if it cannot.
    pub(crate) fn read(body: &str) -> Result<Self, String> {
        serde_json::from_str(body)
            .map_err(|wrong| format!("it is not written as this program writes it ({wrong})"))
    }

    /// Its rules, or why they cannot be used.
    pub(crate) fn rulebook(&self) -> Result<Rulebook, String> {
        let reading = Rulebook::read(&self.document);
        let first = || reading.problems.iter().find(|problem| problem.severity == Severity::Error);
        reading.rulebook.ok_or_else(|| first().map_or_else(String::new, ToString::to_string))
    }
}

/// The id of a version. In the order of the texts, the newest comes last.
pub(crate) fn id_of(version: i64) -> String {
    format!("{version:010}")
}

/// The version of an id.
pub(crate) fn version_of(id: &str) -> Option<i64> {
    id.parse().ok().filter(|version| *version > 0 && id_of(*version) == id)
}
