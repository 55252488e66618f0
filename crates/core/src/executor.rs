//! A call on its way through a tool, and how it ends. Faces (MCP, REST) build the call and write the outcome;
//! executors know neither.

use async_trait::async_trait;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Block, CallError, Caller, InputRequired, Json, Kept, Principal};

/// One call of one tool, its arguments already checked against the input schema; or one reading of a resource (its
/// arguments are the variables of its template), or one use of a prompt.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The name of the tool or prompt as it is registered; the URI of a resource.
    pub tool: &'a str,
    /// The arguments by name, defaults filled in. Empty where the tool asked for raw arguments.
    pub arguments: &'a Map<String, Value>,
    /// The arguments as the client wrote them.
    pub raw: Option<&'a RawValue>,
    /// Who calls.
    pub principal: &'a Principal,
    /// The client at the other end, to be told or asked something meanwhile.
    pub caller: &'a dyn Caller,
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
    /// A whole result object as MCP has it (`CallToolResult`, `ReadResourceResult`, `GetPromptResult`, a task), from
    /// somebody who speaks MCP; its unknown fields and the order of its keys are kept.
    Whole(Json),
    /// The client must supply something and make the request again.
    InputRequired(InputRequired),
}

/// A definition compiled into something that runs calls. Dropping the future cancels the call, up to the upstream.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Carries the call out.
    async fn execute(&self, call: &Call<'_>) -> Outcome;

    /// What `execute` would send, with secrets masked; sends nothing.
    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError>;

    /// Values that could complete an argument of a prompt or a variable of a template.
    async fn complete(&self, _asked: &Completing<'_>) -> Result<Completion, CallError> {
        Ok(Completion::default())
    }

    /// Follows the changes of a resource on behalf of a client as long as what comes back lives; nothing where changes are
    /// seen anyway or never.
    async fn watch(
        &self,
        _uri: &str,
        _principal: &Principal,
        _caller: &dyn Caller,
    ) -> Result<Option<Kept>, CallError> {
        Ok(None)
    }
}

/// The tools of this gateway, for those of them that call others.
#[async_trait]
pub trait Tools: Send + Sync {
    /// Calls the tool of that name like any client would: arguments checked, policies applied.
    async fn call(
        &self,
        name: &str,
        arguments: &RawValue,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Outcome;
}

/// What is to be completed.
#[derive(Clone, Copy)]
pub struct Completing<'a> {
    /// The name of the prompt, or the URI template of the resource.
    pub of: &'a str,
    /// The argument or variable.
    pub argument: &'a str,
    /// What has been typed.
    pub value: &'a str,
    /// Arguments that are settled already (`params.context.arguments`).
    pub settled: &'a Map<String, Value>,
    /// Who asks.
    pub principal: &'a Principal,
    /// The client at the other end.
    pub caller: &'a dyn Caller,
}

/// Values that could complete an argument.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most 100 values.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
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
