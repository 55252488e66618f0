//! A bridge for clients that can only start a process: lines in and out here, HTTP to a remote gateway there. It adds
//! the headers that the remote expects, keeps the session, reads streams, and otherwise passes messages through untouched.

mod remote;

use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

pub use remote::{BridgeError, Incoming, Remote, Reply};

use super::connection::MOST_UNDER_WAY;
use super::paths::UNKNOWN_GROUP;
use super::stream::{Line, Lines, too_long, write};
use crate::envelope::{self, Message, Params};
use crate::live::Live;
use crate::outbox::{Outbox, Sent};
use crate::reply::{Answer, Code, Fault};
use remote::{Event, Events};

/// How long the bridge waits before it comes back to a stream that ended.
const RETRY: Duration = Duration::from_secs(1);

/// Bridges until the input ends, then lets the calls under way finish. A group that the gateway does not have is an error, once
/// the request is answered that found out.
pub async fn bridge(
    remote: &dyn Remote,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let bridge = Bridge::new(remote);
    let mut lines = Lines::new(input);
    let mut running = FuturesUnordered::new();
    let mut following: Pin<Box<dyn Future<Output = ()> + Send + '_>> = Box::pin(bridge.follow());
    let mut open = true;
    while open || !running.is_empty() {
        tokio::select! {
            line = lines.next(), if open && running.len() < MOST_UNDER_WAY => match line? {
                Line::Whole(line) => running.push(bridge.exchange(line)),
                Line::TooLong => write(&mut output, too_long()).await?,
                Line::End => open = false,
            },
            Some(()) = running.next(), if !running.is_empty() => {}
            sent = poll_fn(|context| bridge.outbox.poll_next(context)) => bridge.say(&mut output, sent).await?,
            () = following.as_mut() => following = Box::pin(pending()),
            () = bridge.over.notified() => break,
        }
    }
    while let Some(message) = bridge.outbox.take() {
        bridge.say(&mut output, Sent::Message(message)).await?;
    }
    bridge.end().await;
    bridge.why_over.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
}

/// What the messages of one client have in common.
struct Bridge<'a> {
    remote: &'a dyn Remote,
    outbox: Outbox,
    live: Arc<Live>,
    /// The legacy revision that was negotiated.
    negotiated: OnceLock<String>,
    session: Mutex<Option<String>>,
    /// How the client introduced itself, in case the session is lost.
    introduction: OnceLock<Bytes>,
    introduced: tokio::sync::Notify,
    /// Rung when there is nothing to bridge to.
    over: tokio::sync::Notify,
    why_over: OnceLock<String>,
}

impl<'a> Bridge<'a> {
    fn new(remote: &'a dyn Remote) -> Self {
        Self {
            remote,
            outbox: Outbox::default(),
            live: Arc::default(),
            negotiated: OnceLock::new(),
            session: Mutex::default(),
            introduction: OnceLock::new(),
            introduced: tokio::sync::Notify::new(),
            over: tokio::sync::Notify::new(),
            why_over: OnceLock::new(),
        }
    }

    async fn say(&self, output: &mut (impl AsyncWrite + Unpin), sent: Sent) -> io::Result<()> {
        let Sent::Message(message) = sent else { return Ok(()) };
        output.write_all(&message).await?;
        output.write_all(b"\n").await?;
        output.flush().await
    }

    /// Sends one message and writes whatever comes back.
    async fn exchange(&self, line: Bytes) {
        let message = envelope::parse(&line);
        let headers = self.headers_for(message.as_ref().ok());
        let (id, method) = match &message {
            Ok(Message::Request(request)) => (Some(request.id), request.method.as_ref()),
            Ok(Message::Notification(notification)) => {
                // Closing the stream cancels a modern request; a legacy one is cancelled by what is passed on.
                if let Some(id) = crate::server::cancelled(notification) {
                    self.live.cancel(id.get());
                }
                (None, notification.method.as_ref())
            }
            Ok(Message::Response(_)) | Err(_) => (None, ""),
        };
        let (handle, registration) = AbortHandle::new_pair();
        let _begun = id.map(|id| self.live.begin(id.get(), handle));
        let outcome = Abortable::new(self.deliver(headers, &line, (id, method)), registration).await;
        if let (Ok(Err(error)), Some(id)) = (outcome, id) {
            self.answer_with(id, error.0);
        }
        if method == "notifications/initialized" {
            self.introduced.notify_one();
        }
    }

    async fn deliver(
        &self,
        headers: HeaderMap,
        line: &Bytes,
        (id, method): (Option<&RawValue>, &str),
    ) -> Result<(), BridgeError> {
        let mut reply = self.remote.send(Method::POST, headers.clone(), line.clone()).await?;
        if reply.status == 404 && method != "initialize" && headers.contains_key("mcp-session-id") {
            // The server was restarted, or another one answers: the client is introduced again.
            self.introduce_again().await?;
            let mut headers = headers;
            self.add_session(&mut headers);
            reply = self.remote.send(Method::POST, headers, line.clone()).await?;
        }
        if method == "initialize" {
            self.set_session(reply.session.take());
            let _ = self.introduction.set(line.clone());
        }
        if reply.events {
            return self.pass_on(reply, id).await;
        }
        let status = reply.status;
        let body = reply.body.whole().await?;
        if method == "initialize"
            && let Some(revision) = revision_of(&body)
        {
            let _ = self.negotiated.set(revision);
        }
        if status == 404
            && let Some(why) = no_such_group(&body)
        {
            let _ = self.why_over.set(why);
            self.over.notify_one();
        }
        match (body.trim_ascii().is_empty(), id) {
            (true, Some(id)) => {
                self.answer_with(id, format!("the gateway answered status {status} without a message"));
            }
            (true, None) => {}
            (false, _) => self.pass(body),
        }
        Ok(())
    }

    /// Passes the events of a stream on until it has answered; comes back to one that ends before.
    async fn pass_on(&self, reply: Reply, id: Option<&RawValue>) -> Result<(), BridgeError> {
        /// How often a stream that ends without an answer is come back to.
        const MOST_RETURNS: usize = 600;
        let (mut events, mut last) = (Events::new(reply.body), None);
        for _ in 0..MOST_RETURNS {
            let mut answered = false;
            while let Some(Event { id: event, data }) = events.next().await? {
                last = event.or(last);
                if !data.is_empty() {
                    answered |= id.is_some_and(|id| answers(&data, id));
                    self.pass(data);
                }
            }
            let Some(from) = last.as_deref().filter(|_| !answered && id.is_some()) else { break };
            tokio::time::sleep(RETRY).await;
            let reply = self.remote.send(Method::GET, self.stream_headers(Some(from)), Bytes::new()).await?;
            if !reply.events {
                return Err(BridgeError("the gateway lost the call; call again".to_owned()));
            }
            events = Events::new(reply.body);
        }
        Ok(())
    }

    /// Follows the stream of a legacy session for what the server says by itself.
    async fn follow(&self) {
        self.introduced.notified().await;
        let mut last: Option<String> = None;
        while self.session().is_some() {
            let headers = self.stream_headers(last.as_deref());
            if let Ok(reply) = self.remote.send(Method::GET, headers, Bytes::new()).await {
                if reply.status == 405 {
                    return;
                }
                let mut events = Events::new(reply.body);
                while let Ok(Some(event)) = events.next().await {
                    last = event.id.or(last);
                    if !event.data.is_empty() {
                        self.pass(event.data);
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn introduce_again(&self) -> Result<(), BridgeError> {
        let Some(introduction) = self.introduction.get() else { return Ok(()) };
        let mut reply = self.remote.send(Method::POST, plain_headers(), introduction.clone()).await?;
        self.set_session(reply.session.take());
        let _ = reply.body.whole().await?;
        let mut headers = plain_headers();
        self.add_session(&mut headers);
        insert(&mut headers, "mcp-protocol-version", self.negotiated.get().map(String::as_str));
        let initialized =
            Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        self.remote.send(Method::POST, headers, initialized).await.map(|_| ())
    }

    /// Tells the server that the session is over.
    async fn end(&self) {
        if self.session().is_some() {
            let ending = self.remote.send(Method::DELETE, self.stream_headers(None), Bytes::new());
            // It would find out by itself in the end.
            let _ = tokio::time::timeout(RETRY, ending).await;
        }
    }

    fn set_session(&self, session: Option<String>) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add_session(&self, headers: &mut HeaderMap) {
        insert(headers, "mcp-session-id", self.session().as_deref());
    }

    fn stream_headers(&self, last: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.add_session(&mut headers);
        insert(&mut headers, "mcp-protocol-version", self.negotiated.get().map(String::as_str));
        insert(&mut headers, "last-event-id", last);
        headers
    }

    fn headers_for(&self, message: Option<&Message<'_>>) -> HeaderMap {
        let mut headers = plain_headers();
        let (method, params) = match message {
            Some(Message::Request(request)) => (request.method.as_ref(), Some(&request.params)),
            Some(Message::Notification(notification)) => {
                (notification.method.as_ref(), Some(&notification.params))
            }
            Some(Message::Response(_)) | None => ("", None),
        };
        let named = params.and_then(|params| params.meta.as_ref()?.protocol_version);
        let modern = Params::text("protocolVersion", named).ok().flatten();
        if let (Some(version), Some(params)) = (&modern, params) {
            insert(&mut headers, "mcp-protocol-version", Some(version));
            insert(&mut headers, "mcp-method", Some(method));
            let name = [params.name, params.uri, params.task_id].into_iter().flatten().next();
            insert(&mut headers, "mcp-name", Params::text("name", name).ok().flatten().as_deref());
        } else if method != "initialize" {
            insert(&mut headers, "mcp-protocol-version", self.negotiated.get().map(String::as_str));
            self.add_session(&mut headers);
        }
        headers
    }

    /// Writes a message on a line of its own.
    fn pass(&self, message: Bytes) {
        if serde_json::from_slice::<&RawValue>(&message).is_err() {
            tracing::warn!("the gateway sent something that is not JSON; it is left out");
            return;
        }
        self.outbox.push(crate::reply::Pieces::from(message).into_line());
    }

    fn answer_with(&self, id: &RawValue, message: String) {
        let answer = Answer::write(Some(id), Err(Fault::new(Code::CallFailed, message)));
        self.outbox.push(answer.body.into_line());
    }
}

fn plain_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: Option<&str>) {
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(&crate::headers::encode(value)).ok()) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Whether a message answers the request of that id.
fn answers(message: &[u8], id: &RawValue) -> bool {
    matches!(envelope::parse(message), Ok(Message::Response(response)) if response.id.is_some_and(|found| found.get() == id.get()))
}

/// What the gateway says if it has no such group. That does not change by itself: groups are settled when it starts.
fn no_such_group(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let error = answer.get("error")?;
    error.get("data")?.get(UNKNOWN_GROUP)?;
    error.get("message")?.as_str().map(str::to_owned)
}

fn revision_of(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer.pointer("/result/protocolVersion")?.as_str().map(str::to_owned)
}
