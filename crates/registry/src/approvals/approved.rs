//! The client of a call that was approved, as whoever carries it out sees it: what was asked for the approval is none of his
//! business, and is remembered beside what he wants to remember.

use std::net::IpAddr;

use super::desk::fresh_id;
use super::record::now;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use toolrail_core::{
    CallError, Caller, CallerToken, InputRequired, Kept, LogLevel, Progress, Questions, Resumed, Unanswered,
    async_trait,
};

/// The most seconds between an approval and a client that comes back with answers.
pub(super) const LONGEST_ROUND: u64 = 3_600;
/// Under which the approval stands in what is remembered, and what others remember.
const APPROVAL: &str = "toolrail.approval";
const INNER: &str = "inner";

/// What is remembered of a call whose user was asked.
pub(super) fn asked(call: &str) -> Value {
    json!({APPROVAL: {"call": call, "given": false}})
}

/// One coming back of a client whose call was approved: good once, and for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) id: String,
    /// In seconds since 1970.
    pub(super) until: u64,
}

/// The round of which what is remembered says that this very call was approved.
pub(super) fn given(remembered: Option<&Value>, call: &str) -> Option<Round> {
    let approval = remembered?.get(APPROVAL)?;
    if approval["given"] != true || approval["call"] != call {
        return None;
    }
    Some(Round { id: approval["round"].as_str()?.to_owned(), until: approval["until"].as_u64()? })
}

/// The client of an approved call.
pub(crate) struct ApprovedCaller<'c> {
    caller: &'c dyn Caller,
    /// Which call was approved.
    call: String,
    /// What whoever carries it out has remembered.
    remembered: Option<Value>,
    /// The client's answers without the one to our question.
    responses: Option<Box<RawValue>>,
    /// What progress was told while the call waited.
    waited: f64,
    /// How many seconds the client has to come back with answers.
    within: u64,
}

impl<'c> ApprovedCaller<'c> {
    /// The client of the call with that digest; `key` is that of the question it was asked.
    pub(super) fn new(
        caller: &'c dyn Caller,
        (call, key, within): (&str, &str, u64),
        remembered: Option<Value>,
        waited: f64,
    ) -> Self {
        let remembered = match remembered {
            Some(mut ours) if ours.get(APPROVAL).is_some() => ours.get_mut(INNER).map(Value::take),
            theirs => theirs,
        };
        let responses = caller.resumed().and_then(|resumed| without(resumed.responses?, key));
        Self {
            caller,
            call: call.to_owned(),
            remembered,
            responses,
            waited,
            within: within.min(LONGEST_ROUND),
        }
    }

    fn remember(&self, value: Option<&Value>) -> Result<Value, CallError> {
        let (round, until) = (fresh_id("ar_")?, now().saturating_add(self.within));
        let mut both = json!({APPROVAL: {"call": self.call, "given": true, "round": round, "until": until}});
        if let Some(value) = value {
            both[INNER] = value.clone();
        }
        Ok(both)
    }
}

/// The answers but for ours; nothing if there are no others.
fn without(responses: &RawValue, key: &str) -> Option<Box<RawValue>> {
    let Ok(mut answers) = serde_json::from_str::<Map<String, Value>>(responses.get()) else {
        return Some(responses.to_owned());
    };
    answers.shift_remove(key);
    if answers.is_empty() { None } else { to_raw_value(&answers).ok() }
}

#[async_trait]
impl Caller for ApprovedCaller<'_> {
    fn wants_progress(&self) -> bool {
        self.caller.wants_progress()
    }

    /// Progress grows from one report to the next, also over the end of the waiting.
    fn progress(&self, progress: &Progress) {
        self.caller.progress(&Progress { progress: progress.progress + self.waited, ..progress.clone() });
    }

    fn is_patient(&self) -> bool {
        self.caller.is_patient()
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.caller.log_level()
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        self.caller.log(level, logger, data);
    }

    fn capabilities(&self) -> &Value {
        self.caller.capabilities()
    }

    fn client_info(&self) -> Option<&Value> {
        self.caller.client_info()
    }

    fn meta(&self) -> Option<&RawValue> {
        self.caller.meta()
    }

    fn resumed(&self) -> Option<Resumed<'_>> {
        self.caller.resumed().map(|_| Resumed { responses: self.responses.as_deref() })
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        let remember = Some(self.remember(questions.remember.as_ref()).map_err(Unanswered::Never)?);
        self.caller.ask(&Questions { by_key: questions.by_key.clone(), remember }).await
    }

    fn remembered(&self) -> Result<Option<Value>, CallError> {
        Ok(self.remembered.clone())
    }

    fn pass_on(
        &self,
        questions: Map<String, Value>,
        remember: Option<Value>,
    ) -> Result<InputRequired, CallError> {
        self.caller.pass_on(questions, Some(self.remember(remember.as_ref())?))
    }

    fn task(&self) -> Option<&RawValue> {
        self.caller.task()
    }

    fn task_id(&self, id: String) -> Result<String, CallError> {
        self.caller.task_id(id)
    }

    fn chain(&self) -> &[String] {
        self.caller.chain()
    }

    fn conversation(&self) -> Option<&str> {
        self.caller.conversation()
    }

    fn keep(&self, name: &str, make: &mut dyn FnMut() -> Kept) -> bool {
        self.caller.keep(name, make)
    }

    fn group(&self) -> Option<&str> {
        self.caller.group()
    }

    fn may_change(&self) -> bool {
        self.caller.may_change()
    }

    fn address(&self) -> Option<IpAddr> {
        self.caller.address()
    }

    fn token(&self) -> Option<&CallerToken> {
        self.caller.token()
    }

    fn hang_up(&self) {
        self.caller.hang_up();
    }
}
