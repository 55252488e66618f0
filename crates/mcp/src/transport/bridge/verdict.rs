//! What comes back for a message of the client: an answer to it, something else of the protocol, or nothing that a client
//! could use, such as the page of a proxy.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use toolrail_core::shortened;

use super::super::paths::UNKNOWN_GROUP;
use super::batch::Batch;
use super::remote::BridgeError;
use crate::envelope::{self, Message};
use crate::reply::Code;

/// What the client sent, as far as its answer depends on that.
pub(super) enum ClientLine<'a> {
    /// A request, which gets one answer.
    Request(&'a RawValue),
    /// Several messages at once.
    Batch(Batch),
    /// A notification or an answer, which get none.
    Told,
    /// Something that is no message; only the other side can say what is wrong.
    Unreadable,
}

impl<'a> ClientLine<'a> {
    /// What a line is.
    pub(super) fn of(line: &'a [u8]) -> Self {
        match envelope::parse(line) {
            Ok(Message::Request(request)) => Self::Request(request.id),
            Ok(Message::Notification(_) | Message::Response(_)) => Self::Told,
            Err((Some(id), _)) => Self::Request(id),
            Err((None, _)) => match serde_json::from_slice::<Vec<&RawValue>>(line) {
                Ok(messages) if !messages.is_empty() => Self::Batch(Batch::of(&messages)),
                Ok(_) | Err(_) => Self::Unreadable,
            },
        }
    }

    /// Whether somebody waits for an answer.
    pub(super) fn is_answered(&self) -> bool {
        match self {
            Self::Request(_) | Self::Unreadable => true,
            Self::Batch(batch) => batch.waits(),
            Self::Told => false,
        }
    }

    /// What a message that came back is to the client. A batch takes what it can use out of it by itself.
    pub(super) fn verdict(&self, message: &Bytes) -> Verdict {
        match envelope::parse(message) {
            Ok(Message::Request(_) | Message::Notification(_)) => Verdict::Beside,
            Ok(Message::Response(response)) => match (self, response.id) {
                (Self::Request(asked), Some(id)) if is_same(asked, id) => Verdict::Answer(message.clone()),
                (_, Some(_)) => Verdict::OfAnother,
                (_, None) => self.verdict_of_nobodys(message),
            },
            Err(_) => self.verdict_of_nobodys(message),
        }
    }

    /// Who could not read a request, or would not, has no id to answer to.
    fn verdict_of_nobodys(&self, message: &Bytes) -> Verdict {
        match (self, error_to_nobody(message)) {
            (Self::Request(asked), Some(error)) => Verdict::Answer(answer_to(asked, error)),
            (Self::Unreadable, Some(_)) => Verdict::Answer(message.clone()),
            (Self::Told | Self::Batch(_), Some(_)) | (_, None) => Verdict::Useless,
        }
    }
}

/// What a message is to the client that waits.
pub(super) enum Verdict {
    /// The answer, as it is to be passed on.
    Answer(Bytes),
    /// A request or a notification, to be passed on as well.
    Beside,
    /// The answer to something that was not asked here.
    OfAnother,
    /// No message at all.
    Useless,
}

/// Says what came back instead of an answer, with as much of it as helps to tell what it is.
pub(super) fn useless(status: u16, media_type: Option<&str>, body: &[u8]) -> BridgeError {
    let kind = media_type.unwrap_or("no media type");
    if body.trim_ascii().is_empty() {
        return BridgeError(format!("the gateway answered status {status} without a message"));
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = shortened(&words.join(" ")).into_owned();
    BridgeError(format!(
        "the gateway answered status {status} with {kind} that is no answer to this request: {text}"
    ))
}

/// Says that others of a batch were answered.
pub(super) fn left_unanswered() -> BridgeError {
    BridgeError("the gateway left this request of a batch unanswered; send it again".to_owned())
}

/// Whether a gateway says that it is not ready yet.
pub(super) fn is_starting(status: u16, body: &[u8]) -> bool {
    let says = |body: &Value| body.get("status").and_then(Value::as_str) == Some("starting");
    status == 503 && serde_json::from_slice::<Value>(body).is_ok_and(|body| says(&body))
}

pub(super) fn is_same(asked: &RawValue, id: &RawValue) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    asked.get() == id.get() || (value(asked).is_some() && value(asked) == value(id))
}

/// An error as the answer to the request of that id.
pub(super) fn answer_to(id: &RawValue, error: &RawValue) -> Bytes {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}").into()
}

/// The error of an answer without an id.
pub(super) fn error_to_nobody(message: &[u8]) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Nobodys<'a> {
        jsonrpc: String,
        #[serde(default)]
        id: Option<IgnoredAny>,
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let found: Nobodys<'_> = serde_json::from_slice(message).ok()?;
    (found.jsonrpc == "2.0" && found.id.is_none()).then_some(found.error)
}

/// Whether a modern server misses arguments in headers, or found others there.
pub(super) fn is_header_mismatch(body: &[u8]) -> bool {
    // Most answers are of another sort, and some are large.
    memchr::memmem::find(body, b"-32020").is_some()
        && serde_json::from_slice::<Value>(body).is_ok_and(|answer| {
            answer.pointer("/error/code").and_then(Value::as_i64) == Some(Code::HeaderMismatch.number())
        })
}

/// What the gateway says if it has no such group. That does not change by itself: groups are settled when it starts.
pub(super) fn no_such_group(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let error = answer.get("error")?;
    error.get("data")?.get(UNKNOWN_GROUP)?;
    error.get("message")?.as_str().map(str::to_owned)
}

/// The revision that an answer to `initialize` settles.
pub(super) fn revision_of(body: &Bytes) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    answer.pointer("/result/protocolVersion")?.as_str().map(str::to_owned)
}
