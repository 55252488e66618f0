//! Doing what clients ask of a task, whether it runs here or with another replica.

use super::task::Task;
use super::write::detailed;
use crate::finish::Finish;
use crate::relay::Errand;
use crate::reply::Outcome;

impl Errand {
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
