//! `tasks/get`, `tasks/update` and `tasks/cancel` (extension `io.modelcontextprotocol/tasks`).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Context;
use super::as_task::{declared, missing_extension};
use crate::envelope::Params;
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
    if let Some((definition, theirs)) = id.split_once('~') {
        return ask_upstream(context, method, (definition, theirs)).await.map(Place::Upstream);
    }
    let task = context.server.tasks.find(&id, context.peer.principal);
    task.map(Place::Here).ok_or_else(|| unknown_task(&id))
}

/// The one place where a task at an upstream server is asked for: `<definition>~<its id there>`.
#[expect(clippy::unused_async, reason = "asking an upstream will wait for it")]
async fn ask_upstream(
    _context: &Context<'_>,
    _method: &str,
    (definition, theirs): (&str, &str),
) -> Result<Reply, Fault> {
    Err(unknown_task(&format!("{definition}~{theirs}")))
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
