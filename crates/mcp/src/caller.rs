//! The client of one request, as those who carry it out see it: what it wants to hear, and how it is asked.

use std::net::IpAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolrail_core::{
    CallError, Caller, CallerToken, ErrorCode, InputRequired, Kept, LogLevel, Progress, Question, Questions,
    Refusal, Resumed, Unanswered, async_trait, missing_capability, write_json_string,
};
use toolrail_protocol::revision::V2025_11_25;

use crate::conversation;
use crate::dialect::Dialect;
use crate::envelope::{Params, Request};
use crate::live::Live;
use crate::outbox::notification;
use crate::peer::Peer;
use crate::questions::is_answer;
use crate::server::Server;
use crate::state::{self, Belonging, RequestState};
use crate::tasks::elsewhere;

/// The longest id of a task at a server, with the name of the definition before it.
const LONGEST_TASK_ID: usize = 2048;
/// How long a client, and the person in front of it, may take to answer.
const ANSWER_DEADLINE: Duration = Duration::from_mins(10);

/// The client of one request.
pub(crate) struct RequestCaller<'a> {
    server: &'a Server,
    peer: &'a Peer<'a>,
    request: &'a Request<'a>,
    dialect: Dialect,
    /// What a modern client declared with this request, read when first asked for.
    capabilities: OnceLock<Value>,
    client_info: OnceLock<Option<Value>>,
    state: OnceLock<Option<String>>,
    conversation: OnceLock<String>,
    /// Answers that this run has used, for the state of a later round.
    used: Mutex<Map<String, Value>>,
}

impl<'a> RequestCaller<'a> {
    pub(crate) fn new(
        server: &'a Server,
        peer: &'a Peer<'a>,
        request: &'a Request<'a>,
        dialect: Dialect,
    ) -> Self {
        Self {
            server,
            peer,
            request,
            dialect,
            capabilities: OnceLock::new(),
            client_info: OnceLock::new(),
            state: OnceLock::new(),
            conversation: OnceLock::new(),
            used: Mutex::default(),
        }
    }

    fn params(&self) -> &'a Params<'a> {
        &self.request.params
    }

    fn progress_token(&self) -> Option<&'a RawValue> {
        self.params().meta.as_ref()?.progress_token.filter(|token| token.get() != "null")
    }

    fn notify(&self, method: &str, params: &Value) {
        if let Some(outbox) = self.peer.outbox
            && !outbox.push(notification(method, params))
        {
            tracing::debug!(method, "notification dropped: the client does not read");
        }
    }

    fn request_state(&self) -> Option<&str> {
        self.state
            .get_or_init(|| {
                let raw = self.params().request_state.filter(|raw| raw.get() != "null")?;
                // Something else than a string is a state that was tampered with.
                Some(serde_json::from_str(raw.get()).unwrap_or_default())
            })
            .as_deref()
    }

    fn belonging(&self) -> Belonging<'a> {
        let params = self.params();
        let name = [params.name, params.uri].into_iter().flatten().next().map_or("", RawValue::get);
        let digest = state::digest_of(&self.request.method, name, params.arguments.map(RawValue::get));
        Belonging { principal: self.peer.principal, digest }
    }

    fn opened_state(&self) -> Result<RequestState, CallError> {
        match self.request_state() {
            None => Ok(RequestState::default()),
            Some(text) => state::open(&self.server.signer, text, &self.belonging()),
        }
    }

    /// Answers that came with the request, or what is still to be asked.
    fn ask_by_result(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        let RequestState { mut answers, .. } = self.opened_state().map_err(Unanswered::Never)?;
        answers.extend(self.used.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let brought: Map<String, Value> = match self.params().input_responses {
            None => Map::new(),
            Some(raw) if raw.get() == "null" => Map::new(),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| {
                Unanswered::Never(CallError::invalid_params("\"inputResponses\" must be an object"))
            })?,
        };
        let asked = |key: &str| questions.by_key.iter().find(|(known, _)| known == key);
        for (key, answer) in brought {
            // Answers to questions of this round are taken if they can be answers at all; others mean nothing.
            if asked(&key).is_some_and(|(_, question)| is_answer(question, &answer)) {
                answers.insert(key, answer);
            }
        }
        let missing: Map<String, Value> = questions
            .by_key
            .iter()
            .filter(|(key, _)| !answers.contains_key(key))
            .map(|(key, question)| {
                (key.clone(), json!({"method": question.method, "params": question.params}))
            })
            .collect();
        if missing.is_empty() {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(answers.clone());
            return Ok(answers);
        }
        let state = (!answers.is_empty() || questions.remember.is_some()).then(|| {
            let state = RequestState { answers, remembered: questions.remember.clone() };
            state::seal(&self.server.signer, state, &self.belonging())
        });
        Err(Unanswered::Later(InputRequired { requests: missing, state: state.flatten() }))
    }

    /// Sends the questions and waits for the answers.
    async fn ask_by_request(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        let (Some(live), Some(_)) = (&self.peer.session.live, self.peer.outbox) else {
            let message =
                "this needs a client that keeps a session and reads streams, so that it can be asked";
            return Err(Unanswered::Never(CallError::new(ErrorCode::InvalidRequest, message)));
        };
        let asking = questions.by_key.iter().map(|(key, question)| async move {
            let answer = self.ask_one(live, question).await?;
            Ok((key.clone(), answer))
        });
        join_all(asking).await.into_iter().collect()
    }

    async fn ask_one(&self, live: &Live, question: &Question) -> Result<Value, Unanswered> {
        let failed = |message: String| Unanswered::Never(CallError::new(ErrorCode::UpstreamInvalid, message));
        let method = &question.method;
        let too_many = || failed("too many questions to this client wait for an answer".to_owned());
        let asked = live.questions.expect(self.server.asker(live)).ok_or_else(too_many)?;
        // Only a session that has an id can be answered by way of another replica.
        let _held = live.key().map(|_| self.server.relay.hold());
        let mut message = Vec::from(&b"{\"jsonrpc\":\"2.0\",\"id\":"[..]);
        write_json_string(&mut message, &asked.id);
        message.extend_from_slice(b",\"method\":");
        write_json_string(&mut message, method);
        message.extend_from_slice(format!(",\"params\":{}}}", question.params).as_bytes());
        if !self.peer.outbox.is_some_and(|outbox| outbox.push(message.into())) {
            return Err(failed("the client does not read, so it cannot be asked".to_owned()));
        }
        match tokio::time::timeout(ANSWER_DEADLINE, asked.answered()).await {
            Ok(Some(Ok(answer))) if is_answer(question, &answer) => Ok(answer),
            Ok(Some(Ok(_))) => Err(failed(format!("the client's answer to {method} is not an object"))),
            Ok(Some(Err(error))) => Err(Unanswered::Refused(Box::new(Refusal::read(method, &error)))),
            Ok(None) => Err(failed(format!("the client went away before it answered {method}"))),
            Err(_) => Err(failed(format!(
                "the client did not answer {method} within {} minutes",
                ANSWER_DEADLINE.as_secs() / 60
            ))),
        }
    }
}

/// A number without a fraction as most write it.
fn spelled(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is a whole number that fits")]
        return (number as i64).into();
    }
    number.into()
}

fn unsealed() -> CallError {
    CallError::new(ErrorCode::Internal, "the system gives no random numbers")
}

#[async_trait]
impl Caller for RequestCaller<'_> {
    fn wants_progress(&self) -> bool {
        self.peer.outbox.is_some() && self.progress_token().is_some()
    }

    fn progress(&self, progress: &Progress) {
        let Some(token) = self.progress_token().filter(|_| self.peer.outbox.is_some()) else { return };
        let mut params = json!({"progress": spelled(progress.progress)});
        params["progressToken"] = serde_json::from_str(token.get()).unwrap_or_default();
        if let Some(total) = progress.total {
            params["total"] = spelled(total);
        }
        if let Some(message) = &progress.message {
            params["message"] = message.as_str().into();
        }
        let report = notification("notifications/progress", &params);
        if !self.peer.outbox.is_some_and(|outbox| outbox.push_progress(token.get(), report)) {
            tracing::debug!("a report of progress was dropped: the client does not read");
        }
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.peer.outbox?;
        match self.dialect {
            Dialect::Modern => {
                let raw = self.params().meta.as_ref()?.log_level?;
                serde_json::from_str(raw.get()).ok()
            }
            Dialect::Legacy => {
                let live = self.peer.session.live.as_ref()?;
                Some(live.log_level().unwrap_or(LogLevel::Info))
            }
            Dialect::Plain => None,
        }
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Value) {
        if self.log_level().is_none_or(|least| level < least) {
            return;
        }
        let mut params = json!({"level": level.word()});
        if let Some(logger) = logger {
            params["logger"] = logger.into();
        }
        params["data"] = data.clone();
        self.notify("notifications/message", &params);
    }

    fn capabilities(&self) -> &Value {
        if self.dialect != Dialect::Modern
            && let Some(capabilities) = self.peer.session.capabilities.get()
        {
            return capabilities;
        }
        self.capabilities.get_or_init(|| {
            let raw = self.params().meta.as_ref().and_then(|meta| meta.client_capabilities);
            let declared = raw.filter(|_| self.dialect == Dialect::Modern);
            declared.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_else(|| json!({}))
        })
    }

    fn client_info(&self) -> Option<&Value> {
        if self.dialect != Dialect::Modern {
            return self.peer.session.client_info.get();
        }
        let read = || {
            let raw = self.params().meta.as_ref()?.client_info?;
            serde_json::from_str(raw.get()).ok()
        };
        self.client_info.get_or_init(read).as_ref()
    }

    fn meta(&self) -> Option<&RawValue> {
        self.request.raw_meta()
    }

    fn resumed(&self) -> Option<Resumed<'_>> {
        (self.dialect == Dialect::Modern).then(|| Resumed { responses: self.params().input_responses })
    }

    async fn ask(&self, questions: &Questions) -> Result<Map<String, Value>, Unanswered> {
        for (_, question) in &questions.by_key {
            let Some(capability) = question.capability() else {
                let message = format!("{} is no question to a client", question.method);
                return Err(Unanswered::Never(CallError::new(ErrorCode::Internal, message)));
            };
            if self.capabilities().get(capability).is_none() {
                let mut error = missing_capability(capability);
                // The number is one of the newest revision; older clients read the words as a tool's error.
                error.rpc = error.rpc.filter(|_| self.dialect == Dialect::Modern);
                return Err(Unanswered::Never(error));
            }
        }
        match self.dialect {
            Dialect::Modern => self.ask_by_result(questions),
            Dialect::Legacy | Dialect::Plain => self.ask_by_request(questions).await,
        }
    }

    fn remembered(&self) -> Result<Option<Value>, CallError> {
        self.opened_state().map(|state| state.remembered)
    }

    fn pass_on(
        &self,
        requests: Map<String, Value>,
        remember: Option<Value>,
    ) -> Result<InputRequired, CallError> {
        let sealed = |remembered| {
            let state = RequestState { remembered: Some(remembered), ..RequestState::default() };
            state::seal(&self.server.signer, state, &self.belonging()).ok_or_else(unsealed)
        };
        Ok(InputRequired { requests, state: remember.map(sealed).transpose()? })
    }

    fn task(&self) -> Option<&RawValue> {
        self.params().task.filter(|raw| raw.get() != "null" && self.peer.session.has_tasks(self.dialect))
    }

    fn task_id(&self, id: String) -> Result<String, CallError> {
        if id.len() > LONGEST_TASK_ID {
            let message = "the id of the server's task is too long; its author should shorten it";
            return Err(CallError::new(ErrorCode::UpstreamInvalid, message));
        }
        let sealed = elsewhere::seal(&self.server.signer, &id, (self.peer.principal, self.dialect));
        let sealed = sealed.ok_or_else(unsealed)?;
        if let (Dialect::Legacy, Some(live)) = (self.dialect, &self.peer.session.live) {
            live.tasks.note(id, &sealed);
        }
        Ok(sealed)
    }

    fn may_change(&self) -> bool {
        !self.peer.foreign_page
    }

    fn address(&self) -> Option<IpAddr> {
        self.peer.address.or(self.peer.session.address)
    }

    fn conversation(&self) -> Option<&str> {
        let replica = self.server.replica();
        Some(self.conversation.get_or_init(|| conversation::of(self.peer, replica, self.client_info())))
    }

    fn keep(&self, name: &str, make: &mut dyn FnMut() -> Kept) -> bool {
        self.peer.session.live.as_ref().is_some_and(|live| live.keep(name, make))
    }

    fn group(&self) -> Option<&str> {
        self.peer.endpoint.group.as_deref()
    }

    fn token(&self) -> Option<&CallerToken> {
        self.peer.token
    }

    fn hang_up(&self) {
        // Only since 2025-11-25 do clients know that they have to come back.
        if self.dialect == Dialect::Legacy
            && self.peer.session.revision.get() == Some(&V2025_11_25)
            && let Some(outbox) = self.peer.outbox
        {
            outbox.hang_up();
        }
    }
}
