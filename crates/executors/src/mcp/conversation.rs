//! One request of a client on its way at the server, up to the answer: reports of progress and log messages go to the
//! client, and so do the questions of a legacy server.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{
    CallError, Caller, InputRequired, Json, LogLevel, Progress, Question, Questions, RpcError, Unanswered,
};

use super::connection::{Era, answer_unasked};
use super::failure::Failure;
use super::message::{self, Message};
use super::parked::{Asked, new_token};
use super::pool::Lease;
use super::wire::Exchange;

/// The longest that a call may take in all, however lively its progress.
const LONGEST: Duration = Duration::from_hours(1);

/// A request that was sent.
pub(super) struct Conversation {
    pub(super) exchange: Exchange,
    pub(super) lease: Lease,
    /// How many questions the server has asked.
    pub(super) asked: u32,
}

/// How far a conversation came.
pub(super) enum Turn {
    /// The server answered.
    Answer(Result<Json, RpcError>),
    /// The client must call again with the answer to this; the token names the call.
    Later { asked: Asked, input: InputRequired, token: String },
}

impl Conversation {
    /// Waits until there is an answer, or a question that the client answers by calling again.
    pub(super) async fn proceed(&mut self, caller: &dyn Caller) -> Result<Turn, Failure> {
        let ends = tokio::time::Instant::now() + LONGEST;
        loop {
            let patience = self.lease.connection.patience.min(ends - tokio::time::Instant::now().min(ends));
            let Ok(next) = tokio::time::timeout(patience, self.next()).await else {
                return Err(self.too_late(patience));
            };
            match next? {
                Message::Answer { outcome, .. } => return Ok(Turn::Answer(outcome)),
                Message::Notice { method, params } => {
                    tell(caller, &method, params.as_deref().unwrap_or_default(), self.exchange.id());
                }
                Message::Request { id, method, params } => {
                    let params = params.and_then(|params| serde_json::from_slice(&params).ok());
                    let question = Question { method, params: params.unwrap_or_else(|| json!({})) };
                    // On the shared connection nobody was said to be there for questions.
                    let is_for_client = question.capability().is_some()
                        && self.lease.connection.era == Era::Legacy
                        && !self.lease.is_shared();
                    if !is_for_client {
                        self.send(answer_unasked(&id, &question.method)).await?;
                        continue;
                    }
                    self.asked += 1;
                    let asked = Asked { id, key: format!("question-{}", self.asked), question };
                    if let Some(later) = self.ask(caller, asked).await? {
                        return Ok(later);
                    }
                }
            }
        }
    }

    /// Asks the client what the server asked, and passes the answer on; the turn is over if the answer comes later.
    pub(super) async fn ask(&mut self, caller: &dyn Caller, asked: Asked) -> Result<Option<Turn>, Failure> {
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
            Err(Unanswered::Later(input)) => return Ok(Some(Turn::Later { asked, input, token })),
            Err(Unanswered::Never(error)) => message::answer(&asked.id, Err(&in_protocol(error))),
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
    async fn next(&mut self) -> Result<Message, Failure> {
        loop {
            tokio::select! {
                // What a child said before its answer is looked at before it.
                biased;
                message = self.lease.unsolicited() => match message {
                    Some(Message::Answer { .. }) => {}
                    Some(message) => return Ok(message),
                    None => self.lease.close_unsolicited(),
                },
                message = self.exchange.next() => return message,
            }
        }
    }

    fn too_late(&self, patience: Duration) -> Failure {
        Failure::late(format!(
            "{} did not answer within {} ms; raise timeoutMs if it needs longer",
            self.lease.connection.wire.place(),
            patience.as_millis()
        ))
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

/// Passes a notification on to the client, if it is one for it.
fn tell(caller: &dyn Caller, method: &str, params: &[u8], token: u64) {
    match method {
        "notifications/progress" => {
            if let Ok(params) = serde_json::from_slice::<ProgressParams>(params)
                && params.progress_token.is_none_or(|given| given == token)
            {
                let ProgressParams { progress, total, message, .. } = params;
                caller.progress(&Progress { progress, total, message });
            }
        }
        "notifications/message" => {
            if let Ok(LogParams { level, logger, data }) = serde_json::from_slice(params) {
                caller.log(level, logger.as_deref(), &data);
            }
        }
        _ => {}
    }
}

/// What a server is told whose question was not answered.
fn in_protocol(error: CallError) -> RpcError {
    match error.rpc {
        // A legacy server does not know that code.
        Some(rpc) if rpc.code == RpcError::MISSING_CAPABILITY => RpcError { code: -32601, ..*rpc },
        Some(rpc) => *rpc,
        None => RpcError { code: -32603, message: error.message, data: None },
    }
}
