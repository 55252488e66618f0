//! What clients ask of a task.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something to be done with a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Errand {
    /// Tell where it stands.
    Get,
    /// Take answers to its questions.
    Update(Map<String, Value>),
    /// Stop it.
    Cancel,
}

impl Errand {
    /// Its method.
    pub(crate) const fn method(&self) -> &'static str {
        match self {
            Self::Get => "tasks/get",
            Self::Update(_) => "tasks/update",
            Self::Cancel => "tasks/cancel",
        }
    }
}
