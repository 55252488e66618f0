//! Tasks of 2025-11-25: `params.task` of `tools/call`, `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`. Only tools
//! of upstream servers of that revision have them; the tasks live there, and here is what clients call them.

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{CallError, Payload, ToolResult, shortened};
use toolrail_protocol::code;
use toolrail_registry::Tool;

use super::Context;
use super::lists::unknown_cursor;
use super::tasks::{ask_upstream, outcome_upstream, task_id};
use crate::envelope::Params;
use crate::reply::{Code, Fault, Reply};

/// How many tasks are asked for at the same time.
const MOST_AT_ONCE: usize = 8;

/// What a task that is listed says at most, in bytes: it is where the task stands, not what it came to.
const LARGEST_TASK: usize = 16 * 1024;

/// Refuses a call that is to be a task where the tool cannot be one.
pub(super) fn check(context: &Context<'_>, tool: &Tool) -> Result<(), Fault> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Entry {
        execution: Execution,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Execution {
        task_support: Option<String>,
    }
    if context.caller.task().is_none() {
        return Ok(());
    }
    let entry: Entry = serde_json::from_slice(tool.list_entry()).unwrap_or_default();
    if matches!(entry.execution.task_support.as_deref(), Some("optional" | "required")) {
        return Ok(());
    }
    let message =
        format!("the tool {:?} does not run as a task; call it without \"task\"", tool.name.as_str());
    Err(Fault::new(Code::MethodNotFound, message))
}

/// Asks the server of the task.
pub(super) async fn ask(context: &Context<'_>, method: &'static str) -> Reply {
    known(context, method)?;
    ask_upstream(context, method, &task_id(context)?).await?
}

pub(super) async fn result(context: Context<'_>) -> Reply {
    ask(&context, "tasks/result").await
}

/// The tasks that this session has made, as far as they are still there.
pub(super) async fn list(context: Context<'_>) -> Reply {
    known(&context, "tasks/list")?;
    // All are on one page, which gives none out.
    if Params::text("cursor", context.params.cursor)?.is_some() {
        return Err(unknown_cursor());
    }
    let Some(live) = &context.peer.session.live else { return Ok(context.object(&json!({"tasks": []}))) };
    let (all, mut tasks) = (live.tasks.all(), Vec::new());
    // The newest first: a server that does not answer keeps no more than some of them waiting.
    for ids in all.rchunks(MOST_AT_ONCE) {
        let asked = join_all(ids.iter().map(|id| task_of(&context, id))).await;
        let silent = asked.iter().all(|task| matches!(task, Standing::Unknown));
        for (id, task) in ids.iter().zip(asked).rev() {
            match task {
                Standing::Known(task) => tasks.push(task),
                Standing::Gone => live.tasks.forget(id),
                Standing::Unknown => {}
            }
        }
        if silent {
            break;
        }
    }
    tasks.reverse();
    Ok(context.object(&json!({"tasks": tasks})))
}

/// How a task stands.
enum Standing {
    Known(Value),
    /// Its server does not have it any more.
    Gone,
    /// Its server does not say.
    Unknown,
}

async fn task_of(context: &Context<'_>, id: &str) -> Standing {
    match outcome_upstream(context, "tasks/get", id).await {
        Ok(Ok(ToolResult { payload: Payload::Whole(json), .. })) if json.text().len() <= LARGEST_TASK => {
            Standing::Known(json.to_value())
        }
        Ok(Err(CallError { rpc: Some(rpc), .. })) if rpc.code == code::INVALID_PARAMS => Standing::Gone,
        Ok(Ok(_) | Err(_)) | Err(_) => Standing::Unknown,
    }
}

/// Only clients of that revision know these methods.
fn known(context: &Context<'_>, method: &str) -> Result<(), Fault> {
    if context.peer.session.has_tasks(context.dialect) {
        return Ok(());
    }
    Err(Fault::new(Code::MethodNotFound, format!("unknown method {:?}", shortened(method))))
}
