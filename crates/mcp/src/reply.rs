//! What goes back: a result or a fault, written around the id it answers, in as few pieces as possible.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolrail_core::{ErrorCode, Full, RpcError, Share, write_json_string};
use toolrail_protocol::code;

/// The JSON-RPC codes we send, in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    /// A failed call in the plain dialect.
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
            Self::ParseError => code::PARSE_ERROR,
            Self::InvalidRequest => code::INVALID_REQUEST,
            Self::MethodNotFound => code::METHOD_NOT_FOUND,
            Self::InvalidParams => code::INVALID_PARAMS,
            Self::CallFailed => code::SERVER_ERROR,
            Self::HeaderMismatch => code::HEADER_MISMATCH,
            Self::UnsupportedVersion => code::UNSUPPORTED_VERSION,
            Self::ResourceNotFound => code::RESOURCE_NOT_FOUND,
            Self::Internal => code::INTERNAL,
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

    /// There is no room for the message or its answer.
    pub(crate) fn full(full: Full) -> Self {
        Self::new(Code::CallFailed, full.to_string()).with_data(json!({"code": ErrorCode::Overloaded}))
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
    before: Vec<(Vec<u8>, Shared)>,
    /// What is being written.
    pub(crate) out: Vec<u8>,
}

/// A part that is not copied.
struct Shared {
    bytes: Bytes,
    /// Whether it is there anyway, however many clients are sent it.
    common: bool,
}

/// Parts smaller than this are copied: one write is cheaper than two.
const COPY_BELOW: usize = 8 * 1024;

impl Outcome {
    pub(crate) fn whole(json: impl Into<Vec<u8>>) -> Self {
        Self { before: Vec::new(), out: json.into() }
    }

    /// Appends JSON that is there already, made for this answer.
    pub(crate) fn share(&mut self, json: &Bytes) {
        self.push(Shared { bytes: json.clone(), common: false });
    }

    /// Appends JSON that is kept for everybody.
    pub(crate) fn share_common(&mut self, json: &Bytes) {
        self.push(Shared { bytes: json.clone(), common: true });
    }

    fn push(&mut self, shared: Shared) {
        if shared.bytes.len() < COPY_BELOW {
            self.out.extend_from_slice(&shared.bytes);
        } else {
            self.before.push((std::mem::take(&mut self.out), shared));
        }
    }
}

impl Outcome {
    /// All of it in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.out.len());
        for (head, shared) in self.before {
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(&shared.bytes);
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
            Ok(outcome) => match envelope(id, outcome) {
                Ok(body) => Self { status: 200, body },
                Err(full) => Self::write(id, Err(Fault::full(full))),
            },
            Err(fault) => Self { status: fault.status, body: Pieces::one(error_envelope(id, &fault)) },
        }
    }
}

/// The answer in pieces that count as in flight until they are sent.
fn envelope(id: Option<&RawValue>, outcome: Outcome) -> Result<Pieces, Full> {
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
            pieces.push_kept(std::mem::take(&mut opened).into())?;
            pieces.push_shared(shared)?;
        }
    }
    for (head, shared) in parts {
        pieces.push_kept(head.into())?;
        pieces.push_shared(shared)?;
    }
    opened.append(&mut out);
    opened.push(b'}');
    pieces.push_kept(opened.into())?;
    Ok(pieces)
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

    fn push_kept(&mut self, piece: Bytes) -> Result<(), Full> {
        self.push(kept(piece)?);
        Ok(())
    }

    fn push_shared(&mut self, shared: Shared) -> Result<(), Full> {
        self.push(if shared.common { shared.bytes } else { kept(shared.bytes)? });
        Ok(())
    }

    /// Appends one piece.
    pub(crate) fn and(mut self, piece: impl Into<Bytes>) -> Self {
        self.push(piece.into());
        self
    }

    /// The next piece, taken out.
    pub(crate) fn take(&mut self) -> Option<Bytes> {
        self.pieces.pop_front()
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

    /// The same on one line: JSON text has no raw line breaks inside strings, so any that are there mean nothing.
    pub(crate) fn on_one_line(mut self) -> Self {
        for piece in &mut self.pieces {
            if memchr::memchr2(b'\n', b'\r', piece).is_some() {
                let flat = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
                let line = piece.iter().map(flat).collect::<Bytes>();
                *piece = Share::current().hold_instead(line.len()).keep(line);
            }
        }
        self
    }

    /// All of it in one piece and on one line.
    pub(crate) fn into_line(self) -> Bytes {
        self.on_one_line().joined()
    }

    /// All of it in one piece, which nobody counts as in flight any more.
    pub(crate) fn joined(mut self) -> Bytes {
        if let (1, Some(only)) = (self.pieces.len(), self.pieces.front()) {
            return only.clone();
        }
        let mut whole = Vec::with_capacity(self.left());
        while let Some(piece) = self.pieces.pop_front() {
            whole.extend_from_slice(&piece);
        }
        whole.into()
    }

    /// How many bytes there are.
    pub(crate) fn left(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// The pieces in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter()
    }
}

/// The bytes of an answer of one client. Most are too few to be counted, and cost nothing here.
fn kept(piece: Bytes) -> Result<Bytes, Full> {
    if piece.len() < COPY_BELOW {
        return Ok(piece);
    }
    Share::current().keep(piece)
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

/// What becomes of a message.
pub(crate) enum MessageOutcome {
    /// It is answered.
    Answer(Answer),
    /// It wants no answer.
    Nothing,
    /// It answers something that nobody here has asked.
    Unexpected,
}
