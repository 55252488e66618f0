//! How a native tool, prompt or resource ends without a result.

use std::fmt;

use serde_json::Value;
use toolrail_core::{
    CallError, ErrorCode, InputRequired, Outcome, Payload, RpcError, ToolResult, Unanswered,
};

/// A call that has no result. Anything that can be displayed becomes a failure of the tool by `?`, which the model reads;
/// like `anyhow::Error`, it can therefore not be displayed itself.
#[derive(Debug)]
pub struct ToolError(Kind);

#[derive(Debug)]
enum Kind {
    Failed(String),
    Call(CallError),
    InputRequired(InputRequired),
}

impl ToolError {
    /// The tool failed; the model gets that text (`isError`).
    pub fn failed(message: impl Into<String>) -> Self {
        Self(Kind::Failed(message.into()))
    }

    /// The request itself is at fault: the client gets a JSON-RPC error, which models usually do not see.
    pub fn rpc(code: i64, message: impl Into<String>, data: Option<Value>) -> Self {
        let message = message.into();
        let rpc = RpcError { code, message: message.clone(), data };
        Self(Kind::Call(CallError::new(ErrorCode::InvalidRequest, message).with_rpc(rpc)))
    }

    /// The parameters of the request are wrong (−32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self(Kind::Call(CallError::invalid_params(message)))
    }

    /// The client must have declared that capability (−32021), such as `sampling`.
    pub fn missing_capability(name: &str) -> Self {
        Self(Kind::Call(toolrail_core::missing_capability(name)))
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        match &self.0 {
            Kind::Failed(message) => message,
            Kind::Call(error) => &error.message,
            Kind::InputRequired(_) => "the client must answer first",
        }
    }

    /// Whether it only means that the client must answer first; such an error must be passed on.
    pub fn is_input_required(&self) -> bool {
        matches!(self.0, Kind::InputRequired(_))
    }

    pub(crate) fn of_call(error: CallError) -> Self {
        Self(Kind::Call(error))
    }

    pub(crate) fn input_required(input: InputRequired) -> Self {
        Self(Kind::InputRequired(input))
    }

    /// How the call of a tool ends.
    pub(crate) fn into_outcome(self) -> Outcome {
        match self.0 {
            Kind::Failed(message) => {
                Ok(ToolResult { is_error: true, payload: Payload::Text(message), notes: Vec::new() })
            }
            Kind::Call(error) => Err(error),
            Kind::InputRequired(input) => Ok(ToolResult::good(Payload::InputRequired(input))),
        }
    }

    /// The same for prompts and resources, whose results cannot say that they failed: a failure is −32603.
    pub(crate) fn into_plain_outcome(self) -> Outcome {
        match self.0 {
            Kind::Failed(message) => {
                let rpc = RpcError { code: -32603, message: message.clone(), data: None };
                Err(CallError::new(ErrorCode::Internal, message).with_rpc(rpc))
            }
            Kind::Call(_) | Kind::InputRequired(_) => self.into_outcome(),
        }
    }

    pub(crate) fn into_unanswered(self) -> Unanswered {
        match self.0 {
            Kind::Failed(message) => Unanswered::Never(CallError::new(ErrorCode::Internal, message)),
            Kind::Call(error) => Unanswered::Never(error),
            Kind::InputRequired(input) => Unanswered::Later(input),
        }
    }
}

impl<E: fmt::Display> From<E> for ToolError {
    fn from(error: E) -> Self {
        // The other form shows the causes of errors that have them.
        Self::failed(format!("{error:#}"))
    }
}
