//! From what a script returned, or how it failed, to the outcome of a call.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolrail_core::{CallError, ErrorCode, Json, Outcome, Payload, Root, ToolResult};
use toolrail_scripts::{Excess, Failure};

use crate::outbound::Sensitive;

/// What tells a result as MCP has it from any other object.
#[derive(Deserialize)]
struct ResultHead<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(rename = "isError")]
    is_error: Option<bool>,
}

/// The outcome of a call that returned this JSON, or nothing.
pub(super) fn of_text(text: Option<String>, sensitive: &Sensitive) -> Outcome {
    let Some(text) = text else { return Ok(ToolResult::good(Payload::Empty)) };
    let bytes = sensitive.mask(Bytes::from(text));
    let unusable = |why: String| {
        CallError::new(ErrorCode::ToolFailed, format!("the script's result cannot be used: {why}"))
    };
    let json = Json::parse(bytes).map_err(|error| unusable(error.to_string()))?;
    match json.root() {
        Root::Object => {
            let head: Option<ResultHead<'_>> = serde_json::from_str(json.text()).ok();
            let is_whole = head.as_ref().and_then(|head| head.content).is_some_and(is_content);
            let is_error = is_whole && head.and_then(|head| head.is_error).unwrap_or_default();
            let payload = if is_whole { Payload::Whole(json) } else { Payload::Json(json) };
            Ok(ToolResult { is_error, payload, notes: Vec::new() })
        }
        Root::Scalar if json.text().starts_with('"') => {
            let text: String =
                serde_json::from_str(json.text()).map_err(|error| unusable(error.to_string()))?;
            Ok(ToolResult::good(Payload::Text(text)))
        }
        Root::Array | Root::Scalar => Ok(ToolResult::good(Payload::Json(json))),
    }
}

/// Whether this is the content of a result: a list of blocks that say their type.
fn is_content(content: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        _type: String,
    }
    serde_json::from_str::<Vec<Block>>(content.get()).is_ok()
}

/// The outcome of a call that failed.
pub(super) fn of_failure(tool: &str, failure: Failure, sensitive: &Sensitive) -> CallError {
    let (code, message) = match failure {
        Failure::Thrown { message, stack } if stack.is_empty() => (ErrorCode::ToolFailed, message),
        Failure::Thrown { message, stack } => (ErrorCode::ToolFailed, format!("{message}\n{stack}")),
        Failure::Exceeded(Excess::Cpu) => (
            ErrorCode::Timeout,
            format!("{tool} took more processor time than a call of it may (script.limits.cpuMs)"),
        ),
        Failure::Exceeded(Excess::Memory) => (
            ErrorCode::ToolFailed,
            format!("{tool} took more memory than a call of it may (script.limits.memoryMb)"),
        ),
        Failure::Exceeded(Excess::Output) => (
            ErrorCode::TooLarge,
            format!("{tool} returned more than a call of it may (script.limits.resultKb)"),
        ),
        Failure::Refused(faults) => {
            let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
            (ErrorCode::ToolFailed, format!("{tool} cannot be loaded: {}", told.join("; ")))
        }
        Failure::Stuck => (
            ErrorCode::ToolFailed,
            format!(
                "{tool} waits for something that never comes: no request, call or timer of it is under way"
            ),
        ),
        Failure::Died => (
            ErrorCode::ToolFailed,
            format!(
                "the process that ran {tool} was ended, because this or another call of the same script took too much; try again"
            ),
        ),
        Failure::NotStarted(why) => {
            (ErrorCode::Internal, format!("no process could be started to run {tool}: {why}"))
        }
        Failure::Busy(waiting) => (
            ErrorCode::Overloaded,
            format!("all script workers are busy and {waiting} calls wait already; try again in a moment"),
        ),
    };
    CallError::new(code, sensitive.mask_text(message))
}
