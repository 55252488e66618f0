//! Tasks of a server, in the extension `io.modelcontextprotocol/tasks` and as 2025-11-25 has them: outside, their ids carry
//! the name of the definition, so that a later request finds its way back, and the caller seals them.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use toolrail_core::{
    CallError, Caller, ErrorCode, Json, Outcome, Payload, RpcError, TaskRequest, ToolResult,
};
use toolrail_protocol::meta::RELATED_TASK as RELATED;
use toolrail_protocol::{Era, code};

use super::connection::Connection;
use super::hub::Hub;
use super::message::{Members, Writer};
use super::run::{Job, run};

/// What stands between the name of the definition and the server's own id.
pub(super) const SEPARATOR: char = '~';

/// The request that is answered once its task has ended.
pub(super) const RESULT: &str = "tasks/result";

/// A result with the id of its task as the client gets it.
pub(super) fn named_outside(definition: &str, result: &Json, caller: &dyn Caller) -> Result<Json, CallError> {
    let named = Naming { definition, caller }.result(result.text())?;
    Ok(Json::parse(named).unwrap_or_else(|_| result.clone()))
}

/// The parameters of a question with the id of the task that asks it.
pub(super) fn asked_outside(
    definition: &str,
    params: &mut Value,
    caller: &dyn Caller,
) -> Result<(), CallError> {
    let id = params.get_mut("_meta").and_then(|meta| meta.get_mut(RELATED)?.get_mut("taskId"));
    if let Some(Value::String(id)) = id {
        *id = Naming { definition, caller }.id(id)?;
    }
    Ok(())
}

/// Whether the server runs calls of tools as tasks (2025-11-25).
pub(super) fn takes_tasks(connection: &Connection) -> bool {
    connection.era == Era::Legacy && connection.can("/tasks/requests/tools/call")
}

/// What a client gets that wants a task of a server that makes none.
pub(super) fn unsupported() -> CallError {
    let message = "this server runs no calls as tasks; call the tool without \"task\"".to_owned();
    let rpc = RpcError { code: code::METHOD_NOT_FOUND, message: message.clone(), data: None };
    CallError::new(ErrorCode::InvalidRequest, message).with_rpc(rpc)
}

/// Gives the tasks of a server the ids that a client has for them.
struct Naming<'n> {
    definition: &'n str,
    caller: &'n dyn Caller,
}

impl Naming<'_> {
    fn id(&self, own: &str) -> Result<String, CallError> {
        self.caller.task_id(format!("{}{SEPARATOR}{own}", self.definition))
    }

    /// The task itself, the one that it has created, or the one that it belongs to.
    fn result(&self, text: &str) -> Result<Bytes, CallError> {
        rewritten(text, |key, value| match key {
            "task" if value.starts_with('{') => self.task(value).map(Some),
            "_meta" if value.starts_with('{') => self.meta(value).map(Some),
            "taskId" => self.quoted_id(value),
            _ => Ok(None),
        })
    }

    fn meta(&self, text: &str) -> Result<Bytes, CallError> {
        rewritten(text, |key, value| match key {
            RELATED if value.starts_with('{') => self.task(value).map(Some),
            _ => Ok(None),
        })
    }

    fn task(&self, text: &str) -> Result<Bytes, CallError> {
        rewritten(text, |key, value| if key == "taskId" { self.quoted_id(value) } else { Ok(None) })
    }

    fn quoted_id(&self, value: &str) -> Result<Option<Bytes>, CallError> {
        let own = serde_json::from_str::<String>(value).ok();
        own.map(|own| self.id(&own).map(|id| quoted(&id))).transpose()
    }
}

/// The object with other members where there are any, and the rest as it was written.
fn rewritten(
    text: &str,
    other: impl Fn(&str, &str) -> Result<Option<Bytes>, CallError>,
) -> Result<Bytes, CallError> {
    let mut writer = Writer::new();
    for (key, value) in Members::of(text).0 {
        match other(&key, value.get())? {
            Some(other) => writer.raw(&key, &other),
            None => writer.raw(&key, value.get().as_bytes()),
        };
    }
    Ok(writer.finish())
}

/// Passes a request about a task on to the server.
pub(super) async fn ask(hub: &Arc<Hub>, request: &TaskRequest<'_>) -> Outcome {
    let inside = request.id.strip_prefix(hub.name.as_str()).and_then(|rest| rest.strip_prefix(SEPARATOR));
    let method = match request.method {
        "tasks/get" => "tasks/get",
        "tasks/update" => "tasks/update",
        "tasks/cancel" => "tasks/cancel",
        RESULT => RESULT,
        _ => return Err(CallError::invalid_params(format!("{} is not known here", request.method))),
    };
    let Some(inside) = inside else {
        return Err(CallError::invalid_params(format!("there is no task {:?}", request.id)));
    };
    let mut members: Vec<(&'static str, Bytes)> = vec![("taskId", quoted(inside))];
    let given = request.params.map_or(Members(Vec::new()), |raw| Members::of(raw.get()));
    for (key, value) in given.0 {
        if key == "inputResponses" {
            members.push(("inputResponses", Bytes::copy_from_slice(value.get().as_bytes())));
        }
    }
    let job = Job {
        method,
        name: inside,
        members,
        arguments: None,
        params_in_headers: Vec::new(),
        principal: request.principal,
        caller: request.caller,
    };
    let result = run(hub, &job).await?;
    match result.payload {
        Payload::Whole(json) => {
            let json = named_outside(&hub.name, &json, request.caller)?;
            Ok(ToolResult { payload: Payload::Whole(json), ..result })
        }
        payload => Ok(ToolResult { payload, ..result }),
    }
}

fn quoted(text: &str) -> Bytes {
    let mut out = Vec::with_capacity(text.len() + 2);
    toolrail_core::write_json_string(&mut out, text);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_task_carries_the_definition_and_nothing_else_changes() {
        let result =
            Json::parse(Bytes::from_static(b"{\"x\":1.0,\"taskId\":\"a~b\",\"status\":\"working\"}"))
                .unwrap();
        assert_eq!(
            named_outside("github", &result, &toolrail_core::Mute).unwrap().text(),
            "{\"x\":1.0,\"taskId\":\"github~a~b\",\"status\":\"working\"}"
        );
        let result = Bytes::from_static(
            b"{\"task\":{\"taskId\":\"1\",\"ttl\":1.0},\"structuredContent\":{\"taskId\":\"1\"},\"_meta\":{\"taskId\":\"1\",\"io.modelcontextprotocol/related-task\":{\"taskId\":\"1\"}}}",
        );
        assert_eq!(
            named_outside("up", &Json::parse(result).unwrap(), &toolrail_core::Mute).unwrap().text(),
            "{\"task\":{\"taskId\":\"up~1\",\"ttl\":1.0},\"structuredContent\":{\"taskId\":\"1\"},\"_meta\":{\"taskId\":\"1\",\"io.modelcontextprotocol/related-task\":{\"taskId\":\"up~1\"}}}"
        );
    }
}
