//! One call that runs on its own, and what is known of it. Its state only ever moves towards an end, which is final.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolrail_core::{
    CallError, ErrorCode, Outcome, Payload, Principal, Question, Root, RpcError, ToolResult,
};
use toolrail_registry::Tool;

use crate::questions::is_answer;
use crate::reply::Code;

/// How long a task is kept after its end.
pub(super) const KEPT: Duration = Duration::from_mins(10);

/// The most questions one task may ask.
const MOST_QUESTIONS: usize = 1_000;

/// A call that became a task.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(super) principal: Principal,
    tool: Arc<Tool>,
    pub(super) created: SystemTime,
    pub(super) stop: CancellationToken,
    began: Instant,
    state: Mutex<TaskState>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct TaskState {
    end: Option<(End, Instant)>,
    message: Option<String>,
    updated: Option<SystemTime>,
    pending: Vec<(String, Question)>,
    answers: Map<String, Value>,
    used_keys: HashSet<String>,
}

/// How a task ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// With a result, if only one that says that the tool failed.
    Completed(Arc<Outcome>),
    /// With a JSON-RPC error.
    Failed(RpcError),
    /// Somebody cancelled it.
    Cancelled,
}

/// A task at one moment.
pub(super) struct TaskView {
    pub(super) status: Status,
    pub(super) message: Option<String>,
    pub(super) updated: SystemTime,
    pub(super) ttl: Duration,
}

/// Where a task is.
pub(super) enum Status {
    Working,
    InputRequired(Map<String, Value>),
    Ended(End),
}

impl Task {
    pub(super) fn new(id: String, principal: Principal, tool: Arc<Tool>) -> Self {
        Self {
            id,
            principal,
            tool,
            created: SystemTime::now(),
            stop: CancellationToken::new(),
            began: Instant::now(),
            state: Mutex::default(),
            changed: watch::channel(0).0,
        }
    }

    /// What it is a call of.
    pub(crate) fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// Tells of every change from now on; whoever is slow sees the newest state only.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn view(&self) -> TaskView {
        let state = self.state();
        let status = match &state.end {
            Some((end, _)) => Status::Ended(end.clone()),
            None if state.pending.is_empty() => Status::Working,
            None => Status::InputRequired(requests(&state.pending)),
        };
        TaskView {
            status,
            message: state.message.clone(),
            updated: state.updated.unwrap_or(self.created),
            ttl: self.ttl(&state),
        }
    }

    /// When it may be forgotten; nothing before it has ended.
    pub(super) fn expires(&self) -> Option<Instant> {
        self.state().end.as_ref().map(|(_, ended)| *ended + KEPT)
    }

    /// How long it is kept from its creation: as it stands while it works, so that the time only ever grows.
    fn ttl(&self, state: &TaskState) -> Duration {
        let until = state.end.as_ref().map_or_else(Instant::now, |(_, ended)| *ended);
        until.duration_since(self.began) + KEPT
    }

    /// Says what is being done, for people.
    pub(super) fn say(&self, message: String) {
        self.change(|state| state.message = Some(message));
    }

    /// Ends it, unless it has ended already.
    pub(super) fn finish(&self, end: End) {
        self.change(|state| {
            state.end = Some((end, Instant::now()));
            state.pending.clear();
            state.answers.clear();
            state.used_keys.clear();
        });
    }

    /// Stops the work.
    pub(crate) fn cancel(&self) {
        self.finish(End::Cancelled);
        self.stop.cancel();
    }

    /// Puts questions to the client, and says under which keys: a key is never used twice in one task.
    pub(super) fn pose(&self, questions: Vec<(String, Question)>) -> Result<Vec<String>, CallError> {
        let mut keys = Vec::with_capacity(questions.len());
        let mut room = true;
        self.change(|state| {
            room = state.used_keys.len() + questions.len() <= MOST_QUESTIONS;
            if room {
                for (key, question) in questions {
                    let key = unused(&state.used_keys, key);
                    state.used_keys.insert(key.clone());
                    state.pending.push((key.clone(), question));
                    keys.push(key);
                }
            }
        });
        if !room {
            let message = format!("a task may ask at most {MOST_QUESTIONS} questions");
            return Err(CallError::new(ErrorCode::Internal, message));
        }
        Ok(keys)
    }

    /// The answers to those keys, once all of them are there.
    pub(super) fn collect(&self, keys: &[String]) -> Option<Vec<Value>> {
        let mut state = self.state();
        if !keys.iter().all(|key| state.answers.contains_key(key)) {
            return None;
        }
        Some(keys.iter().filter_map(|key| state.answers.shift_remove(key)).collect())
    }

    /// Takes questions back that nobody waits for any more.
    pub(super) fn withdraw(&self, keys: &[String]) {
        self.change(|state| {
            state.pending.retain(|(key, _)| !keys.contains(key));
            for key in keys {
                state.answers.shift_remove(key);
            }
        });
    }

    /// Takes answers to pending questions; others mean nothing, and what cannot be an answer is still waited for.
    pub(crate) fn answer(&self, answers: Map<String, Value>) {
        self.change(|state| {
            for (key, answer) in answers {
                let asked = state.pending.iter().position(|(pending, _)| *pending == key);
                if let Some(index) = asked.filter(|index| is_answer(&state.pending[*index].1, &answer)) {
                    state.pending.remove(index);
                    state.answers.insert(key, answer);
                }
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, TaskState> {
        // Nothing panics while holding the lock; even if it did, each change is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut TaskState)) {
        let mut state = self.state();
        if state.end.is_some() {
            return;
        }
        change(&mut state);
        state.updated = Some(SystemTime::now());
        drop(state);
        self.changed.send_modify(|changes| *changes += 1);
    }
}

impl End {
    /// How a call ends a task.
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome {
            Err(CallError { rpc: Some(rpc), .. }) => Self::Failed(*rpc),
            Ok(ToolResult { payload: Payload::InputRequired(_), .. }) => {
                Self::internal("the call wanted an answer where it can no longer get one")
            }
            Ok(ToolResult { payload: Payload::Whole(json), .. }) if json.root() != Root::Object => {
                Self::internal("the result is not a JSON object; its server must send one")
            }
            other => Self::Completed(Arc::new(other)),
        }
    }

    pub(super) fn internal(message: &str) -> Self {
        Self::Failed(RpcError { code: Code::Internal.number(), message: message.to_owned(), data: None })
    }
}

/// The key, or one made from it that has not been used yet.
fn unused(used: &HashSet<String>, key: String) -> String {
    if !used.contains(&key) {
        return key;
    }
    let mut count = used.len();
    loop {
        let other = format!("{key}-{count}");
        if !used.contains(&other) {
            return other;
        }
        count += 1;
    }
}

fn requests(pending: &[(String, Question)]) -> Map<String, Value> {
    pending
        .iter()
        .map(|(key, question)| (key.clone(), json!({"method": question.method, "params": question.params})))
        .collect()
}
