//! A bridge for clients that can only start a process: lines in and out here, HTTP to a remote gateway there. It adds
//! the headers that the remote expects, keeps the session, reads streams, and otherwise passes messages through untouched.

mod batch;
mod headers;
mod patience;
mod remote;
mod session;
mod verdict;

use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, Method};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub use remote::{BridgeError, Incoming, Remote, RemoteReply};

use super::connection::MOST_UNDER_WAY;
use super::stream::{Line, Lines, too_long, write};
use crate::envelope::{self, Message};
use crate::live::Live;
use crate::reply::{Answer, Code, Fault, Pieces};
use headers::{Repeated, insert, plain};
use patience::within;
use remote::{Event, RemoteEvents};
use verdict::{ClientLine, Verdict, is_header_mismatch, is_starting, no_such_group, revision_of, useless};

/// How long the bridge waits before it comes back to a stream that ended, or to a gateway that starts.
const RETRY: Duration = Duration::from_secs(1);
/// How long a gateway may take to start.
const STARTS_WITHIN: Duration = Duration::from_mins(1);
/// How often a stream that ends without an answer is come back to.
const MOST_RETURNS: usize = 600;

/// Bridges until the input ends, then lets the calls under way finish. A group that the gateway does not have is an error, once
/// the request is answered that found out.
pub async fn bridge(
    remote: &dyn Remote,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    // Whoever has something to say waits until the client has read what was said before.
    let (say, mut said) = mpsc::channel(1);
    let bridge = Bridge::new(remote, say);
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
            Some(message) = said.recv() => write(&mut output, Pieces::from(message)).await?,
            () = following.as_mut() => following = Box::pin(pending()),
            () = bridge.over.notified() => break,
        }
    }
    while let Ok(message) = said.try_recv() {
        write(&mut output, Pieces::from(message)).await?;
    }
    bridge.end().await;
    bridge.why_over.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
}

/// What the messages of one client have in common.
struct Bridge<'a> {
    remote: &'a dyn Remote,
    say: mpsc::Sender<Bytes>,
    live: Arc<Live>,
    /// The legacy revision that was negotiated.
    negotiated: OnceLock<String>,
    session: Mutex<Option<String>>,
    repeated: Repeated,
    /// How the client introduced itself, in case the session is lost.
    introduction: OnceLock<Bytes>,
    introduced: tokio::sync::Notify,
    /// Rung when there is nothing to bridge to.
    over: tokio::sync::Notify,
    why_over: OnceLock<String>,
}

/// What came back: a stream of events, or all of it.
enum Got {
    Events(RemoteReply),
    Whole { status: u16, media_type: Option<String>, body: Bytes },
}

/// One message of the client on its way.
struct Sending<'a> {
    line: &'a Bytes,
    asked: ClientLine<'a>,
    method: &'a str,
}

impl Sending<'_> {
    /// How long the head of its answer may take.
    fn patience(&self) -> Duration {
        let is_long = match &self.asked {
            ClientLine::Batch(batch) => batch.is_long,
            ClientLine::Request(_) | ClientLine::Told | ClientLine::Unreadable => {
                patience::is_long(self.method)
            }
        };
        if is_long { patience::HEAD_OF_CALL } else { patience::HEAD }
    }
}

impl<'a> Bridge<'a> {
    fn new(remote: &'a dyn Remote, say: mpsc::Sender<Bytes>) -> Self {
        Self {
            remote,
            say,
            live: Arc::default(),
            negotiated: OnceLock::new(),
            session: Mutex::default(),
            repeated: Repeated::default(),
            introduction: OnceLock::new(),
            introduced: tokio::sync::Notify::new(),
            over: tokio::sync::Notify::new(),
            why_over: OnceLock::new(),
        }
    }

    /// Sends one message and writes whatever comes back. Every request is answered once, unless it is cancelled.
    async fn exchange(&self, line: Bytes) {
        let message = envelope::parse(&line).ok();
        let (id, method) = match &message {
            Some(Message::Request(request)) => (Some(request.id), request.method.as_ref()),
            Some(Message::Notification(notification)) => {
                // Closing the stream cancels a modern request; a legacy one is cancelled by what is passed on.
                if let Some(id) = envelope::cancelled(notification) {
                    self.live.cancel(id.get());
                }
                (None, notification.method.as_ref())
            }
            Some(Message::Response(_)) | None => (None, ""),
        };
        let (handle, registration) = AbortHandle::new_pair();
        let _begun = id.map(|id| self.live.begin(id.get(), handle));
        let mut sending = Sending { line: &line, asked: ClientLine::of(&line), method };
        let delivered = Abortable::new(self.deliver(message.as_ref(), &mut sending), registration).await;
        if let Ok(Err(error)) = delivered {
            self.answer_with(&mut sending.asked, error).await;
        }
        if method == "notifications/initialized" {
            self.introduced.notify_one();
        }
    }

    async fn deliver(
        &self,
        message: Option<&Message<'_>>,
        sending: &mut Sending<'_>,
    ) -> Result<(), BridgeError> {
        let mut got = self.send(self.headers_for(message, sending.method), sending).await?;
        if let (Got::Whole { body, .. }, "tools/call") = (&got, sending.method)
            && is_header_mismatch(body)
            && self.learn_tools(sending.line).await?
        {
            got = self.send(self.headers_for(message, sending.method), sending).await?;
        }
        match got {
            Got::Events(reply) => self.pass_on(reply, sending).await,
            Got::Whole { status, media_type, body } if matches!(sending.asked, ClientLine::Batch(_)) => {
                let useless = || useless(status, media_type.as_deref(), &body);
                self.pass_batch(&body, &mut sending.asked, useless).await;
                self.end_without_group(status, &body);
                Ok(())
            }
            Got::Whole { status, media_type, body } => {
                let empty = body.trim_ascii().is_empty();
                match sending.asked.verdict(&body) {
                    Verdict::Answer(answer) => self.pass_answer(answer, sending, status).await,
                    _ if !sending.asked.is_answered() && (empty || status < 300) => {}
                    Verdict::Beside | Verdict::OfAnother | Verdict::Useless => {
                        return Err(useless(status, media_type.as_deref(), &body));
                    }
                }
                Ok(())
            }
        }
    }

    /// Sends a message. A session that the server does not know is begun anew, and one that starts is waited for.
    async fn send(&self, mut headers: HeaderMap, sending: &Sending<'_>) -> Result<Got, BridgeError> {
        let until = Instant::now() + STARTS_WITHIN;
        let mut lost = false;
        loop {
            let asking = self.remote.send(Method::POST, headers.clone(), sending.line.clone());
            let mut reply = within(sending.patience(), asking).await?;
            if reply.status == 404
                && sending.method != "initialize"
                && headers.contains_key("mcp-session-id")
                && !std::mem::replace(&mut lost, true)
            {
                // The server was restarted, or another one answers: the client is introduced again.
                self.introduce_again().await?;
                self.add_session(&mut headers);
                continue;
            }
            if sending.method == "initialize" && reply.status < 300 {
                self.set_session(reply.session.take());
                let _ = self.introduction.set(sending.line.clone());
            }
            if reply.is_events() {
                return Ok(Got::Events(reply));
            }
            let (status, media_type) = (reply.status, reply.media_type.take());
            let body = reply.whole().await?;
            if !is_starting(status, &body) || Instant::now() >= until {
                return Ok(Got::Whole { status, media_type, body });
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Passes the events of a stream on until it has answered; comes back to one that ends before.
    async fn pass_on(&self, reply: RemoteReply, sending: &mut Sending<'_>) -> Result<(), BridgeError> {
        let lost = |why: &str| BridgeError(format!("the gateway lost the call: {why}; call again"));
        let (mut events, mut last, mut answered) = (RemoteEvents::new(reply.body), None, false);
        for _ in 0..MOST_RETURNS {
            let broken = loop {
                match events.next().await {
                    Ok(Some(Event { id: event, data })) => {
                        last = event.or(last);
                        answered |= self.pass_event(data, sending, answered).await;
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            };
            if answered || !sending.asked.is_answered() {
                return Ok(());
            }
            let Some(from) = last.as_deref() else {
                let ended = || lost("its stream ended without an answer");
                return Err(broken.map_or_else(ended, |error| lost(&error.0)));
            };
            tokio::time::sleep(RETRY).await;
            let headers = self.stream_headers(Some(from));
            // One that is being restarted is come back to as well.
            events = match self.ask(Method::GET, headers, Bytes::new()).await {
                Ok(reply) if reply.is_events() => RemoteEvents::new(reply.body),
                Ok(reply) if reply.status < 500 => {
                    return Err(lost(&format!("status {} when asked for the rest", reply.status)));
                }
                Ok(_) | Err(_) => RemoteEvents::nothing(),
            };
        }
        Err(lost("its stream ended too often without an answer"))
    }

    /// Passes one event on; true if it is the answer.
    async fn pass_event(&self, data: Bytes, sending: &mut Sending<'_>, answered: bool) -> bool {
        if data.is_empty() {
            return false;
        }
        if let ClientLine::Batch(batch) = &mut sending.asked {
            let taken = batch.take(&data);
            self.pass_taken(taken, &data).await;
            return false;
        }
        match sending.asked.verdict(&data) {
            Verdict::Answer(answer) if !answered => {
                self.pass_answer(answer, sending, 200).await;
                return true;
            }
            Verdict::Beside => self.pass(data).await,
            Verdict::Answer(_) => {
                tracing::warn!("the gateway answered a request twice; the second answer is left out");
            }
            Verdict::OfAnother => tracing::warn!("the gateway answered what was not asked; it is left out"),
            Verdict::Useless => {
                tracing::warn!("the gateway sent an event that is no message; it is left out");
            }
        }
        false
    }

    /// Passes an answer on, and takes note of what it settles.
    async fn pass_answer(&self, answer: Bytes, sending: &Sending<'_>, status: u16) {
        match sending.method {
            "initialize" => {
                if let Some(revision) = revision_of(&answer) {
                    let _ = self.negotiated.set(revision);
                }
            }
            "tools/list" => {
                let _ = self.repeated.note(&answer);
            }
            _ => {}
        }
        self.pass(answer.clone()).await;
        self.end_without_group(status, &answer);
    }

    /// Ends if the gateway has no such group.
    fn end_without_group(&self, status: u16, answer: &Bytes) {
        if let Some(why) = (status == 404).then(|| no_such_group(answer)).flatten() {
            let _ = self.why_over.set(why);
            self.over.notify_one();
        }
    }

    /// Asks the gateway for what it has at hand.
    async fn ask(&self, method: Method, headers: HeaderMap, body: Bytes) -> Result<RemoteReply, BridgeError> {
        within(patience::HEAD, self.remote.send(method, headers, body)).await
    }

    /// Reads the lists of tools for the arguments that calls repeat in headers; false if they cannot be had.
    async fn learn_tools(&self, call: &[u8]) -> Result<bool, BridgeError> {
        /// The most pages that are read.
        const MOST_PAGES: usize = 100;
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let Some((headers, list)) = headers::list_request(call, cursor.as_deref()) else {
                return Ok(false);
            };
            let reply = self.ask(Method::POST, headers, list).await?;
            if reply.is_events() || reply.status != 200 {
                return Ok(false);
            }
            cursor = self.repeated.note(&reply.whole().await?);
            if cursor.is_none() {
                break;
            }
        }
        Ok(true)
    }

    fn headers_for(&self, message: Option<&Message<'_>>, method: &str) -> HeaderMap {
        headers::modern(message, &self.repeated).unwrap_or_else(|| {
            let mut headers = plain();
            if method != "initialize" {
                insert(&mut headers, "mcp-protocol-version", self.negotiated.get().map(String::as_str));
                self.add_session(&mut headers);
            }
            headers
        })
    }

    /// Writes a message on a line of its own.
    async fn pass(&self, message: Bytes) {
        // Nobody reads any more at the very end only.
        let _ = self.say.send(message).await;
    }

    /// Tells whoever waits why there is no answer.
    async fn answer_with(&self, asked: &mut ClientLine<'_>, error: BridgeError) {
        match asked {
            ClientLine::Request(id) => self.pass(refusal(Some(id), &error)).await,
            ClientLine::Unreadable => self.pass(refusal(None, &error)).await,
            ClientLine::Batch(batch) if batch.waits() => {
                let answers = batch.refuse_rest(|id| refusal(Some(id), &error));
                self.pass(batch::line_of(&answers, b"[")).await;
            }
            ClientLine::Batch(_) | ClientLine::Told => {
                tracing::warn!(error = error.0, "a message did not reach the gateway");
            }
        }
    }
}

/// The answer that says why there is no other.
fn refusal(id: Option<&RawValue>, error: &BridgeError) -> Bytes {
    Answer::write(id, Err(Fault::new(Code::CallFailed, error.0.clone()))).body.into_line()
}
