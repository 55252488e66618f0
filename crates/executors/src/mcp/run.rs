//! One request of a client, carried out at the server whatever the eras of both: questions of a modern server are passed on
//! or asked, those of a legacy server are asked or the call is parked.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolrail_core::{
    CallError, Caller, ErrorCode, InputRequired, Json, Outcome, Payload, Principal, Question, Questions,
    Root, RpcError, ToolResult, Unanswered,
};
use toolrail_protocol::{Era, code};

use super::connection::Connection;
use super::conversation::{Conversation, LONGEST, Turn, introduce};
use super::failure::Failure;
use super::hub::Hub;
use super::message::{self, Writer};
use super::parked::{Parked, Whose};
use super::sessions::Lease;
use super::wire::OutgoingRequest;
use super::{gate, meta, on_behalf, task};

/// The one request of a client whose result cannot be a question.
pub(super) const COMPLETE: &str = "completion/complete";
/// How often a modern server may ask a client that answers at once.
const MOST_ROUNDS: usize = 16;
/// The `requestState` of a server in what is remembered for a client.
const STATE: &str = "state";

/// A request of a client's.
pub(super) struct Job<'j> {
    pub(super) method: &'static str,
    /// The name or URI as the server knows it.
    pub(super) name: &'j str,
    /// The members of `params`, but for `_meta` and what belongs to questions.
    pub(super) members: Vec<(&'static str, Bytes)>,
    pub(super) arguments: Option<&'j str>,
    pub(super) params_in_headers: Vec<(String, String)>,
    pub(super) principal: &'j Principal,
    pub(super) caller: &'j dyn Caller,
}

/// What a client brought along for a modern server.
#[derive(Default)]
struct Answers {
    responses: Option<Bytes>,
    state: Option<String>,
}

impl Answers {
    /// Those that came with the request, and what the server wanted back with them.
    fn brought(caller: &dyn Caller, remembered: Option<&Value>) -> Self {
        let responses = caller.resumed().and_then(|resumed| resumed.responses);
        let state = remembered.and_then(|remembered| remembered.get(STATE)).and_then(Value::as_str);
        Self {
            responses: responses.map(|raw| Bytes::copy_from_slice(raw.get().as_bytes())),
            state: state.map(str::to_owned),
        }
    }
}

/// What a modern server asks, for a client that answers by calling again; the server's state is remembered for it.
fn passed_on(caller: &dyn Caller, input: InputRequired) -> Outcome {
    let remember = input.state.map(|state| json!({STATE: state}));
    let input = caller.pass_on(input.requests, remember)?;
    Ok(ToolResult::good(Payload::InputRequired(input)))
}

/// What kind of result it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Head<'r> {
    #[serde(borrow, default, deserialize_with = "present")]
    content: Option<&'r RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result_type: Option<std::borrow::Cow<'r, str>>,
    #[serde(borrow, default)]
    input_requests: Option<&'r RawValue>,
    #[serde(default)]
    request_state: Option<String>,
}

/// Tells `null` from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Carries it out.
pub(super) async fn run(hub: &Arc<Hub>, job: &Job<'_>) -> Outcome {
    let outcome = carry_out(hub, job).await;
    match gate::refusal(hub, job, &outcome).await {
        Some(refusal) => Err(refusal),
        None => outcome,
    }
}

async fn carry_out(hub: &Arc<Hub>, job: &Job<'_>) -> Outcome {
    if let Some(asked) = on_behalf::ask_to_connect(hub, (job.principal, job.caller)).await? {
        return Ok(asked);
    }
    let shared = hub.connection().await?;
    let remembered = job.caller.remembered()?;
    let mut answers = match (shared.era, remembered) {
        (Era::Legacy, Some(remembered)) => return take_up(hub, job, &remembered).await,
        (Era::Legacy, None) => Answers::default(),
        (Era::Modern, remembered) => Answers::brought(job.caller, remembered.as_ref()),
    };
    for _ in 0..MOST_ROUNDS {
        let result = match send(hub, job, &answers).await? {
            Sent::Result(result) => result,
            Sent::Later(input) => return Ok(ToolResult::good(Payload::InputRequired(input))),
        };
        match understood(hub, job, result)? {
            Understood::Result(result) => return Ok(result),
            Understood::Asks(input) if job.caller.resumed().is_some() => return passed_on(job.caller, input),
            Understood::Asks(input) => answers = ask(job.caller, input).await?,
        }
    }
    Err(CallError::new(
        ErrorCode::UpstreamInvalid,
        format!("{} asked for more input {MOST_ROUNDS} times in a row", hub.connector.place()),
    ))
}

enum Sent {
    Result(Json),
    Later(InputRequired),
}

enum Understood {
    Result(ToolResult),
    Asks(InputRequired),
}

/// One round: sent once more if the server only forgot the session, or a kept connection had ended.
async fn send(hub: &Arc<Hub>, job: &Job<'_>, answers: &Answers) -> Result<Sent, CallError> {
    let mut is_last = false;
    loop {
        let mut lease = hub.lease(job.principal, job.caller).await?;
        let (connection, is_shared, is_used) =
            (Arc::clone(&lease.connection), lease.is_shared(), lease.is_used);
        connection.lower_level(job.caller.log_level()).await;
        if let Err(failure) = introduce(&mut lease, job.caller).await {
            return Err(told(hub, &connection, failure));
        }
        let conversation = match begin(hub, lease, job, answers) {
            Ok(conversation) => conversation,
            // Nothing was sent.
            Err(Failure::Lost(_)) if is_used && !is_shared && !is_last => {
                is_last = true;
                hub.sessions.forget(&connection);
                continue;
            }
            Err(failure) => return Err(told(hub, &connection, failure)),
        };
        match converse(hub, job, conversation).await {
            // The token may have been taken back; another one is tried, if there is one.
            Err(failure) if failure.is_unauthorised() && !is_last => {
                is_last = true;
                let error = told(hub, &connection, failure);
                if !on_behalf::renew(hub, job.principal).await {
                    return Err(error);
                }
            }
            Err(Failure::SessionGone) if !is_last => {
                is_last = true;
                drop(told(hub, &connection, Failure::SessionGone));
            }
            Err(failure) => return Err(told(hub, &connection, failure)),
            Ok(sent) => return Ok(sent),
        }
    }
}

/// The failure as the caller gets it; if it is the shared connection that is gone, the supervisor hears of it.
fn told(hub: &Hub, connection: &Arc<Connection>, failure: Failure) -> CallError {
    let is_gone = matches!(failure, Failure::Lost(_) | Failure::SessionGone);
    if failure.is_refusal() {
        // The token is good no more; the next call begins anew.
        hub.sessions.forget(connection);
    }
    let error = failure.into_error();
    if is_gone {
        hub.lost(connection, &error);
    }
    error
}

fn begin(hub: &Hub, lease: Lease, job: &Job<'_>, answers: &Answers) -> Result<Conversation, Failure> {
    let connection = &lease.connection;
    if wants_task(job) && !task::takes_tasks(connection) {
        return Err(Failure::Call(task::unsupported()));
    }
    let id = connection.wire.next_id();
    let mut params = Writer::new();
    for (key, value) in &job.members {
        params.raw(key, value);
    }
    // The answers to a task's questions are members of the request itself.
    let given = job.members.iter().any(|(key, _)| *key == "inputResponses");
    if let Some(responses) = answers.responses.as_ref().filter(|_| !given) {
        params.raw("inputResponses", responses);
    }
    if let Some(state) = &answers.state {
        params.text("requestState", state);
    }
    if let Some(meta) = meta::of_client(connection.era, job.caller, id) {
        params.raw("_meta", &meta);
    }
    let exchange = connection.wire.begin(OutgoingRequest {
        id,
        method: job.method,
        name: (job.method != COMPLETE).then(|| job.name.to_owned()),
        params: params.finish(),
        params_in_headers: job.params_in_headers.clone(),
    })?;
    let may_wait = job.method != COMPLETE;
    let patience = if job.method == task::RESULT { LONGEST } else { connection.patience };
    let definition = hub.name.clone();
    Ok(Conversation { exchange, lease, definition, patience, may_wait, asked: 0, unasked: 0 })
}

/// Whether the client wants the result of its call later.
fn wants_task(job: &Job<'_>) -> bool {
    job.members.iter().any(|(key, _)| *key == "task")
}

async fn converse(hub: &Arc<Hub>, job: &Job<'_>, mut conversation: Conversation) -> Result<Sent, Failure> {
    let turn = conversation.proceed(job.caller).await?;
    settle(hub, job, conversation, turn)
}

/// What becomes of a turn: the connection is free again, or the call is parked.
fn settle(hub: &Arc<Hub>, job: &Job<'_>, conversation: Conversation, turn: Turn) -> Result<Sent, Failure> {
    match turn {
        Turn::Answer(outcome) => {
            drop(conversation);
            outcome.map(Sent::Result).map_err(|error| Failure::Call(refused(hub, job, error)))
        }
        Turn::Later { asked, input, token } => {
            hub.parked.put(token, Parked { conversation, asked, of: whose(job) });
            Ok(Sent::Later(input))
        }
    }
}

/// Takes up a call that waited for its client.
async fn take_up(hub: &Arc<Hub>, job: &Job<'_>, remembered: &Value) -> Outcome {
    let token = remembered.get("call").and_then(Value::as_str).unwrap_or_default();
    let Some(Parked { mut conversation, asked, .. }) = hub.parked.take(token, &whose(job)) else {
        return Err(CallError::invalid_params("the call that asked this is no longer here; call again"));
    };
    let turn = match conversation.ask(job.caller, asked).await.map_err(Failure::into_error)? {
        Some(later) => later,
        None => conversation.proceed(job.caller).await.map_err(Failure::into_error)?,
    };
    match settle(hub, job, conversation, turn).map_err(Failure::into_error)? {
        Sent::Later(input) => Ok(ToolResult::good(Payload::InputRequired(input))),
        Sent::Result(result) => match understood(hub, job, result)? {
            Understood::Result(result) => Ok(result),
            Understood::Asks(input) => passed_on(job.caller, input),
        },
    }
}

fn whose(job: &Job<'_>) -> Whose {
    Whose {
        principal: job.principal.clone(),
        method: job.method,
        name: job.name.to_owned(),
        arguments: job.arguments.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
    }
}

fn understood(hub: &Hub, job: &Job<'_>, result: Json) -> Result<Understood, CallError> {
    let unusable = |why: &str| {
        let message = format!("{} answered with a result that {why}", hub.connector.place());
        CallError::new(ErrorCode::UpstreamInvalid, message)
    };
    if result.root() != Root::Object {
        return Err(unusable("is not an object"));
    }
    let head: Head<'_> = serde_json::from_str(result.text())
        .map_err(|error| unusable(&format!("cannot be read ({error})")))?;
    // Clients would fail with anything else, and say less about it.
    if head.content.is_some_and(|content| !content.get().starts_with('[')) {
        return Err(unusable("has \"content\" that is not a list; it must be a list of content blocks"));
    }
    match head.result_type.as_deref() {
        Some("input_required") => {
            let requests = head.input_requests.map(|raw| serde_json::from_str(raw.get())).transpose();
            let requests = requests.map_err(|_| unusable("asks in a way that cannot be read"))?;
            let input = InputRequired { requests: requests.unwrap_or_default(), state: head.request_state };
            Ok(Understood::Asks(input))
        }
        Some("task") => {
            let result = task::named_outside(&hub.name, &result, job.caller)?;
            Ok(Understood::Result(ToolResult::good(Payload::Whole(result))))
        }
        _ => {
            let is_error = head.is_error.unwrap_or_default();
            // The tasks of 2025-11-25 have no type.
            let result =
                if wants_task(job) { task::named_outside(&hub.name, &result, job.caller)? } else { result };
            Ok(Understood::Result(ToolResult {
                is_error,
                payload: Payload::Whole(result),
                notes: Vec::new(),
            }))
        }
    }
}

/// Asks a client that answers at once what a modern server wants to know.
async fn ask(caller: &dyn Caller, input: InputRequired) -> Result<Answers, CallError> {
    let by_key = input.requests.iter().map(|(key, request)| (key.clone(), question(request))).collect();
    let answers = if input.requests.is_empty() {
        Map::new()
    } else {
        match caller.ask(&Questions { by_key, remember: None }).await {
            Ok(answers) => answers,
            Err(Unanswered::Never(error)) => return Err(error),
            Err(Unanswered::Refused(refusal)) => return Err(refusal.into_error()),
            Err(Unanswered::Later(_)) => {
                return Err(CallError::new(
                    ErrorCode::Internal,
                    "a client that answers at once answers later",
                ));
            }
        }
    };
    let responses = (!input.requests.is_empty()).then(|| Bytes::from(Value::Object(answers).to_string()));
    Ok(Answers { responses, state: input.state })
}

fn question(request: &Value) -> Question {
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
    Question { method, params: request.get("params").cloned().unwrap_or_else(|| Value::Object(Map::new())) }
}

/// The server's error, as far as it concerns the client: what concerns only the server and us is told in words.
fn refused(hub: &Hub, job: &Job<'_>, mut error: RpcError) -> CallError {
    /// The headers do not fit the body, or the revision is not known: the server changed under us.
    const OF_OUR_HOP: [i64; 2] = [code::HEADER_MISMATCH, code::UNSUPPORTED_VERSION];
    if OF_OUR_HOP.contains(&error.code) {
        hub.lists.notify_one();
        let message = format!("{} has changed: {}; try again", hub.connector.place(), error.message);
        return CallError::new(ErrorCode::UpstreamInvalid, message);
    }
    if error.code == code::RESOURCE_NOT_FOUND && job.caller.resumed().is_some() {
        error.code = RpcError::INVALID_PARAMS;
    }
    message::refused(error)
}
