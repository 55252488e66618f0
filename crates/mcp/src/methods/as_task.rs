//! A call that becomes a task: the client gets a handle at once and asks for the result later.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolrail_core::{CallError, ErrorCode, RpcError, TaskSupport, Unanswered};
use toolrail_registry::Tool;

use super::Context;
use crate::content;
use crate::dialect::Dialect;
use crate::reply::{Code, Fault, Reply};
use crate::tasks::{self, Brought, Task, TaskCaller, Work};
use toolrail_protocol::meta::TASKS;

/// How often a call may begin anew with more answers to what it asks first.
const MOST_ROUNDS: usize = 16;

/// Answers with a task, or with why there can be none; nothing if the call is to be carried out at once.
pub(super) async fn answer(
    context: &Context<'_>,
    tool: &Arc<Tool>,
    arguments: Option<&RawValue>,
) -> Option<Reply> {
    let must = tool.tasks == TaskSupport::Required;
    if !declared(context) {
        return must.then(|| Err(missing_extension(context)));
    }
    let (server, principal) = (context.server, context.peer.principal);
    let Some(task) = server.tasks.open(&server.signer, principal, tool) else {
        return must.then(|| Err(Fault::new(Code::Internal, "too many tasks are kept; call again later")));
    };
    match begin(context, &task, arguments).await {
        Ok(work) => {
            context.server.tasks.run(&task, work);
            Some(Ok(tasks::created(&task, context.finish())))
        }
        Err(reply) => {
            context.server.tasks.discard(&task);
            Some(reply)
        }
    }
}

/// Begins the work. Questions that come before anything is waited for are asked by the request itself: it is then answered
/// with them, and there is no task.
async fn begin(context: &Context<'_>, task: &Arc<Task>, arguments: Option<&RawValue>) -> Result<Work, Reply> {
    let brought = brought(context).map_err(|error| Err(refused(context, error)))?;
    let caller = TaskCaller::new(Arc::clone(task), brought);
    for _ in 0..MOST_ROUNDS {
        let mut work = tasks::work(call(task.tool(), arguments, context, Arc::clone(&caller)));
        let first = poll_fn(|ctx| Poll::Ready(work.as_mut().poll(ctx))).await;
        let questions = caller.left();
        match (first, questions) {
            (Poll::Pending, _) => {
                caller.begin_task();
                return Ok(work);
            }
            (Poll::Ready(ended), None) => return Ok(Box::pin(std::future::ready(ended))),
            (Poll::Ready(_), Some(questions)) => match context.caller.ask(&questions).await {
                Ok(answers) => caller.bring(answers),
                Err(Unanswered::Later(needed)) => {
                    return Err(content::input_required(&needed, context.finish()));
                }
                Err(Unanswered::Never(error)) => return Err(Err(refused(context, error))),
                Err(Unanswered::Refused(refusal)) => return Err(Err(refused(context, refusal.into_error()))),
            },
        }
    }
    Err(Err(Fault::new(Code::Internal, "the call asks again and again before it begins")))
}

/// The call, owning all it needs.
fn call(
    tool: &Arc<Tool>,
    arguments: Option<&RawValue>,
    context: &Context<'_>,
    caller: Arc<TaskCaller>,
) -> impl Future<Output = toolrail_core::Outcome> + Send + 'static {
    let tool = Arc::clone(tool);
    let arguments = arguments.map(ToOwned::to_owned);
    let principal = context.peer.principal.clone();
    async move { tool.call(arguments.as_deref(), &principal, &*caller).await }
}

fn brought(context: &Context<'_>) -> Result<Brought, CallError> {
    let capabilities = context.params.meta.as_ref().and_then(|meta| meta.client_capabilities);
    Ok(Brought {
        capabilities: capabilities.and_then(parsed).unwrap_or_else(|| json!({})),
        client_info: context.caller.client_info().cloned(),
        meta: context.caller.meta().map(ToOwned::to_owned),
        may_change: context.caller.may_change(),
        address: context.caller.address(),
        conversation: context.caller.conversation().map(str::to_owned),
        group: context.caller.group().map(str::to_owned),
        token: context.caller.token().cloned(),
        remembered: context.caller.remembered()?,
    })
}

fn parsed<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// An error before there is a task.
fn refused(context: &Context<'_>, error: CallError) -> Fault {
    match error {
        CallError { rpc: Some(rpc), .. } => context.told(*rpc),
        CallError { code: ErrorCode::InvalidRequest | ErrorCode::InvalidArguments, message, .. } => {
            Fault::new(Code::InvalidParams, message)
        }
        other => Fault::new(Code::Internal, other.message),
    }
}

/// Whether this request's client can handle tasks.
pub(super) fn declared(context: &Context<'_>) -> bool {
    #[derive(Deserialize)]
    struct Capabilities {
        #[serde(default)]
        extensions: Map<String, Value>,
    }
    let capabilities = context.params.meta.as_ref().and_then(|meta| meta.client_capabilities);
    context.dialect == Dialect::Modern
        && capabilities
            .and_then(parsed::<Capabilities>)
            .is_some_and(|capabilities| capabilities.extensions.get(TASKS).is_some_and(Value::is_object))
}

/// The client would have to handle tasks.
pub(super) fn missing_extension(context: &Context<'_>) -> Fault {
    let data = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    let message = format!("this needs a client that declares the extension {TASKS:?}");
    context.told(RpcError { code: RpcError::MISSING_CAPABILITY, message, data: Some(data) })
}
