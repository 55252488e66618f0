//! What goes back: a result or a fault, written around the id it answers, in as few pieces as possible.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use serde_json::value::RawValue;
use toolrail_core::{RpcError, write_json_string};

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
    /// For legacy clients; later ones get [`Code::InvalidParams`].
    ResourceNotFound,
    /// A fault of ours, or of whoever was to carry the request out.
    Internal,
    /// A number that whoever carried the request out chose.
    Other(i64),
}

impl Code {
    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::CallFailed => -32000,
            Self::HeaderMismatch => -32020,
            Self::UnsupportedVersion => -32022,
            Self::ResourceNotFound => -32002,
            Self::Internal => -32603,
            Self::Other(number) => number,
        }
    }
}

/// A JSON-RPC error.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) data: Option<Box<Value>>,
    /// The HTTP status where the answer travels over HTTP.
    pub(crate) status: u16,
}

impl Fault {
    /// A fault in the message itself (status 400) or in what it asks for (200, in band).
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let status = match code {
            Code::ParseError
            | Code::InvalidRequest
            | Code::HeaderMismatch
            | Code::UnsupportedVersion
            | Code::Other(RpcError::MISSING_CAPABILITY) => 400,
            Code::MethodNotFound
            | Code::InvalidParams
            | Code::CallFailed
            | Code::ResourceNotFound
            | Code::Internal
            | Code::Other(_) => 200,
        };
        Self { code, message: message.into(), data: None, status }
    }

    /// The error that whoever carried the request out wants told.
    pub(crate) fn told(error: RpcError) -> Self {
        Self { data: error.data.map(Box::new), ..Self::new(Code::Other(error.code), error.message) }
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn with_data(self, data: Value) -> Self {
        Self { data: Some(Box::new(data)), ..self }
    }
}

/// A result: its JSON, written into one buffer except for large parts that are shared, not copied.
#[derive(Default)]
pub(crate) struct Outcome {
    /// What stands before each shared part, in order.
    before: Vec<(Vec<u8>, Bytes)>,
    /// What is being written.
    pub(crate) out: Vec<u8>,
}

/// Parts smaller than this are copied: one write is cheaper than two.
const COPY_BELOW: usize = 8 * 1024;

impl Outcome {
    pub(crate) fn whole(json: impl Into<Vec<u8>>) -> Self {
        Self { before: Vec::new(), out: json.into() }
    }

    /// Appends JSON that is there already.
    pub(crate) fn share(&mut self, json: &Bytes) {
        if json.len() < COPY_BELOW {
            self.out.extend_from_slice(json);
        } else {
            self.before.push((std::mem::take(&mut self.out), json.clone()));
        }
    }
}

impl Outcome {
    /// All of it in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.out.len());
        for (head, shared) in self.before {
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(&shared);
        }
        bytes.extend_from_slice(&self.out);
        bytes
    }
}

/// What a handler returns.
pub(crate) type Reply = Result<Outcome, Fault>;

/// What a transport sends.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Pieces,
}

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
    let Outcome { before, mut out } = outcome;
    let mut pieces = Pieces::default();
    let mut parts = before.into_iter();
    let mut opened = Vec::new();
    open(&mut opened, id);
    opened.extend_from_slice(b",\"result\":");
    match parts.next() {
        None => opened.append(&mut out),
        Some((mut head, shared)) => {
            opened.append(&mut head);
            pieces.push(std::mem::take(&mut opened).into());
            pieces.push(shared);
        }
    }
    for (head, shared) in parts {
        pieces.push(head.into());
        pieces.push(shared);
    }
    opened.append(&mut out);
    opened.push(b'}');
    pieces.push(opened.into());
    pieces
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

/// A body in a few pieces, its length known.
#[derive(Default)]
pub struct Pieces {
    pieces: VecDeque<Bytes>,
}

impl Pieces {
    pub(crate) fn one(bytes: Vec<u8>) -> Self {
        Self { pieces: VecDeque::from([bytes.into()]) }
    }

    fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// Appends a few bytes that never change.
    pub(crate) fn push_static(&mut self, piece: &'static [u8]) {
        self.pieces.push_back(Bytes::from_static(piece));
    }

    /// Appends all of another.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.pieces.append(&mut other.pieces);
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// All of it in one piece and on one line: JSON text has no raw line breaks inside strings, so any that are there
    /// mean nothing.
    pub(crate) fn into_line(self) -> Bytes {
        if let [only] = self.pieces.as_slices().0
            && self.pieces.len() == 1
            && memchr::memchr2(b'\n', b'\r', only).is_none()
        {
            return only.clone();
        }
        let mut line = Vec::with_capacity(self.left());
        for piece in &self.pieces {
            line.extend(piece.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        }
        line.into()
    }

    fn left(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// The pieces in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }
}

impl From<Bytes> for Pieces {
    fn from(bytes: Bytes) -> Self {
        Self { pieces: VecDeque::from([bytes]) }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left() as u64)
    }
}
