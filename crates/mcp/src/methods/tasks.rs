//! `tasks/get`, `tasks/update` and `tasks/cancel` (extension `io.modelcontextprotocol/tasks`). Those of 2025-11-25 are in
//! `tasks_2025`.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolrail_core::{Outcome as CallOutcome, TaskRequest, shortened};
use toolrail_registry::Item;

use super::as_task::{declared, missing_extension};
use super::{Context, tasks_2025};
use crate::dialect::Dialect;
use crate::envelope::Params;
use crate::finish::Cache;
use crate::relay::{Errand, ErrandOutcome};
use crate::reply::{Code, Fault, Outcome, Reply};
use crate::tasks::{self, elsewhere};

pub(super) async fn get(context: Context<'_>) -> Reply {
    handle(&context, Errand::Get).await
}

pub(super) async fn update(context: Context<'_>) -> Reply {
    let answers = answers(&context)?;
    handle(&context, Errand::Update(answers)).await
}

pub(super) async fn cancel(context: Context<'_>) -> Reply {
    handle(&context, Errand::Cancel).await
}

/// Does the errand wherever the task is: at an upstream server, with another replica, or here.
async fn handle(context: &Context<'_>, errand: Errand) -> Reply {
    if context.dialect != Dialect::Modern {
        return tasks_2025::ask(context, errand.method()).await;
    }
    if !declared(context) {
        return Err(missing_extension(context));
    }
    let id = task_id(context)?;
    if elsewhere::is_elsewhere(&id) {
        return ask_upstream(context, errand.method(), &id).await?;
    }
    let (server, principal) = (context.server, context.peer.principal);
    // Nobody is asked for a task that cannot be.
    let replica = tasks::replica_of(&server.signer, &id).ok_or_else(|| unknown_task(&id))?;
    if replica != server.replica() {
        return match server.relay.errand((replica, &id), principal, errand).await {
            ErrandOutcome::Result(result) => Ok(Outcome::whole(String::from(Box::<str>::from(result)))),
            ErrandOutcome::NoSuchTask => Err(unknown_task(&id)),
            ErrandOutcome::Nothing => Err(lost_task(&id)),
        };
    }
    let task = server.tasks.find(&id, principal).ok_or_else(|| unknown_task(&id))?;
    Ok(errand.run(&task, context.finish()))
}

/// `params.taskId`.
pub(super) fn task_id<'a>(context: &Context<'a>) -> Result<Cow<'a, str>, Fault> {
    let missing = || Fault::new(Code::InvalidParams, "\"taskId\" is missing: the id of the task, a string");
    Params::text("taskId", context.params.task_id)?.ok_or_else(missing)
}

/// The one place where a task at an upstream server is asked for.
pub(super) async fn ask_upstream(context: &Context<'_>, method: &str, id: &str) -> Result<Reply, Fault> {
    let outcome = outcome_upstream(context, method, id).await?;
    Ok(match context.settle_strictly(outcome, Cache::Silent) {
        Ok(_) => Err(Fault::new(Code::Internal, "the upstream's answer about its task is no result of MCP")),
        Err(reply) => reply,
    })
}

/// What the upstream server says.
pub(super) async fn outcome_upstream(
    context: &Context<'_>,
    method: &str,
    id: &str,
) -> Result<CallOutcome, Fault> {
    let (principal, signer) = (context.peer.principal, &context.server.signer);
    let (definition, inside) =
        elsewhere::open(signer, id, (principal, context.dialect)).ok_or_else(|| unknown_task(id))?;
    let snapshot = context.snapshot();
    let Some(Item::Upstream { upstream, .. }) = snapshot.entry(definition).and_then(|entry| entry.live())
    else {
        return Err(unknown_task(id));
    };
    let answers = context.params.input_responses.map(|raw| json!({"inputResponses": raw}).to_string());
    let params = answers.and_then(|text| RawValue::from_string(text).ok());
    let params = params.as_deref();
    let request = TaskRequest { method, id: &inside, params, principal, caller: context.caller };
    Ok(upstream.task(&request).await)
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

fn lost_task(id: &str) -> Fault {
    let message = format!("there is no task {:?}; the gateway that ran it may be gone", shortened(id));
    Fault::new(Code::InvalidParams, message)
}
