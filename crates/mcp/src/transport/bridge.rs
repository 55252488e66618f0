//! A bridge for clients that can only start a process: lines in and out here, HTTP to a remote gateway there. It adds
//! the headers that the remote expects and otherwise passes messages through untouched.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::connection::MOST_UNDER_WAY;
use super::stream::{Line, Lines, too_long, write};
use crate::envelope::{self, Message, Params};
use crate::reply::{Answer, Code, Fault};

/// What the remote answered.
pub struct Posted {
    /// The HTTP status.
    pub status: u16,
    /// The body: one JSON-RPC message, or nothing.
    pub body: Bytes,
}

/// Why the remote did not answer, in words for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BridgeError(pub String);

/// The remote end: posts one message.
pub trait Remote: Sync {
    /// Posts `body` with `headers` to the remote endpoint.
    fn post<'a>(
        &'a self,
        headers: HeaderMap,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Result<Posted, BridgeError>> + Send + 'a>>;
}

/// Bridges until the input ends, then lets the calls under way finish.
pub async fn bridge(
    remote: &dyn Remote,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let negotiated = OnceLock::new();
    let mut lines = Lines::new(input);
    let mut running = FuturesUnordered::new();
    let mut open = true;
    while open || !running.is_empty() {
        tokio::select! {
            line = lines.next(), if open && running.len() < MOST_UNDER_WAY => match line? {
                Line::Whole(line) => running.push(exchange(remote, line, &negotiated)),
                Line::TooLong => write(&mut output, too_long()).await?,
                Line::End => open = false,
            },
            Some(answer) = running.next(), if !running.is_empty() => if let Some(answer) = answer {
                output.write_all(&answer).await?;
                output.write_all(b"\n").await?;
                output.flush().await?;
            },
        }
    }
    Ok(())
}

/// Posts one message and returns the line to write, if any.
async fn exchange(remote: &dyn Remote, line: Bytes, negotiated: &OnceLock<String>) -> Option<Bytes> {
    let message = envelope::parse(&line);
    let headers = headers_for(message.as_ref().ok(), negotiated.get());
    let (id, is_initialize) = match &message {
        Ok(Message::Request(request)) => (Some(request.id), request.method == "initialize"),
        _ => (None, false),
    };
    match remote.post(headers, line.clone()).await {
        Ok(posted) if posted.body.is_empty() => id.map(|id| {
            let fault = Fault::new(
                Code::CallFailed,
                format!("the gateway answered status {} without a message", posted.status),
            );
            Answer::write(Some(id), Err(fault)).body.into_line()
        }),
        Ok(posted) => {
            if is_initialize && let Some(revision) = revision_of(&posted.body) {
                let _ = negotiated.set(revision);
            }
            Some(one_line(posted.body))
        }
        Err(error) => id.map(|id| {
            Answer::write(Some(id), Err(Fault::new(Code::CallFailed, error.to_string()))).body.into_line()
        }),
    }
}

fn headers_for(message: Option<&Message<'_>>, negotiated: Option<&String>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    let (method, params) = match message {
        Some(Message::Request(request)) => (&request.method, &request.params),
        Some(Message::Notification(notification)) => (&notification.method, &notification.params),
        Some(Message::Response(_)) | None => return headers,
    };
    let named = params.meta.as_ref().and_then(|meta| meta.protocol_version);
    let modern = Params::text("protocolVersion", named).ok().flatten();
    let version = modern.as_deref().or(negotiated.map(String::as_str));
    insert(&mut headers, "mcp-protocol-version", version);
    if modern.is_some() {
        insert(&mut headers, "mcp-method", Some(method));
        insert(&mut headers, "mcp-name", Params::text("name", params.name).ok().flatten().as_deref());
    }
    headers
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: Option<&str>) {
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(&crate::headers::encode(value)).ok()) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn revision_of(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer.pointer("/result/protocolVersion")?.as_str().map(str::to_owned)
}

/// A message on a stream is one line; JSON text has no raw line breaks inside strings.
fn one_line(body: Bytes) -> Bytes {
    if body.contains(&b'\n') || body.contains(&b'\r') {
        return body.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    }
    body
}
