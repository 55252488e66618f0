//! One request of a client on its way at the server, up to the answer: reports of progress and log messages go to the
//! client, and so do the questions of a legacy server.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use toolrail_core::{
    CallError, Caller, InputRequired, Json, LogLevel, Progress, Question, Questions, RpcError, Unanswered,
};
use toolrail_protocol::{Era, code};

use super::connection::answer_unasked;
use super::failure::Failure;
use super::message::{self, ServerMessage, Writer};
use super::parked::{ServerQuestion, new_token};
use super::sessions::Lease;
use super::task;
use super::wire::PendingRequest;

/// The longest that a call may take in all, however lively its progress: that many times what it may take without any, but
/// no longer than this.
const MOST_TIMES: u32 = 10;
pub(super) const LONGEST: Duration = Duration::from_hours(1);
/// How many requests that nobody here answers a server may make during one call.
const MOST_UNASKED: u32 = 100;

/// A request that was sent.
pub(super) struct Conversation {
    pub(super) exchange: PendingRequest,
    pub(super) lease: Lease,
    /// The name of the server's definition.
    pub(super) definition: String,
    /// How long the answer may take without progress.
    pub(super) patience: Duration,
    /// Whether the client may be asked by the result of this request.
    pub(super) may_wait: bool,
    /// How many questions the server has asked.
    pub(super) asked: u32,
    /// How many of its requests were not for the client.
    pub(super) unasked: u32,
}

/// How far a conversation came.
pub(super) enum Turn {
    /// The server answered.
    Answer(Result<Json, RpcError>),
    /// The client must call again with the answer to this; the token names the call.
    Later { asked: ServerQuestion, input: InputRequired, token: String },
}

impl Conversation {
    /// Waits until there is an answer, or a question that the client answers by calling again.
    pub(super) async fn proceed(&mut self, caller: &dyn Caller) -> Result<Turn, Failure> {
        let mut patience = Patience::new(self.patience);
        loop {
            let Ok(next) = tokio::time::timeout_at(patience.until, self.next()).await else {
                return Err(self.too_late(&patience));
            };
            match next? {
                ServerMessage::Answer { outcome, .. } => return Ok(Turn::Answer(outcome)),
                ServerMessage::Notice { method, params } => {
                    let params = params.as_deref().unwrap_or_default();
                    if tell(caller, &method, params, self.exchange.id()) == NotificationKind::OwnProgress {
                        patience.restart();
                    }
                }
                ServerMessage::Request { id, method, params } => {
                    let params = params.and_then(|params| serde_json::from_slice(&params).ok());
                    let mut question = Question { method, params: params.unwrap_or_else(|| json!({})) };
                    if !self.is_for_client(&question) {
                        self.refuse(&id, &question.method, &patience).await?;
                        continue;
                    }
                    task::asked_outside(&self.definition, &mut question.params, caller)?;
                    self.asked += 1;
                    let asked = ServerQuestion { id, key: format!("question-{}", self.asked), question };
                    let began = Instant::now();
                    if let Some(later) = self.ask(caller, asked).await? {
                        return Ok(later);
                    }
                    patience.extend(began.elapsed());
                }
            }
        }
    }

    /// On the shared connection nobody was said to be there for questions.
    fn is_for_client(&self, question: &Question) -> bool {
        question.capability().is_some() && self.lease.connection.era == Era::Legacy && !self.lease.is_shared()
    }

    /// Answers a request that is not for the client.
    async fn refuse(&mut self, id: &[u8], method: &str, patience: &Patience) -> Result<(), Failure> {
        self.unasked += 1;
        if self.unasked > MOST_UNASKED {
            return Err(Failure::unusable(format!(
                "{} made more than {MOST_UNASKED} requests that nobody answers during one call; look into its log",
                self.lease.connection.wire.place()
            )));
        }
        let sending = self.send(answer_unasked(id, method));
        let sent = tokio::time::timeout_at(patience.until, sending).await;
        sent.unwrap_or_else(|_| Err(self.too_late(patience)))
    }

    /// Asks the client what the server asked, and passes the answer on; the turn is over if the answer comes later.
    pub(super) async fn ask(
        &mut self,
        caller: &dyn Caller,
        asked: ServerQuestion,
    ) -> Result<Option<Turn>, Failure> {
        let token = new_token()?;
        let questions = Questions {
            by_key: vec![(asked.key.clone(), asked.question.clone())],
            remember: Some(json!({"call": token})),
        };
        let message = match caller.ask(&questions).await {
            Ok(mut answers) => {
                let answer = answers.remove(&asked.key).unwrap_or_default();
                message::answer(&asked.id, Ok(&answer))
            }
            Err(Unanswered::Later(input)) if self.may_wait => {
                return Ok(Some(Turn::Later { asked, input, token }));
            }
            Err(Unanswered::Later(_)) => unasked(&asked),
            Err(Unanswered::Never(error)) => message::answer(&asked.id, Err(&in_protocol(error))),
            Err(Unanswered::Refused(refusal)) => message::answer(&asked.id, Err(&refusal.error)),
        };
        self.send(message).await?;
        Ok(None)
    }

    /// Borrows nothing: streams that only one task reads cannot be shared with another.
    fn send(&self, message: bytes::Bytes) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
        let wire = Arc::clone(&self.lease.connection.wire);
        async move { wire.send(message).await }
    }

    /// What comes next for this request: on its own stream, or beside it on a connection of its own.
    async fn next(&mut self) -> Result<ServerMessage, Failure> {
        tokio::select! {
            // What a child said before its answer is looked at before it.
            biased;
            message = self.lease.unsolicited() => Ok(message),
            message = self.exchange.next() => message,
        }
    }

    fn too_late(&self, patience: &Patience) -> Failure {
        let within = if patience.until < patience.ends { patience.each } else { patience.in_all };
        Failure::late(format!(
            "{} did not answer within {} ms; raise timeoutMs if it needs longer",
            self.lease.connection.wire.place(),
            within.as_millis()
        ))
    }
}

/// Lets a server ask an older client for its roots before a call, as soon as the session stands or when they have changed: it
/// may refuse calls before it knows them, or allow what it should not.
pub(super) async fn introduce(lease: &mut Lease, caller: &dyn Caller) -> Result<(), Failure> {
    /// How long a question may take that follows the handshake.
    const FOLLOWS_WITHIN: Duration = Duration::from_millis(100);
    /// How long a call is held up by a server that does not answer pings.
    const PING_WITHIN: Duration = Duration::from_secs(1);
    const MOST: usize = 8;
    let has_roots = caller.resumed().is_none() && caller.capabilities().get("roots").is_some();
    let is_settled = lease.is_used && !lease.has_questions();
    if is_settled || lease.is_shared() || !has_roots {
        return Ok(());
    }
    for _ in 0..MOST {
        // What it wanted to ask it has asked by the time it answers this.
        drop(tokio::time::timeout(PING_WITHIN, lease.connection.ask("ping", Writer::new())).await);
        let Ok(message) = tokio::time::timeout(FOLLOWS_WITHIN, lease.unsolicited()).await else { break };
        let (id, method, params) = match message {
            ServerMessage::Request { id, method, params } => (id, method, params),
            ServerMessage::Notice { method, params } if method == "notifications/message" => {
                tell(caller, &method, params.as_deref().unwrap_or_default(), 0);
                continue;
            }
            ServerMessage::Notice { .. } | ServerMessage::Answer { .. } => continue,
        };
        let params = params.and_then(|params| serde_json::from_slice(&params).ok());
        let question = Question { method, params: params.unwrap_or_else(|| json!({})) };
        let questions = Questions { by_key: vec![("question".to_owned(), question)], remember: None };
        let answer = match caller.ask(&questions).await {
            Ok(mut answers) => message::answer(&id, Ok(&answers.remove("question").unwrap_or_default())),
            Err(Unanswered::Never(error)) => message::answer(&id, Err(&in_protocol(error))),
            Err(Unanswered::Refused(refusal)) => message::answer(&id, Err(&refusal.error)),
            Err(Unanswered::Later(_)) => answer_unasked(&id, &questions.by_key[0].1.method),
        };
        lease.connection.wire.send(answer).await?;
    }
    Ok(())
}

/// What a server gets that asks where the client can only be asked by a result, and the result cannot be a question.
fn unasked(asked: &ServerQuestion) -> bytes::Bytes {
    if asked.question.method == "elicitation/create" {
        return message::answer(&asked.id, Ok(&json!({"action": "cancel"})));
    }
    answer_unasked(&asked.id, &asked.question.method)
}

/// How long an answer is waited for.
struct Patience {
    /// Without progress.
    each: Duration,
    in_all: Duration,
    until: Instant,
    ends: Instant,
}

impl Patience {
    fn new(each: Duration) -> Self {
        let in_all = each.saturating_mul(MOST_TIMES).min(LONGEST);
        let (each, now) = (each.min(in_all), Instant::now());
        Self { each, in_all, until: now + each, ends: now + in_all }
    }

    /// The call gets on.
    fn restart(&mut self) {
        self.until = (Instant::now() + self.each).min(self.ends);
    }

    /// The server got an answer for which it had to wait so long.
    fn extend(&mut self, waited: Duration) {
        self.ends += waited;
        self.restart();
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams {
    #[serde(default)]
    progress_token: Option<Value>,
    progress: f64,
    #[serde(default)]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct LogParams {
    level: LogLevel,
    #[serde(default)]
    logger: Option<String>,
    #[serde(default)]
    data: Value,
}

/// What a notification was.
#[derive(PartialEq, Eq)]
enum NotificationKind {
    /// Progress that names this call.
    OwnProgress,
    Other,
}

/// Passes a notification on to the client, if it is one for it.
fn tell(caller: &dyn Caller, method: &str, params: &[u8], token: u64) -> NotificationKind {
    match method {
        "notifications/progress" => {
            if let Ok(params) = serde_json::from_slice::<ProgressParams>(params)
                && params.progress_token.as_ref().is_none_or(|given| *given == token)
            {
                let ProgressParams { progress_token, progress, total, message } = params;
                caller.progress(&Progress { progress, total, message });
                if progress_token.is_some() {
                    return NotificationKind::OwnProgress;
                }
            }
        }
        "notifications/message" => {
            if let Ok(LogParams { level, logger, data }) = serde_json::from_slice(params) {
                caller.log(level, logger.as_deref(), &data);
            }
        }
        _ => {}
    }
    NotificationKind::Other
}

/// What a server is told whose question was not answered.
fn in_protocol(error: CallError) -> RpcError {
    match error.rpc {
        // A legacy server does not know that code.
        Some(rpc) if rpc.code == RpcError::MISSING_CAPABILITY => {
            RpcError { code: code::METHOD_NOT_FOUND, ..*rpc }
        }
        Some(rpc) => *rpc,
        None => RpcError { code: RpcError::INTERNAL, message: error.message, data: None },
    }
}
