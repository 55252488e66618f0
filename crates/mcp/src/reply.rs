//! What goes back: a result or a fault, written around the id it answers, in as few pieces as possible.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use serde_json::value::RawValue;
use toolrail_core::write_json_string;

/// The JSON-RPC codes we send, in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    /// A failed call in the plain dialect (R18).
    CallFailed,
    /// A header that must repeat something of the body does not.
    HeaderMismatch,
    UnsupportedVersion,
}

impl Code {
    pub(crate) const fn number(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::CallFailed => -32000,
            Self::HeaderMismatch => -32020,
            Self::UnsupportedVersion => -32022,
        }
    }
}

/// A JSON-RPC error.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
    /// The HTTP status where the answer travels over HTTP.
    pub(crate) status: u16,
}

impl Fault {
    /// A fault in the message itself (status 400) or in what it asks for (200, in band).
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let status = match code {
            Code::ParseError | Code::InvalidRequest | Code::HeaderMismatch | Code::UnsupportedVersion => 400,
            Code::MethodNotFound | Code::InvalidParams | Code::CallFailed => 200,
        };
        Self { code, message: message.into(), data: None, status }
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }
}

/// A result: its JSON in up to three pieces, of which the middle one is shared, not copied.
pub(crate) struct Outcome {
    pub(crate) head: Vec<u8>,
    pub(crate) shared: Option<Bytes>,
    pub(crate) tail: Vec<u8>,
}

impl Outcome {
    pub(crate) fn whole(json: impl Into<Vec<u8>>) -> Self {
        Self { head: json.into(), shared: None, tail: Vec::new() }
    }
}

/// What a handler returns.
pub(crate) type Reply = Result<Outcome, Fault>;

/// What a transport sends.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Pieces,
}

/// Shared pieces smaller than this are copied: one write is cheaper than two.
const COPY_BELOW: usize = 8 * 1024;

impl Answer {
    /// Writes the envelope around a reply.
    pub(crate) fn write(id: Option<&RawValue>, reply: Reply) -> Self {
        match reply {
            Ok(outcome) => Self { status: 200, body: envelope(id, outcome) },
            Err(fault) => Self { status: fault.status, body: Pieces::one(error_envelope(id, &fault)) },
        }
    }
}

fn envelope(id: Option<&RawValue>, outcome: Outcome) -> Pieces {
    let Outcome { head, shared, tail } = outcome;
    let copied = shared.as_ref().filter(|shared| shared.len() < COPY_BELOW).map_or(0, Bytes::len);
    let mut first = Vec::with_capacity(48 + head.len() + copied + tail.len());
    open(&mut first, id);
    first.extend_from_slice(b",\"result\":");
    first.extend_from_slice(&head);
    match shared {
        Some(shared) if copied == 0 => {
            let mut last = tail;
            last.push(b'}');
            Pieces::three(first, shared, last)
        }
        shared => {
            first.extend_from_slice(shared.as_deref().unwrap_or_default());
            first.extend_from_slice(&tail);
            first.push(b'}');
            Pieces::one(first)
        }
    }
}

fn error_envelope(id: Option<&RawValue>, fault: &Fault) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + fault.message.len());
    open(&mut out, id);
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(fault.code.number().to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    write_json_string(&mut out, &fault.message);
    if let Some(data) = &fault.data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.to_string().as_bytes());
    }
    out.extend_from_slice(b"}}");
    out
}

fn open(out: &mut Vec<u8>, id: Option<&RawValue>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.map_or("null", RawValue::get).as_bytes());
}

/// A body in up to three pieces, its length known.
#[derive(Default)]
pub(crate) struct Pieces {
    pieces: [Bytes; 3],
    next: usize,
}

impl Pieces {
    pub(crate) fn one(bytes: Vec<u8>) -> Self {
        Self { pieces: [bytes.into(), Bytes::new(), Bytes::new()], next: 0 }
    }

    fn three(first: Vec<u8>, second: Bytes, third: Vec<u8>) -> Self {
        Self { pieces: [first.into(), second, third.into()], next: 0 }
    }

    fn left(&self) -> usize {
        self.pieces[self.next.min(3)..].iter().map(Bytes::len).sum()
    }

    /// The pieces in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter().filter(|piece| !piece.is_empty())
    }

    /// All of it as text, for transports that frame whole messages.
    pub(crate) fn into_text(self) -> String {
        let mut bytes = Vec::with_capacity(self.left());
        for piece in self.iter() {
            bytes.extend_from_slice(piece);
        }
        // Every piece is JSON made of checked text.
        String::from_utf8(bytes).unwrap_or_default()
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        while self.next < 3 {
            let index = self.next;
            self.next += 1;
            let piece = std::mem::take(&mut self.pieces[index]);
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left() as u64)
    }
}
