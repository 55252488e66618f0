//! A call on its way through a tool, and how it ends. Faces (MCP, REST) build the call and write the outcome;
//! executors know neither.

use async_trait::async_trait;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{CallError, Json, ToolName};

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// Somebody on this machine, or anybody where authentication is switched off.
    #[default]
    Anonymous,
}

/// One call of one tool, its arguments already checked against the input schema.
#[derive(Debug)]
pub struct Call<'a> {
    /// The tool as it is registered.
    pub tool: &'a ToolName,
    /// The arguments by name.
    pub arguments: &'a Map<String, Value>,
    /// Who calls.
    pub principal: &'a Principal,
}

/// How a call ended: with a result of the tool, or without one.
pub type Outcome = Result<ToolResult, CallError>;

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Whether the tool itself says that it failed.
    pub is_error: bool,
    /// The answer.
    pub payload: Payload,
    /// What a reader must know beside the answer: that it was cut, for instance.
    pub notes: Vec<String>,
}

impl ToolResult {
    /// A plain good answer.
    pub fn good(payload: Payload) -> Self {
        Self { is_error: false, payload, notes: Vec::new() }
    }
}

/// The answer in the form in which the executor got it, so that each face serialises it just once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// JSON; becomes structured content and text.
    Json(Json),
    /// Text.
    Text(String),
    /// Content blocks that are not plain text.
    Blocks(Vec<Block>),
    /// Nothing, such as after 204.
    Empty,
}

/// One content block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// The raw bytes.
        data: Bytes,
        /// For example `image/png`.
        mime: String,
    },
    /// A sound.
    Audio {
        /// The raw bytes.
        data: Bytes,
        /// For example `audio/wav`.
        mime: String,
    },
    /// Any other binary, as an embedded resource.
    Resource {
        /// Where it came from.
        uri: String,
        /// Its media type.
        mime: String,
        /// The raw bytes.
        data: Bytes,
    },
}

/// A definition compiled into something that runs calls. Dropping the future cancels the call, up to the upstream.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Carries the call out.
    async fn execute(&self, call: &Call<'_>) -> Outcome;

    /// What `execute` would send, with secrets masked; sends nothing.
    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError>;
}

/// What a call would send.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    /// The request in the kind's own terms, secrets masked.
    pub request: Value,
    /// Where each value that is not literal came from.
    pub values: Vec<ValueOrigin>,
    /// What a reader should know, such as parameters that were dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Where one value of a request came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueOrigin {
    /// JSON pointer of the template in the definition, for example `/http/query/q`.
    pub pointer: String,
    /// What it names, for example `args.city` or `secrets.TOKEN`.
    pub from: String,
    /// The value that was placed, masked if it is secret; absent if the place was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}
