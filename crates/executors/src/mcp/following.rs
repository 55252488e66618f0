//! How changes at a server are heard of: a legacy server sends them by itself and is asked for single resources; a modern
//! one sends them on the stream of `subscriptions/listen`, which names everything that is wanted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;
use toolrail_core::{Json, LogLevel, Notice};
use toolrail_protocol::Era;

use super::connection::Connection;
use super::failure::Failure;
use super::message::{ServerMessage, Writer};
use super::wire::{PendingRequest, Unsolicited};

/// The pause before a stream that ended is opened again.
const AGAIN: Duration = Duration::from_secs(1);
/// A stream may be dead without anybody noticing, so it is opened anew once in a while.
const OLDEST: Duration = Duration::from_mins(10);

/// What is heard from a server.
pub(super) enum ServerEvent {
    ListsChanged,
    Resource(String),
    /// Something for the client of the session.
    Notice(Notice),
    Question {
        id: Bytes,
        method: String,
    },
    /// The connection is gone.
    Gone,
}

/// Follows one connection.
pub(super) struct Following {
    connection: Arc<Connection>,
    unsolicited: Unsolicited,
    stream: ChangeStream,
    watched: Vec<String>,
}

/// The stream of a modern server.
enum ChangeStream {
    /// There is none: a legacy server, or nothing to listen for.
    None,
    Open(Box<PendingRequest>, Instant),
    /// To be opened at that time.
    Closed(Instant),
}

impl Following {
    pub(super) async fn begin(
        connection: &Arc<Connection>,
        unsolicited: Unsolicited,
        watched: Vec<String>,
    ) -> Self {
        let mut following = Self {
            connection: Arc::clone(connection),
            unsolicited,
            stream: ChangeStream::None,
            watched: Vec::new(),
        };
        following.stream = following.listen(&watched);
        following.watch(watched).await;
        following
    }

    /// Follows exactly those resources from now on.
    pub(super) async fn watch(&mut self, uris: Vec<String>) {
        if uris == self.watched || !self.connection.can("/resources/subscribe") {
            return;
        }
        match self.connection.era {
            // The new stream stands beside the old one until that is dropped, so that nothing is missed.
            Era::Modern => self.stream = self.listen(&uris),
            Era::Legacy => {
                let gone = self.watched.iter().filter(|uri| !uris.contains(uri));
                let new = uris.iter().filter(|uri| !self.watched.contains(uri));
                let requests = gone
                    .map(|uri| ("resources/unsubscribe", uri))
                    .chain(new.map(|uri| ("resources/subscribe", uri)));
                for (method, uri) in requests {
                    let mut params = Writer::new();
                    params.text("uri", uri);
                    if let Err(failure) = self.connection.ask(method, params).await {
                        tracing::debug!(method, uri, reason = %failure.into_error(), "the server does not follow");
                    }
                }
            }
        }
        self.watched = uris;
    }

    /// What is heard next. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> ServerEvent {
        loop {
            let heard = tokio::select! {
                message = self.unsolicited.next() => match message {
                    Some(message) => heard_in(message),
                    None => Some(ServerEvent::Gone),
                },
                ended = self.stream.next() => match ended {
                    ChangeEvent::Message(message) => heard_in(message),
                    ChangeEvent::Open => {
                        self.stream = self.listen(&self.watched);
                        // Whatever happened in between was not heard.
                        Some(ServerEvent::ListsChanged)
                    }
                    ChangeEvent::Ended(failure) => {
                        self.stream = after(failure);
                        None
                    }
                },
            };
            if let Some(heard) = heard {
                return heard;
            }
        }
    }

    /// Opens the stream of a modern server for all that it can tell.
    fn listen(&self, watched: &[String]) -> ChangeStream {
        if self.connection.era == Era::Legacy {
            return ChangeStream::None;
        }
        let mut wanted = Map::new();
        for (capability, name) in [
            ("/tools/listChanged", "toolsListChanged"),
            ("/prompts/listChanged", "promptsListChanged"),
            ("/resources/listChanged", "resourcesListChanged"),
        ] {
            if self.connection.can(capability) {
                wanted.insert(name.into(), Value::Bool(true));
            }
        }
        if !watched.is_empty() && self.connection.can("/resources/subscribe") {
            wanted.insert("resourceSubscriptions".into(), watched.into());
        }
        if wanted.is_empty() {
            return ChangeStream::None;
        }
        let mut params = Writer::new();
        params.value("notifications", &Value::Object(wanted));
        match self.connection.begin("subscriptions/listen", params) {
            Ok(exchange) => ChangeStream::Open(Box::new(exchange), Instant::now() + OLDEST),
            Err(_) => ChangeStream::Closed(Instant::now() + AGAIN),
        }
    }
}

/// What becomes of a stream that ended.
fn after(failure: Option<Failure>) -> ChangeStream {
    match failure {
        Some(Failure::Call(error)) if error.rpc.is_some() => {
            tracing::debug!(reason = %error, "the server cannot be listened to");
            ChangeStream::None
        }
        _ => ChangeStream::Closed(Instant::now() + AGAIN),
    }
}

enum ChangeEvent {
    Message(ServerMessage),
    /// It is time to open it.
    Open,
    Ended(Option<Failure>),
}

impl ChangeStream {
    async fn next(&mut self) -> ChangeEvent {
        match self {
            Self::None => std::future::pending().await,
            Self::Closed(at) => {
                tokio::time::sleep_until(*at).await;
                ChangeEvent::Open
            }
            Self::Open(exchange, until) => tokio::select! {
                () = tokio::time::sleep_until(*until) => ChangeEvent::Open,
                message = exchange.next() => match message {
                    Ok(ServerMessage::Answer { outcome: Err(error), .. }) => {
                        ChangeEvent::Ended(Some(Failure::Call(super::message::refused(error))))
                    }
                    Ok(ServerMessage::Answer { .. }) => ChangeEvent::Ended(None),
                    Ok(message) => ChangeEvent::Message(message),
                    Err(failure) => ChangeEvent::Ended(Some(failure)),
                },
            },
        }
    }
}

pub(super) fn heard_in(message: ServerMessage) -> Option<ServerEvent> {
    #[derive(Deserialize)]
    struct Updated {
        uri: String,
    }
    #[derive(Deserialize)]
    struct Logged<'l> {
        level: LogLevel,
        #[serde(default, rename = "logger")]
        _logger: Option<String>,
        #[serde(borrow, rename = "data")]
        _data: &'l RawValue,
        #[serde(default, rename = "_meta")]
        _meta: Option<Map<String, Value>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Standing {
        task_id: String,
    }
    match message {
        ServerMessage::Answer { .. } => None,
        ServerMessage::Request { id, method, .. } => Some(ServerEvent::Question { id, method }),
        ServerMessage::Notice { method, params } => match method.as_str() {
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => Some(ServerEvent::ListsChanged),
            "notifications/resources/updated" => {
                let Updated { uri } = serde_json::from_slice(&params?).ok()?;
                Some(ServerEvent::Resource(uri))
            }
            "notifications/message" => {
                let params = params?;
                // A list would be read as an object, too.
                let said = Some(&params).filter(|params| params.trim_ascii_start().starts_with(b"{"))?;
                let Logged { level, .. } = serde_json::from_slice(said).ok()?;
                Some(ServerEvent::Notice(Notice::Log { level, params: Json::parse(params).ok()? }))
            }
            "notifications/tasks/status" => {
                let params = params?;
                let Standing { task_id } = serde_json::from_slice(&params).ok()?;
                Some(ServerEvent::Notice(Notice::Task { id: task_id, params: Json::parse(params).ok()? }))
            }
            _ => None,
        },
    }
}
