//! `tools/call`: finds the tool in one snapshot and carries the call out.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolrail_core::{
    CallError, ErrorCode, Outcome as CallOutcome, TaskSupport, ToolResult, did_you_mean, shortened,
};
use toolrail_protocol::HeaderParam;
use toolrail_registry::{Named, Resolved, Snapshot, Tool, Unresolved};

use super::{Context, as_task, tasks_2025};
use crate::content;
use crate::dialect::Dialect;
use crate::envelope::Params;
use crate::finish::Cache;
use crate::headers::{Claim, Claims};
use crate::reply::{Code, Fault, Outcome, Reply};

pub(super) async fn handle(context: Context<'_>) -> Reply {
    let name = tool_name(&context)?;
    let arguments = context.params.arguments.filter(|raw| raw.get() != "null");
    if arguments.is_some_and(|raw| !raw.get().starts_with('{')) {
        return Err(Fault::new(Code::InvalidParams, "\"arguments\" must be an object"));
    }
    let snapshot = context.snapshot();
    let Resolved { tool, arguments, named } =
        match context.server.registry.finder().resolve(&snapshot, &name, arguments).await {
            Ok(resolved) => resolved,
            Err(Unresolved::Unknown) => return Err(unknown_tool(&context, &name)),
            Err(Unresolved::Failed(error)) => return answer(&context, Err(error), false),
        };
    let (tool, arguments) = (&tool, arguments.as_deref());
    if let (Dialect::Modern, Some(claims)) = (context.dialect, &context.peer.claims) {
        check_header_params((tool, named), arguments.map(RawValue::get), claims)?;
    }
    tasks_2025::check(&context, tool)?;
    if tool.tasks != TaskSupport::Never
        && let Some(reply) = as_task::answer(&context, tool, arguments).await
    {
        return reply;
    }
    let outcome = tool.call(arguments, context.peer.principal, context.caller).await;
    let tenant = context.peer.principal.tenant();
    tracing::debug!(name = %tool.name, revision = snapshot.revision, tenant, ok = went_well(&outcome), "tool called");
    answer(&context, outcome, tool.has_output_schema())
}

/// Writes how a call ended, as this client reads it.
fn answer(context: &Context<'_>, outcome: CallOutcome, promises_structure: bool) -> Reply {
    let outcome = match context.dialect {
        Dialect::Plain => Ok(told_plainly(context, outcome)?),
        Dialect::Modern | Dialect::Legacy => outcome,
    };
    if let (Ok(result), true) = (&outcome, answers_plainly(context)) {
        return Ok(content::write_plain(result));
    }
    match context.settle(outcome, Cache::Silent) {
        Ok(outcome) => {
            let mut result = Outcome::default();
            let code = content::write(&outcome, promises_structure, context.dialect.era(), &mut result);
            Ok(context.finish().close_with_code(result, code))
        }
        Err(reply) => reply,
    }
}

/// `params.name`; on the WebSocket also `params.tool`.
pub(super) fn tool_name<'a>(context: &Context<'a>) -> Result<Cow<'a, str>, Fault> {
    let mut name = Params::text("name", context.params.name)?;
    if name.is_none() && context.peer.session.plain_shapes {
        name = Params::text("tool", context.params.tool)?;
    }
    name.ok_or_else(|| Fault::new(Code::InvalidParams, "\"name\" is missing: the name of the tool, a string"))
}

/// An unknown or disabled tool: −32602 for clients of the standard, −32601 for plain ones.
pub(super) fn unknown_tool(context: &Context<'_>, name: &str) -> Fault {
    let code = match context.dialect {
        Dialect::Modern | Dialect::Legacy => Code::InvalidParams,
        Dialect::Plain => Code::MethodNotFound,
    };
    let snapshot = context.snapshot();
    let hint = suggestion(&snapshot, name).map(|question| format!("; {question}")).unwrap_or_default();
    Fault::new(code, format!("unknown tool {:?}{hint}", shortened(name)))
}

fn suggestion(snapshot: &Snapshot, name: &str) -> Option<String> {
    /// Comparing with more names than this would make a wrong name expensive.
    const MOST: usize = 2_000;
    if name.len() > 64 {
        return None;
    }
    let tools = snapshot.tools().iter().take(MOST).chain(snapshot.built_ins());
    did_you_mean(name, tools.map(|tool| tool.name.as_str()))
}

/// The plain dialect's own shapes are for calls that used its own word, `tool`.
fn answers_plainly(context: &Context<'_>) -> bool {
    context.peer.session.plain_shapes && context.dialect == Dialect::Plain && context.params.tool.is_some()
}

/// Whether the call was carried out and its tool does not say that it failed.
fn went_well(outcome: &CallOutcome) -> bool {
    outcome.as_ref().is_ok_and(|result| !result.is_error)
}

/// A good result; plain clients know no error results, so anything else is a fault: −32602 where the arguments are
/// wrong, else −32000 with what the tool itself said.
fn told_plainly(context: &Context<'_>, outcome: CallOutcome) -> Result<ToolResult, Fault> {
    let said = outcome.as_ref().ok().filter(|result| result.is_error).map(content::blocks_of);
    outcome.and_then(ToolResult::into_good).map_err(|error| match error {
        CallError { rpc: Some(rpc), .. } => context.told(*rpc),
        CallError { code: ErrorCode::InvalidArguments, message, .. } => {
            Fault::new(Code::InvalidParams, message)
        }
        CallError { code, message, .. } => {
            let mut data = json!({"code": code});
            if let Some(content) = said {
                data["content"] = content;
            }
            Fault::new(Code::CallFailed, message).with_data(data)
        }
    })
}

/// Arguments annotated with `x-mcp-header` must be repeated in their headers. A client that calls through `call_tool` has not
/// seen the annotations; what it repeats all the same must agree.
fn check_header_params(
    (tool, named): (&Tool, Named),
    arguments: Option<&str>,
    claims: &Claims<'_>,
) -> Result<(), Fault> {
    if tool.header_params.is_empty() {
        return Ok(());
    }
    let arguments: Value = arguments.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    for param in &tool.header_params {
        let value = param
            .path
            .iter()
            .try_fold(&arguments, |value, step| value.get(step))
            .filter(|value| !value.is_null());
        let claim = claims.param(&param.header);
        let need_not_say = named == Named::InArguments && matches!(claim, Claim::Absent);
        if !need_not_say && !agree(value, claim) {
            return Err(disagreement(param));
        }
    }
    Ok(())
}

fn agree(value: Option<&Value>, header: Claim) -> bool {
    match (value, header) {
        (None, Claim::Absent) => true,
        (Some(Value::String(text)), Claim::Says(header)) => *text == header,
        (Some(Value::Bool(truth)), Claim::Says(header)) => header == if *truth { "true" } else { "false" },
        (Some(Value::Number(number)), Claim::Says(header)) => {
            number.as_i64().is_some_and(|number| header.trim().parse() == Ok(number))
        }
        (None | Some(_), Claim::Absent | Claim::Says(_) | Claim::Broken) => false,
    }
}

fn disagreement(param: &HeaderParam) -> Fault {
    let message =
        format!("the header Mcp-Param-{} must repeat the argument {}", param.header, param.path.join("."));
    Fault::new(Code::HeaderMismatch, message)
}
