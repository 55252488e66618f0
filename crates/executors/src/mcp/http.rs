//! Streamable HTTP, both eras: each request is a POST whose answer is one message or a stream of them; a legacy session
//! also has a stream of its own (GET) and an end (DELETE).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use toolrail_core::{CallError, ErrorCode};
use toolrail_protocol::header;

use super::endpoint::ServerEndpoint;
use super::failure::Failure;
use super::message::ServerMessage;
use super::on_behalf::Holder;
use super::sse::{Decoder, IdleLines};
use super::wire::OutgoingRequest;
use crate::outbound::StreamedAnswer;

const SESSION: HeaderName = HeaderName::from_static(header::SESSION_ID);
const VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The pause before a stream is resumed where the server does not name one.
pub(super) const RETRY: Duration = Duration::from_millis(500);
/// The shortest one before the stream of a request is.
const SHORTEST_RETRY: Duration = Duration::from_millis(100);
/// How often the stream of one request is resumed at most.
const MOST_RESUMED: u32 = 1000;
const FAREWELL: Duration = Duration::from_secs(3);

/// What every message to the server carries.
pub(super) struct HttpSession {
    pub(super) endpoint: Arc<ServerEndpoint>,
    /// In whose name it is held, if not in the gateway's own.
    pub(super) holder: Option<Holder>,
    /// The protocol revision, once it is known.
    pub(super) version: Option<&'static str>,
    /// The session, if a legacy server gave one.
    pub(super) session: Option<HeaderValue>,
    /// Whether requests repeat their method and name in headers (2026-07-28).
    pub(super) is_modern: bool,
}

/// What came back for one POST.
pub(super) struct Posted {
    /// The session that the answer names.
    pub(super) session: Option<HeaderValue>,
    answer: PostedAnswer,
}

enum PostedAnswer {
    Nothing,
    Message(ServerMessage),
    Stream(Box<EventStream>),
}

/// Messages on one stream.
pub(super) struct EventStream {
    streamed: StreamedAnswer,
    pub(super) decoder: Decoder,
    idle: IdleLines,
    most: usize,
    place: String,
}

/// One request and its answer on the way.
pub(super) struct HttpExchange {
    session: Arc<HttpSession>,
    id: u64,
    state: ExchangeState,
    resumed: u32,
    /// What came behind the answer, not yet read.
    rest: Option<Box<EventStream>>,
    /// The session that the first answer named.
    pub(super) named_session: Option<HeaderValue>,
}

enum ExchangeState {
    Opening(BoxFuture<'static, Result<Posted, Failure>>),
    Reading(Box<EventStream>),
    Done,
}

impl HttpSession {
    /// Sends a message that is not a request; the server only accepts it.
    pub(super) async fn notify(&self, message: Bytes) -> Result<(), Failure> {
        /// Nobody looks at more.
        const READ: usize = 64 << 10;
        let streamed = self.send(Method::POST, message, HeaderMap::new()).await?;
        if !streamed.status.is_success() {
            return Err(self.refused(streamed.status, ""));
        }
        // Read only to keep the connection for the next message.
        drop(tokio::time::timeout(FAREWELL, streamed.rest(READ)).await);
        Ok(())
    }

    /// Begins a request.
    pub(super) fn begin(self: &Arc<Self>, request: OutgoingRequest) -> HttpExchange {
        let headers = if self.is_modern { modern_headers(&request) } else { HeaderMap::new() };
        let session = Arc::clone(self);
        let message = request.message();
        let opening = Box::pin(async move { session.post(message, headers).await });
        HttpExchange {
            session: Arc::clone(self),
            id: request.id,
            state: ExchangeState::Opening(opening),
            resumed: 0,
            rest: None,
            named_session: None,
        }
    }

    /// Ends a legacy session, as far as the server cares.
    pub(super) async fn end(&self) {
        if self.session.is_some() {
            let goodbye = self.send(Method::DELETE, Bytes::new(), HeaderMap::new());
            // Best effort: the server forgets it by itself in time.
            drop(tokio::time::timeout(FAREWELL, goodbye).await);
        }
    }

    async fn send(
        &self,
        method: Method,
        message: Bytes,
        mut headers: HeaderMap,
    ) -> Result<StreamedAnswer, CallError> {
        headers.extend(self.headers());
        self.endpoint.send(self.holder.as_ref(), method, (headers, message)).await
    }

    async fn post(&self, message: Bytes, headers: HeaderMap) -> Result<Posted, Failure> {
        let streamed = self.send(Method::POST, message, headers).await?;
        let session = streamed.headers.get(SESSION).cloned();
        let answer = self.answer(streamed).await?;
        Ok(Posted { session, answer })
    }

    async fn answer(&self, streamed: StreamedAnswer) -> Result<PostedAnswer, Failure> {
        let status = streamed.status;
        let kind = streamed.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if status.is_success() && kind == "text/event-stream" {
            return Ok(PostedAnswer::Stream(Box::new(self.stream(streamed, Decoder::default()))));
        }
        let most = self.endpoint.limits.message_bytes;
        let (body, cut) = streamed.rest(most).await.map_err(CallError::from)?;
        if cut.is_some() {
            return Err(Failure::unusable(format!(
                "{} sent a message of more than {most} bytes, which is the limit; raise maxResponseBytes or ask it for less",
                self.endpoint.name()
            )));
        }
        let is_session_gone = status == StatusCode::NOT_FOUND && self.session.is_some();
        match ServerMessage::parse(&body) {
            Ok(message @ ServerMessage::Answer { .. }) if !is_session_gone => {
                Ok(PostedAnswer::Message(message))
            }
            _ if status == StatusCode::ACCEPTED => Ok(PostedAnswer::Nothing),
            _ => Err(self.refused(status, &kind)),
        }
    }

    fn refused(&self, status: StatusCode, kind: &str) -> Failure {
        if status == StatusCode::NOT_FOUND && self.session.is_some() {
            return Failure::SessionGone;
        }
        let place = self.endpoint.name();
        let message = match status.as_u16() {
            200..=299 => {
                return Failure::unusable(format!(
                    "{} answered with {kind:?} and not with a message; check that the URL is its MCP endpoint",
                    self.endpoint.path()
                ));
            }
            401 | 403 if self.holder.is_some() => {
                format!("{place} answered {status} to the token that was sent in the name of whoever calls")
            }
            401 | 403 if self.endpoint.is_on_behalf() => format!(
                "{place} answered {status} when it was to be listed, which is done in nobody's name; give a credential for that in mcp.listAuth"
            ),
            401 | 403 => format!("{place} answered {status}; check auth and headers of the definition"),
            404 | 405 => {
                format!("{} answered {status}; check that the URL is its MCP endpoint", self.endpoint.path())
            }
            _ => format!("{place} answered {status}; look into its log"),
        };
        let error = CallError::new(ErrorCode::UpstreamStatus, message);
        Failure::Status(status.as_u16(), error)
    }

    /// Opens the stream of a legacy session, or resumes one.
    pub(super) async fn get(&self, decoder: Decoder) -> Result<EventStream, Failure> {
        let mut headers = HeaderMap::new();
        if let Some(id) = decoder.last_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT, id);
        }
        let streamed = self.send(Method::GET, Bytes::new(), headers).await?;
        let kind = streamed.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if streamed.status.is_success() && kind.starts_with("text/event-stream") {
            return Ok(self.stream(streamed, decoder));
        }
        if streamed.status.is_success() {
            let error = CallError::new(ErrorCode::UpstreamInvalid, "the server has no stream of its own");
            return Err(Failure::Status(405, error));
        }
        Err(self.refused(streamed.status, ""))
    }

    fn stream(&self, streamed: StreamedAnswer, decoder: Decoder) -> EventStream {
        EventStream {
            streamed,
            decoder,
            idle: IdleLines::new(),
            most: self.endpoint.limits.message_bytes,
            place: self.endpoint.name(),
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(version) = self.version {
            headers.insert(VERSION, HeaderValue::from_static(version));
        }
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        headers
    }
}

impl EventStream {
    /// The next message; nothing when the server ended the stream. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<ServerMessage>, Failure> {
        while let Some(line) = self.streamed.line(self.most).await.map_err(CallError::from)? {
            let held = self.decoder.held();
            if held > self.most {
                return Err(Failure::unusable(format!(
                    "{} sent a message of more than {} bytes, which is the limit; raise maxResponseBytes or ask it for less",
                    self.place, self.most
                )));
            }
            let mut idle_bytes = line.len();
            if let Some(data) = self.decoder.line(&line) {
                match ServerMessage::parse(&data) {
                    Ok(message) => {
                        self.idle = IdleLines::new();
                        return Ok(Some(message));
                    }
                    Err(fault) => tracing::debug!(server = self.place, fault, "passed over an event"),
                }
                idle_bytes = data.len();
            } else if self.decoder.held() > held {
                continue;
            }
            if !self.idle.allows(idle_bytes) {
                return Err(self.flooded());
            }
        }
        Ok(None)
    }

    fn flooded(&self) -> Failure {
        Failure::unusable(format!(
            "{} sends line after line and no message; check that the URL is its MCP endpoint",
            self.place
        ))
    }
}

impl HttpExchange {
    /// The next message for this request; after the answer there is none.
    pub(super) async fn next(&mut self) -> Result<ServerMessage, Failure> {
        loop {
            match &mut self.state {
                ExchangeState::Opening(opening) => {
                    let posted = opening.as_mut().await;
                    self.state = ExchangeState::Done;
                    let Posted { session, answer } = posted?;
                    self.named_session = self.named_session.take().or(session);
                    match answer {
                        PostedAnswer::Message(message) => return self.checked(message),
                        PostedAnswer::Stream(stream) => self.state = ExchangeState::Reading(stream),
                        PostedAnswer::Nothing => return Err(self.silent()),
                    }
                }
                ExchangeState::Reading(stream) => match stream.next().await {
                    Ok(Some(message)) => {
                        if matches!(message, ServerMessage::Answer { .. })
                            && let ExchangeState::Reading(stream) =
                                std::mem::replace(&mut self.state, ExchangeState::Done)
                        {
                            self.rest = Some(stream);
                        }
                        return self.checked(message);
                    }
                    Ok(None) => self.resume(None)?,
                    Err(Failure::Lost(error)) => self.resume(Some(error))?,
                    Err(failure) => return Err(failure),
                },
                ExchangeState::Done => return Err(self.silent()),
            }
        }
    }

    /// Reads the end of the stream that brought the answer, so that its connection can be kept.
    pub(super) fn ending(&mut self) -> Option<BoxFuture<'static, ()>> {
        /// A server that sends more than this behind its answer is not waited for.
        const READ: usize = 64 << 10;
        let stream = self.rest.take()?;
        Some(Box::pin(async move { drop(stream.streamed.rest(READ).await) }))
    }

    /// The message, unless it is the answer to another request; an error may come without an id where the server could not
    /// read the request.
    fn checked(&self, message: ServerMessage) -> Result<ServerMessage, Failure> {
        let is_foreign = match &message {
            ServerMessage::Answer { id: None, outcome } => outcome.is_ok(),
            ServerMessage::Answer { id: Some(id), .. } => *id != self.id,
            ServerMessage::Request { .. } | ServerMessage::Notice { .. } => false,
        };
        if is_foreign {
            return Err(Failure::unusable(format!(
                "{} answered another request than the one it was sent; look into its log",
                self.session.endpoint.name()
            )));
        }
        Ok(message)
    }

    /// Comes back for the rest of a stream that ended too early, where the server said how (2025-11-25).
    fn resume(&mut self, broken: Option<CallError>) -> Result<(), Failure> {
        let ExchangeState::Reading(stream) = std::mem::replace(&mut self.state, ExchangeState::Done) else {
            return Err(self.silent());
        };
        let decoder = stream.decoder.resuming();
        self.resumed += 1;
        if self.session.is_modern || decoder.last_id.is_none() || self.resumed > MOST_RESUMED {
            return Err(broken.map_or_else(|| self.silent(), Failure::Lost));
        }
        let session = Arc::clone(&self.session);
        self.state = ExchangeState::Opening(Box::pin(async move {
            tokio::time::sleep(decoder.retry.unwrap_or(RETRY).max(SHORTEST_RETRY)).await;
            let stream = session.get(decoder).await?;
            Ok(Posted { session: None, answer: PostedAnswer::Stream(Box::new(stream)) })
        }));
        Ok(())
    }

    fn silent(&self) -> Failure {
        let place = self.session.endpoint.name();
        Failure::Call(CallError::new(
            ErrorCode::UpstreamUnreachable,
            format!("{place} ended its answer before it had given one; look into its log"),
        ))
    }
}

fn modern_headers(request: &OutgoingRequest) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, text: &str| headers.insert(name, encoded(text));
    add(HeaderName::from_static(header::METHOD), request.method);
    if let Some(name) = &request.name {
        add(HeaderName::from_static(header::NAME), name);
    }
    for (param, value) in &request.params_in_headers {
        if let Ok(name) = HeaderName::from_bytes(format!("{}{param}", header::PARAM).as_bytes()) {
            add(name, value);
        }
    }
    headers
}

fn encoded(text: &str) -> HeaderValue {
    HeaderValue::from_str(&header::encode(text)).unwrap_or_else(|_| HeaderValue::from_static(""))
}
