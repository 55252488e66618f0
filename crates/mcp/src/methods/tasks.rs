//! `tasks/get`, `tasks/update` and `tasks/cancel` (extension `io.modelcontextprotocol/tasks`).

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolrail_core::TaskRequest;
use toolrail_registry::Item;

use super::Context;
use super::as_task::{declared, missing_extension};
use crate::envelope::Params;
use crate::finish::Cache;
use crate::reply::{Code, Fault, Reply};
use crate::server::shortened;
use crate::tasks::{self, Task};

pub(super) async fn get(context: Context<'_>) -> Reply {
    match find(&context, "tasks/get").await? {
        Place::Here(task) => Ok(tasks::detailed(&task, context.finish())),
        Place::Upstream(reply) => reply,
    }
}

pub(super) async fn update(context: Context<'_>) -> Reply {
    let answers = answers(&context)?;
    match find(&context, "tasks/update").await? {
        Place::Here(task) => {
            task.answer(answers);
            Ok(context.object(&json!({})))
        }
        Place::Upstream(reply) => reply,
    }
}

pub(super) async fn cancel(context: Context<'_>) -> Reply {
    match find(&context, "tasks/cancel").await? {
        Place::Here(task) => {
            task.cancel();
            Ok(context.object(&json!({})))
        }
        Place::Upstream(reply) => reply,
    }
}

/// Where the task is.
enum Place {
    Here(Arc<Task>),
    /// At an upstream server, which has answered already.
    Upstream(Reply),
}

async fn find(context: &Context<'_>, method: &str) -> Result<Place, Fault> {
    if !declared(context) {
        return Err(missing_extension(context));
    }
    let Some(id) = Params::text("taskId", context.params.task_id)? else {
        return Err(Fault::new(Code::InvalidParams, "\"taskId\" is missing: the id of the task, a string"));
    };
    if let Some((definition, _)) = id.split_once('~') {
        return ask_upstream(context, (method, &id), definition).await.map(Place::Upstream);
    }
    let task = context.server.tasks.find(&id, context.peer.principal);
    task.map(Place::Here).ok_or_else(|| unknown_task(&id))
}

/// The one place where a task at an upstream server is asked for: `<definition>~<its id there>`.
async fn ask_upstream(
    context: &Context<'_>,
    request: (&str, &str),
    definition: &str,
) -> Result<Reply, Fault> {
    let (method, id) = request;
    let snapshot = context.server.registry.snapshot();
    let Some(Item::Upstream { upstream, .. }) = snapshot.entry(definition).and_then(|entry| entry.live())
    else {
        return Err(unknown_task(id));
    };
    let answers = context.params.input_responses.map(|raw| json!({"inputResponses": raw}).to_string());
    let params = answers.and_then(|text| RawValue::from_string(text).ok());
    let principal = context.peer.principal;
    let request = TaskRequest { method, id, params: params.as_deref(), principal, caller: context.caller };
    Ok(match context.settle_strictly(upstream.task(&request).await, Cache::Silent) {
        Ok(_) => Err(Fault::new(Code::Internal, "the upstream's answer about its task is no result of MCP")),
        Err(reply) => reply,
    })
}

/// `params.inputResponses`.
fn answers(context: &Context<'_>) -> Result<Map<String, Value>, Fault> {
    let raw = context.params.input_responses;
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).ok_or_else(|| {
        Fault::new(Code::InvalidParams, "\"inputResponses\" must be an object of answers by key")
    })
}

fn unknown_task(id: &str) -> Fault {
    Fault::new(
        Code::InvalidParams,
        format!("unknown task {:?}: it never was, is no longer kept, or is somebody else's", shortened(id)),
    )
}
