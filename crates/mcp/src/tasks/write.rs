//! Tasks as MCP writes them.

use serde_json::{Value, json};
use toolrail_core::{Outcome as CallOutcome, Payload, RpcError, ToolResult, rfc3339, write_json_string};
use toolrail_registry::Era;

use super::task::{End, Status, Task, TaskView};
use crate::content;
use crate::dialect::Dialect;
use crate::finish::{Cache, Finish};
use crate::introduction::Introduction;
use crate::reply::Outcome;

/// How often a client should ask, in milliseconds.
const POLL_INTERVAL: u64 = 1_000;

/// The answer to the call that became a task.
pub(crate) fn created(task: &Task, finish: Finish<'_>) -> Outcome {
    let mut out = Outcome::default();
    write_head(&mut out.out, task, &task.view(), "working");
    finish.close_as(out, "task")
}

/// The answer to `tasks/get`.
pub(crate) fn detailed(task: &Task, finish: Finish<'_>) -> Outcome {
    finish.close(write(task, finish))
}

/// The parameters of `notifications/tasks`, without their last brace, so that more can follow.
pub(super) fn notified(task: &Task, me: &Introduction) -> Vec<u8> {
    write(task, Finish { me, dialect: Dialect::Modern }).into_bytes()
}

fn write(task: &Task, finish: Finish<'_>) -> Outcome {
    let view = task.view();
    let mut out = Outcome::default();
    match &view.status {
        Status::Working => write_head(&mut out.out, task, &view, "working"),
        Status::InputRequired(requests) => {
            write_head(&mut out.out, task, &view, "input_required");
            write_member(&mut out.out, "inputRequests", &Value::Object(requests.clone()));
        }
        Status::Ended(End::Cancelled) => write_head(&mut out.out, task, &view, "cancelled"),
        Status::Ended(End::Failed(error)) => {
            write_head(&mut out.out, task, &view, "failed");
            write_member(&mut out.out, "error", &error_object(error));
        }
        Status::Ended(End::Completed(outcome)) => {
            write_head(&mut out.out, task, &view, "completed");
            out.out.extend_from_slice(b",\"result\":");
            return write_result(out, outcome, task.tool().has_output_schema(), finish);
        }
    }
    out
}

/// Exactly what the call would have been answered with.
fn write_result(
    mut out: Outcome,
    outcome: &CallOutcome,
    promises_structure: bool,
    finish: Finish<'_>,
) -> Outcome {
    if let Ok(ToolResult { payload: Payload::Whole(json), .. }) = outcome {
        // That it is an object was seen when the task ended.
        let _ = content::whole::write(&mut out, json, finish, Cache::Silent);
        return out;
    }
    let code = content::write(outcome, promises_structure, Era::Modern, &mut out);
    finish.close_with_code(out, code)
}

fn write_head(out: &mut Vec<u8>, task: &Task, view: &TaskView, status: &str) {
    out.extend_from_slice(b"{\"taskId\":");
    write_json_string(out, &task.id);
    write_member(out, "status", &status.into());
    if let Some(message) = &view.message {
        write_member(out, "statusMessage", &message.as_str().into());
    }
    write_member(out, "createdAt", &rfc3339(task.created).into());
    write_member(out, "lastUpdatedAt", &rfc3339(view.updated).into());
    let ttl = u64::try_from(view.ttl.as_millis()).unwrap_or(u64::MAX);
    write_member(out, "ttlMs", &ttl.into());
    write_member(out, "pollIntervalMs", &POLL_INTERVAL.into());
}

fn write_member(out: &mut Vec<u8>, key: &str, value: &Value) {
    out.extend_from_slice(format!(",\"{key}\":{value}").as_bytes());
}

fn error_object(error: &RpcError) -> Value {
    let mut object = json!({"code": error.code, "message": error.message});
    if let Some(data) = &error.data {
        object["data"] = data.clone();
    }
    object
}
