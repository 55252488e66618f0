//! The client as the executor of a task sees it: nobody is on the line, but questions are answered by `tasks/update`.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolrail_core::{
    CallError, Caller, CallerToken, ErrorCode, InputRequired, Progress, Questions, Unanswered, async_trait,
    missing_capability,
};

use super::task::Task;

/// How long a task waits for answers.
const PATIENCE: Duration = Duration::from_mins(30);

/// What a request brought that became a task.
#[derive(Default)]
pub(crate) struct Brought {
    /// `ClientCapabilities`.
    pub(crate) capabilities: Value,
    /// How the client introduced itself.
    pub(crate) client_info: Option<Value>,
    /// The `_meta` of the request.
    pub(crate) meta: Option<Box<RawValue>>,
    /// Whether it may change definitions.
    pub(crate) may_change: bool,
    /// Where it came from.
    pub(crate) address: Option<IpAddr>,
    /// What it was part of.
    pub(crate) conversation: Option<String>,
    /// The group whose endpoint it was sent to.
    pub(crate) group: Option<String>,
    /// The token it came with.
    pub(crate) token: Option<CallerToken>,
    /// What was to be remembered meanwhile.
    pub(crate) remembered: Option<Value>,
}

/// The client of one task.
pub(crate) struct TaskCaller {
    task: Arc<Task>,
    brought: Brought,
    phase: Mutex<Phase>,
}

/// Who asks the questions.
enum Phase {
    /// The request, which has not been answered yet.
    Request {
        /// What it has been told already.
        answers: Map<String, Value>,
        /// What it is still to ask.
        left: Option<Questions>,
    },
    /// The task.
    Task,
}

/// What becomes of questions.
enum QuestionHandling {
    Answered(Map<String, Value>),
    LeftToRequest,
    InTask,
}

impl TaskCaller {
    pub(crate) fn new(task: Arc<Task>, brought: Brought) -> Arc<Self> {
        let phase = Mutex::new(Phase::Request { answers: Map::new(), left: None });
        Arc::new(Self { task, brought, phase })
    }

    /// Questions that the request itself is to ask, if the last run ended with some.
    pub(crate) fn left(&self) -> Option<Questions> {
        match &mut *self.phase() {
            Phase::Request { left, .. } => left.take(),
            Phase::Task => None,
        }
    }

    /// Answers for the next run.
    pub(crate) fn bring(&self, more: Map<String, Value>) {
        if let Phase::Request { answers, .. } = &mut *self.phase() {
            answers.extend(more);
        }
    }

    /// From now on questions belong to the task.
    pub(crate) fn begin_task(&self) {
        *self.phase() = Phase::Task;
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_up(&self, questions: &Questions) -> QuestionHandling {
        let Phase::Request { answers, left } = &mut *self.phase() else {
            return QuestionHandling::InTask;
        };
        let known = |key: &String| answers.get(key).map(|answer| (key.clone(), answer.clone()));
        let found: Option<Map<_, _>> = questions.by_key.iter().map(|(key, _)| known(key)).collect();
        found.map_or_else(
            || {
                *left = Some(questions.clone());
                QuestionHandling::LeftToRequest
            },
            QuestionHandling::Answered,
        )
    }

    fn check_capabilities(&self, questions: &Questions) -> Result<(), CallError> {
        for (_, question) in &questions.by_key {
            let Some(wanted) = question.capability() else {
                let message = format!("{:?} is no question to a client", question.method);
                return Err(CallError::new(ErrorCode::Internal, message));
            };
            if self.brought.capabilities.get(wanted).is_none() {
                return Err(missing_capability(wanted));
            }
        }
        Ok(())
    }

    /// Puts the questions up for `tasks/get` and waits for `tasks/update`.
    async fn ask_in_task(&self, questions: &Questions) -> Result<Map<String, Value>, CallError> {
        self.check_capabilities(questions)?;
        let mut changes = self.task.changes();
        let asked = AwaitedQuestions { task: &self.task, keys: self.task.pose(questions.by_key.clone())? };
        let answers = async {
            loop {
                if let Some(answers) = self.task.collect(&asked.keys) {
                    return Some(answers);
                }
                changes.changed().await.ok()?;
            }
        };
        match tokio::time::timeout(PATIENCE, answers).await {
            Ok(Some(answers)) => {
                let keys = questions.by_key.iter().map(|(key, _)| key.clone());
                Ok(keys.zip(answers).collect())
            }
            Ok(None) | Err(_) => {
                Err(CallError::new(ErrorCode::Timeout, "the client did not answer the task's questions"))
            }
        }
    }
}

/// Questions somebody waits for; taken back when the waiting ends.
struct AwaitedQuestions<'a> {
    task: &'a Task,
    keys: Vec<String>,
}

impl Drop for AwaitedQuestions<'_> {
    fn drop(&mut self) {
        self.task.withdraw(&self.keys);
    }
}

#[async_trait]
impl Caller for TaskCaller {
    /// Tasks know no progress notifications; what is being done becomes the status message.
    fn progress(&self, progress: &Progress) {
        if let Some(message) = &progress.message {
            self.task.say(message.clone());
        }
    }

    fn is_patient(&self) -> bool {
        true
    }

    fn capabilities(&self) -> &Value {
        &self.brought.capabilities
    }

    fn client_info(&self) -> Option<&Value> {
        self.brought.client_info.as_ref()
    }

    fn meta(&self) -> Option<&RawValue> {
        self.brought.meta.as_deref()
    }

    fn may_change(&self) -> bool {
        self.brought.may_change
    }

    fn address(&self) -> Option<IpAddr> {
        self.brought.address
    }

    fn conversation(&self) -> Option<&str> {
        self.brought.conversation.as_deref()
    }

    fn group(&self) -> Option<&str> {
        self.brought.group.as_deref()
    }

    fn token(&self) -> Option<&CallerToken> {
        self.brought.token.as_ref()
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        match self.look_up(questions) {
            QuestionHandling::Answered(answers) => Ok(answers),
            // Whoever answers the request writes what the client really gets.
            QuestionHandling::LeftToRequest => {
                Err(Unanswered::Later(InputRequired { requests: Map::new(), state: None }))
            }
            QuestionHandling::InTask => self.ask_in_task(questions).await.map_err(Unanswered::Never),
        }
    }

    fn remembered(&self) -> Result<Option<Value>, CallError> {
        Ok(self.brought.remembered.clone())
    }
}
