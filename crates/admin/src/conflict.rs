//! What a lost update is answered with: both versions, and how they differ.

use serde::Serialize;
use serde_json::Value;
use toolrail_core::{Difference, Expected, Revision, differences};
use toolrail_registry::{Conflict, document_of, stored_form};

/// Both sides of a conflict.
#[derive(Debug, Serialize)]
pub(crate) struct ConflictBody {
    yours: Yours,
    /// What is there; null if nothing is.
    current: Option<Current>,
    /// What yours would change about what is there, the switch as `/enabled`.
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Yours {
    /// The version it was meant to replace; null if it was meant to be new.
    version: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_json: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Current {
    version: Revision,
    enabled: bool,
    config_json: Value,
    updated_at: String,
    updated_by: Option<String>,
}

impl From<Conflict> for ConflictBody {
    fn from(conflict: Conflict) -> Self {
        let Conflict { expected, found, proposed, .. } = conflict;
        let form = |(enabled, text): &(bool, String)| stored_form(*enabled, text);
        let after = proposed.as_ref().map(form);
        let before = found.as_ref().map(|row| stored_form(row.enabled, &row.config_json));
        // Nothing was proposed where a tool was to be switched or removed.
        let differences = after.map(|after| differences(before.as_ref(), Some(&after))).unwrap_or_default();
        let version = match expected {
            Expected::Version(version) => Some(version),
            Expected::Absent | Expected::Anything => None,
        };
        Self {
            yours: Yours {
                version,
                enabled: proposed.as_ref().map(|(enabled, _)| *enabled),
                config_json: proposed.as_ref().map(|(_, text)| document_of(text)),
            },
            current: found.map(|row| Current {
                version: row.version,
                enabled: row.enabled,
                config_json: document_of(&row.config_json),
                updated_at: row.updated_at,
                updated_by: row.updated_by,
            }),
            differences,
        }
    }
}
