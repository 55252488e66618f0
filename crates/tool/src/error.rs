//! How a native tool, prompt or resource ends without a result.

use std::fmt;

use serde_json::Value;
use toolrail_core::{
    CallError, ErrorCode, InputRequired, Outcome, Payload, RpcError, ToolResult, Unanswered,
};

/// A call that has no result. Anything that can be displayed becomes a failure of the tool by `?`, which the model reads;
/// like `anyhow::Error`, it can therefore not be displayed itself.
///
/// ```
/// use toolrail_tool::{ToolError, tool};
///
/// /// Divides.
/// #[tool]
/// async fn divide(a: i64, b: i64) -> Result<i64, ToolError> {
///     if b == 0 {
///         return Err(ToolError::failed("nothing can be divided by 0; give another b"));
///     }
///     Ok(a.checked_div(b).ok_or("the result is too large")?)
/// }
///
/// assert_eq!(ToolError::failed("no").message(), "no");
/// ```
#[derive(Debug)]
pub struct ToolError(ErrorKind);

#[derive(Debug)]
enum ErrorKind {
    Failed(String),
    Call(CallError),
    InputRequired(InputRequired),
}

impl ToolError {
    /// The tool failed; the model gets that text (`isError`).
    pub fn failed(message: impl Into<String>) -> Self {
        Self(ErrorKind::Failed(message.into()))
    }

    /// The request itself is at fault: the client gets a JSON-RPC error, which models usually do not see.
    pub fn rpc(code: i64, message: impl Into<String>, data: Option<Value>) -> Self {
        let message = message.into();
        let rpc = RpcError { code, message: message.clone(), data };
        Self(ErrorKind::Call(CallError::new(ErrorCode::InvalidRequest, message).with_rpc(rpc)))
    }

    /// The parameters of the request are wrong (−32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self(ErrorKind::Call(CallError::invalid_params(message)))
    }

    /// The client must have declared that capability (−32021), such as `sampling`.
    pub fn missing_capability(name: &str) -> Self {
        Self(ErrorKind::Call(toolrail_core::missing_capability(name)))
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        match &self.0 {
            ErrorKind::Failed(message) => message,
            ErrorKind::Call(error) => &error.message,
            ErrorKind::InputRequired(_) => "the client must answer first",
        }
    }

    /// Whether it only means that the client must answer first; such an error must be passed on.
    pub fn is_input_required(&self) -> bool {
        matches!(self.0, ErrorKind::InputRequired(_))
    }

    pub(crate) fn of_call(error: CallError) -> Self {
        Self(ErrorKind::Call(error))
    }

    pub(crate) fn input_required(input: InputRequired) -> Self {
        Self(ErrorKind::InputRequired(input))
    }

    /// How the call of a tool ends.
    pub(crate) fn into_outcome(self) -> Outcome {
        match self.0 {
            ErrorKind::Failed(message) => {
                Ok(ToolResult { is_error: true, payload: Payload::Text(message), notes: Vec::new() })
            }
            ErrorKind::Call(error) => Err(error),
            ErrorKind::InputRequired(input) => Ok(ToolResult::good(Payload::InputRequired(input))),
        }
    }

    /// The same for prompts and resources, whose results cannot say that they failed: a failure is −32603.
    pub(crate) fn into_plain_outcome(self) -> Outcome {
        match self.0 {
            ErrorKind::Failed(message) => {
                let rpc = RpcError { code: -32603, message: message.clone(), data: None };
                Err(CallError::new(ErrorCode::Internal, message).with_rpc(rpc))
            }
            ErrorKind::Call(_) | ErrorKind::InputRequired(_) => self.into_outcome(),
        }
    }

    pub(crate) fn into_unanswered(self) -> Unanswered {
        match self.0 {
            ErrorKind::Failed(message) => Unanswered::Never(CallError::new(ErrorCode::Internal, message)),
            ErrorKind::Call(error) => Unanswered::Never(error),
            ErrorKind::InputRequired(input) => Unanswered::Later(input),
        }
    }
}

impl<E: fmt::Display> From<E> for ToolError {
    fn from(error: E) -> Self {
        // The other form shows the causes of errors that have them.
        Self::failed(format!("{error:#}"))
    }
}
