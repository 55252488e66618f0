//! A connection to a server: the era it speaks, what it can do, and our own requests on it (lists, subscriptions). Calls
//! of clients run in `run`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use toolrail_core::{Json, LogLevel};
use toolrail_protocol::{Era, code};

use super::failure::Failure;
use super::message::{self, ServerMessage, Writer};
use super::meta::{self, Claims};
use super::wire::{OutgoingRequest, PendingRequest, Wire, WireKind};

/// A connection on which the handshake is done.
pub(super) struct Connection {
    pub(super) wire: Arc<Wire>,
    pub(super) era: Era,
    /// Whether a modern server may know older revisions, too. Servers that do rarely say so, so that it is tried.
    pub(super) may_know_legacy: AtomicBool,
    /// What the server declared that it can do.
    pub(super) capabilities: Value,
    /// What the server was told that can be asked here.
    pub(super) claims: Claims,
    /// What the server says about its use.
    pub(super) instructions: Option<String>,
    /// How long an answer may take.
    pub(super) patience: Duration,
    /// The least grave log messages that a legacy server was asked for.
    pub(super) level: Mutex<Option<LogLevel>>,
}

impl Connection {
    /// Whether the server declared that capability, such as `/resources/subscribe`.
    pub(super) fn can(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer).is_some_and(|value| *value != Value::Bool(false))
    }

    /// Whether it is a child process, on which everything shares one channel.
    pub(super) fn is_process(&self) -> bool {
        matches!(self.wire.kind(), WireKind::Stdio(_))
    }

    /// Whether the server may remember what was done on it.
    pub(super) fn keeps_state(&self) -> bool {
        match self.wire.kind() {
            WireKind::Http(session) => session.session.is_some(),
            WireKind::Stdio(_) => true,
        }
    }

    /// Begins a request of our own.
    pub(super) fn begin(&self, method: &'static str, mut params: Writer) -> Result<PendingRequest, Failure> {
        if let Some(meta) = meta::our_own(self.era, self.claims) {
            params.raw("_meta", &meta);
        }
        self.wire.begin(OutgoingRequest {
            id: self.wire.next_id(),
            method,
            name: None,
            params: params.finish(),
            params_in_headers: Vec::new(),
        })
    }

    /// Makes a request of our own and waits for the result.
    pub(super) async fn ask(&self, method: &'static str, params: Writer) -> Result<Json, Failure> {
        answer_of(self.begin(method, params)?, self.patience).await
    }

    /// Sees to it that a legacy server sends log messages of that level.
    pub(super) async fn lower_level(&self, wanted: Option<LogLevel>) {
        let Some(wanted) = wanted.filter(|_| self.era == Era::Legacy && self.can("/logging")) else {
            return;
        };
        {
            let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
            if level.is_some_and(|level| level <= wanted) {
                return;
            }
            *level = Some(wanted);
        }
        let mut params = Writer::new();
        params.text("level", wanted.word());
        if let Err(failure) = self.ask("logging/setLevel", params).await {
            tracing::debug!(reason = %failure.into_error(), "the server keeps its log level");
        }
    }
}

/// Waits for the answer to a request of our own; whatever the server asks meanwhile is refused.
pub(super) async fn answer_of(mut exchange: PendingRequest, patience: Duration) -> Result<Json, Failure> {
    let place = exchange.wire().place();
    let waiting = async {
        loop {
            match exchange.next().await? {
                ServerMessage::Answer { outcome, .. } => {
                    return outcome.map_err(|error| Failure::Call(message::refused(error)));
                }
                ServerMessage::Request { id, method, .. } => {
                    exchange.wire().send(answer_unasked(&id, &method)).await?;
                }
                ServerMessage::Notice { .. } => {}
            }
        }
    };
    match tokio::time::timeout(patience, waiting).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::late(format!(
            "{place} did not answer within {} ms; raise timeoutMs if it needs longer",
            patience.as_millis()
        ))),
    }
}

/// What a server gets that asks something where nobody can answer.
pub(super) fn answer_unasked(id: &[u8], method: &str) -> Bytes {
    match method {
        "ping" => return message::answer(id, Ok(&json!({}))),
        // Servers that may ask for roots are known to stop if they get none at all.
        "roots/list" => return message::answer(id, Ok(&json!({"roots": []}))),
        _ => {}
    }
    let message = format!("{method} is not available here: no client that could answer is concerned");
    message::answer(id, Err(&toolrail_core::RpcError { code: code::METHOD_NOT_FOUND, message, data: None }))
}
