//! Clients of both eras at the other end of a call, and a server as the registry sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use toolrail_core::{
    Call, CallError, Caller, CallerToken, Changed, DefinitionForm, InputRequired, Kept, LogLevel, Made,
    Offer, Outcome, Payload, Principal, Progress, Questions, Refusal, Resumed, RpcError, Unanswered,
    Upstream, async_trait,
};
use toolrail_executors::kinds;

use crate::tool::runtime;

const WITHIN: Duration = Duration::from_secs(20);

/// A client that remembers what it was told.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) capabilities: Value,
    pub(crate) meta: Option<Box<RawValue>>,
    /// Present if it wants a task of 2025-11-25.
    pub(crate) task: Option<Box<RawValue>>,
    pub(crate) level: Option<LogLevel>,
    pub(crate) progress: Mutex<Vec<Progress>>,
    pub(crate) logs: Mutex<Vec<(LogLevel, Option<String>, Value)>>,
    pub(crate) asked: Mutex<Vec<Questions>>,
    /// What tells its conversation from others.
    pub(crate) conversation: Option<String>,
    /// Present where the end of the conversation is heard of: what is kept until then.
    pub(crate) kept: Option<Mutex<HashMap<String, Kept>>>,
    /// What it answers questions with, if not with what was asked for.
    pub(crate) refuses: Option<RpcError>,
    /// The token with which it came.
    pub(crate) token: Option<CallerToken>,
    /// Present in the modern era: what it brings along.
    pub(crate) modern: Option<Brought>,
}

#[derive(Default)]
pub(crate) struct Brought {
    pub(crate) responses: Option<Box<RawValue>>,
    pub(crate) remembered: Option<Value>,
}

impl Client {
    /// A client of the legacy era that can be asked.
    pub(crate) fn legacy() -> Self {
        Self { capabilities: json!({"elicitation": {}}), ..Self::default() }
    }

    /// A client of the legacy era with a session of its own, which ends when it is dropped.
    pub(crate) fn session(name: &str) -> Self {
        Self { conversation: Some(name.to_owned()), kept: Some(Mutex::default()), ..Self::default() }
    }

    /// A client of the modern era that can be asked.
    pub(crate) fn modern(brought: Brought) -> Self {
        Self { modern: Some(brought), ..Self::legacy() }
    }
}

#[async_trait]
impl Caller for Client {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, progress: &Progress) {
        self.progress.lock().unwrap().push(progress.clone());
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.level
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        self.logs.lock().unwrap().push((level, logger.map(str::to_owned), data.clone()));
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn meta(&self) -> Option<&RawValue> {
        self.meta.as_deref()
    }

    fn task(&self) -> Option<&RawValue> {
        self.task.as_deref()
    }

    fn resumed(&self) -> Option<Resumed<'_>> {
        let brought = self.modern.as_ref()?;
        Some(Resumed { responses: brought.responses.as_deref() })
    }

    fn pass_on(
        &self,
        requests: Map<String, Value>,
        remember: Option<Value>,
    ) -> Result<InputRequired, CallError> {
        Ok(InputRequired { requests, state: remember.as_ref().map(ToString::to_string) })
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        self.asked.lock().unwrap().push(questions.clone());
        let answer = |given: &Map<String, Value>| {
            questions.by_key.iter().map(|(key, _)| Some((key.clone(), given.get(key)?.clone()))).collect()
        };
        if let Some(error) = self.refuses.clone() {
            let method = questions.by_key[0].1.method.clone();
            return Err(Unanswered::Refused(Box::new(Refusal { method, error })));
        }
        let Some(brought) = &self.modern else {
            let said = json!({"action": "accept", "content": {"name": "legacy"}});
            return Ok(questions.by_key.iter().map(|(key, _)| (key.clone(), said.clone())).collect());
        };
        let given: Option<Map<String, Value>> =
            brought.responses.as_ref().map(|raw| serde_json::from_str(raw.get()).unwrap());
        given.as_ref().and_then(answer).ok_or_else(|| {
            let requests = questions.by_key.iter().map(|(key, question)| {
                (key.clone(), json!({"method": question.method, "params": question.params}))
            });
            let state = questions.remember.as_ref().map(ToString::to_string);
            Unanswered::Later(InputRequired { requests: requests.collect(), state })
        })
    }

    fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    fn keep(&self, name: &str, make: &mut dyn FnMut() -> Kept) -> bool {
        let Some(kept) = &self.kept else { return false };
        kept.lock().unwrap().entry(name.to_owned()).or_insert_with(make);
        true
    }

    fn token(&self) -> Option<&CallerToken> {
        self.token.as_ref()
    }

    fn remembered(&self) -> Result<Option<Value>, CallError> {
        Ok(self.modern.as_ref().and_then(|brought| brought.remembered.clone()))
    }
}

/// A server as the registry sees it.
pub(crate) struct Server {
    pub(crate) upstream: Arc<dyn Upstream>,
    changes: watch::Receiver<Vec<Changed>>,
}

impl Server {
    /// Compiles and starts a definition of type `mcp`.
    pub(crate) fn start(settings: &Value) -> Self {
        Self::start_with(settings, &[])
    }

    pub(crate) fn start_with(settings: &Value, secrets: &[(&str, &str)]) -> Self {
        Self::start_definition(&json!({"name": "up", "type": "mcp", "mcp": settings}), secrets)
    }

    pub(crate) fn start_definition(definition: &Value, secrets: &[(&str, &str)]) -> Self {
        let form = DefinitionForm::new(kinds(&runtime(secrets)));
        let (compiled, problems) = form.check(definition, |_, compiled, _| compiled);
        let Some(Made::Upstream(upstream)) = compiled.map(|compiled| compiled.made) else {
            panic!("{problems:#?}");
        };
        let (sender, changes) = watch::channel(Vec::new());
        upstream.start(Arc::new(move |changed| sender.send_modify(|seen| seen.push(changed))));
        Self { upstream, changes }
    }

    /// Waits until the offer is as wanted.
    pub(crate) async fn until(&self, mut wanted: impl FnMut(&Offer) -> bool) -> Arc<Offer> {
        self.wait(|server| Some(server.upstream.offer()).filter(|offer| wanted(offer))).await
    }

    pub(crate) async fn ready(&self) -> Arc<Offer> {
        self.until(|offer| !offer.tools.is_empty()).await
    }

    /// Waits until the failure, if any, is as wanted.
    pub(crate) async fn until_failure(&self, wanted: impl Fn(Option<&str>) -> bool) -> Option<String> {
        self.wait(|server| Some(server.upstream.failure()).filter(|failure| wanted(failure.as_deref()))).await
    }

    /// Waits until the resource is said to have changed.
    pub(crate) async fn until_changed(&self, uri: &str) {
        self.until_changed_for(uri, None).await;
    }

    /// The same, in that conversation.
    pub(crate) async fn until_changed_for(&self, uri: &str, conversation: Option<&str>) {
        let wanted = Changed::Resource { uri: uri.to_owned(), conversation: conversation.map(str::to_owned) };
        self.until_heard(&wanted).await;
    }

    /// Waits until that is heard of the server.
    pub(crate) async fn until_heard(&self, wanted: &Changed) {
        self.wait(|server| server.changes.borrow().contains(wanted).then_some(())).await;
    }

    /// Everything that was heard of the server.
    pub(crate) fn heard(&self) -> Vec<Changed> {
        self.changes.borrow().clone()
    }

    async fn wait<T>(&self, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.changes.clone();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = look(self) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(WITHIN, waiting).await;
        waited.unwrap_or_else(|_| panic!("not within {WITHIN:?}; failure: {:?}", self.upstream.failure()))
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: &str, caller: &dyn Caller) -> Outcome {
        let offer = self.ready().await;
        let found = offer.tools.iter().find(|offered| offered.name.as_str() == tool);
        let raw: Box<RawValue> = serde_json::from_str(arguments).unwrap();
        let call =
            Call { tool, arguments: &Map::new(), raw: Some(&raw), principal: &Principal::Anonymous, caller };
        let executor = &found.unwrap_or_else(|| panic!("{tool} is not offered")).executor;
        tokio::time::timeout(WITHIN, executor.execute(&call)).await.unwrap()
    }

    /// Calls a tool on somebody's behalf.
    pub(crate) async fn result_for(&self, principal: &Principal, tool: &str, caller: &dyn Caller) -> Value {
        let offer = self.ready().await;
        let found = offer.tools.iter().find(|offered| offered.name.as_str() == tool).unwrap();
        let call = Call { tool, arguments: &Map::new(), raw: None, principal, caller };
        whole(tokio::time::timeout(WITHIN, found.executor.execute(&call)).await.unwrap())
    }

    /// Calls a tool that answers with a whole result.
    pub(crate) async fn result(&self, tool: &str, arguments: &str, caller: &dyn Caller) -> Value {
        whole(self.call(tool, arguments, caller).await)
    }
}

/// The whole result of an outcome.
pub(crate) fn whole(outcome: Outcome) -> Value {
    match outcome.unwrap().payload {
        Payload::Whole(json) => json.to_value(),
        other => panic!("{other:?}"),
    }
}

/// Waits for a condition that nothing announces.
pub(crate) async fn eventually(mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(WITHIN, waiting).await.unwrap();
}
