//! A client that notes what it is told, and calls of offered tools in its name.

use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolrail_core::{
    Call, CallError, Caller, InputRequired, LogLevel, Mute, Outcome, Payload, Principal, Progress, Questions,
    Resumed, ToolResult, Unanswered, Upstream, async_trait,
};
use toolrail_tool::{Offering, Tools};

/// How a client is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// While the request is under way.
    Legacy,
    /// By making the request again.
    Modern,
}

pub(crate) struct Client {
    era: Era,
    capabilities: Value,
    /// What it will answer, by key.
    answers: Map<String, Value>,
    /// What it brings with this request, and the state.
    brought: Map<String, Value>,
    state: Option<Value>,
    pub(crate) heard: Mutex<Vec<String>>,
}

impl Client {
    pub(crate) fn new(era: Era, answers: Value) -> Self {
        let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
        let answers = answers.as_object().unwrap().clone();
        let (brought, state, heard) = (Map::new(), None, Mutex::default());
        Self { era, capabilities, answers, brought, state, heard }
    }

    /// Makes the request until it needs nothing more; how often it was made comes back too.
    pub(crate) async fn finish(
        &mut self,
        offering: &Offering,
        tool: &str,
        arguments: Value,
    ) -> (ToolResult, usize) {
        for round in 1..10 {
            let result = call_as(offering, tool, arguments.clone(), self).await.unwrap();
            let Payload::InputRequired(input) = result.payload else { return (result, round) };
            self.brought =
                input.requests.keys().map(|key| (key.clone(), self.answers[key].clone())).collect();
            self.state = input.state.map(|state| serde_json::from_str(&state).unwrap());
        }
        panic!("{tool} never stops asking");
    }
}

#[async_trait]
impl Caller for Client {
    fn progress(&self, progress: &Progress) {
        self.heard.lock().unwrap().push(format!("{}/{:?}", progress.progress, progress.total.unwrap()));
    }

    fn log_level(&self) -> Option<LogLevel> {
        Some(LogLevel::Info)
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        self.heard.lock().unwrap().push(format!("{}: {} {data}", logger.unwrap(), level.word()));
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn resumed(&self) -> Option<Resumed<'_>> {
        (self.era == Era::Modern).then(Resumed::default)
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        let keys: Vec<&String> = questions.by_key.iter().map(|(key, _)| key).collect();
        let source = if self.era == Era::Legacy { &self.answers } else { &self.brought };
        if keys.iter().all(|key| source.contains_key(*key)) {
            return Ok(keys.into_iter().map(|key| (key.clone(), source[key].clone())).collect());
        }
        let requests = questions.by_key.iter().map(|(key, question)| {
            (key.clone(), json!({"method": question.method, "params": question.params}))
        });
        let state = questions.remember.as_ref().map(Value::to_string);
        Err(Unanswered::Later(InputRequired { requests: requests.collect(), state }))
    }

    fn remembered(&self) -> Result<Option<Value>, CallError> {
        Ok(self.state.clone())
    }
}

pub(crate) async fn call(offering: &Offering, tool: &str, arguments: Value) -> Outcome {
    call_as(offering, tool, arguments, &Mute).await
}

pub(crate) async fn call_as(
    offering: &Offering,
    tool: &str,
    arguments: Value,
    caller: &dyn Caller,
) -> Outcome {
    let offer = offering.offer();
    let found = offer.tools.iter().find(|offered| offered.name.as_str() == tool);
    let arguments = arguments.as_object().unwrap();
    let call = Call { tool, arguments, raw: None, principal: &Principal::Anonymous, caller };
    found.unwrap_or_else(|| panic!("no tool {tool}")).executor.execute(&call).await
}

/// The list entry of an offered tool.
pub(crate) fn entry(offering: &Offering, tool: &str) -> Value {
    let offer = offering.offer();
    let found = offer.tools.iter().find(|offered| offered.name.as_str() == tool);
    Value::clone(&found.unwrap_or_else(|| panic!("no tool {tool}")).entry)
}

/// A gateway of nothing but an offering.
pub(crate) struct Gateway(pub(crate) Offering);

#[async_trait]
impl Tools for Gateway {
    async fn call(&self, name: &str, arguments: &RawValue, _: &Principal, caller: &dyn Caller) -> Outcome {
        call_as(&self.0, name, serde_json::from_str(arguments.get()).unwrap(), caller).await
    }
}

/// Everything annotated in this test binary, inside a gateway.
pub(crate) fn everything() -> &'static Offering {
    let offering = Offering::global();
    offering.connect(Arc::new(Gateway(offering.clone())));
    offering
}

pub(crate) fn text(outcome: Outcome) -> String {
    match outcome.unwrap().payload {
        Payload::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}
