//! What clients ask of a task, whether it runs here or with another replica.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::task::Task;
use super::write::detailed;
use crate::finish::Finish;
use crate::reply::Outcome;

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

    /// Does it, and gives the result.
    pub(crate) fn run(self, task: &Task, finish: Finish<'_>) -> Outcome {
        match self {
            Self::Get => return detailed(task, finish),
            Self::Update(answers) => task.answer(answers),
            Self::Cancel => task.cancel(),
        }
        finish.close(Outcome::whole("{"))
    }
}
