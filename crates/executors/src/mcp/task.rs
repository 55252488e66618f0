//! Tasks of a server (extension `io.modelcontextprotocol/tasks`): outside, their ids carry the name of the definition, so
//! that a later request finds its way back, and the caller seals them.

use std::sync::Arc;

use bytes::Bytes;
use toolrail_core::{CallError, Caller, Json, Outcome, Payload, TaskRequest, ToolResult};

use super::hub::Hub;
use super::message::{Members, Writer};
use super::run::{Job, run};

/// What stands between the name of the definition and the server's own id.
pub(super) const SEPARATOR: char = '~';

/// A result with the id of its task as the client gets it.
pub(super) fn named_outside(definition: &str, result: &Json, caller: &dyn Caller) -> Result<Json, CallError> {
    let mut writer = Writer::new();
    for (key, value) in Members::of(result.text()).0 {
        let id = (key == "taskId").then(|| serde_json::from_str::<String>(value.get()).ok()).flatten();
        match id {
            Some(id) => writer.text(&key, &caller.task_id(format!("{definition}{SEPARATOR}{id}"))?),
            None => writer.raw(&key, value.get().as_bytes()),
        };
    }
    Ok(Json::parse(writer.finish()).unwrap_or_else(|_| result.clone()))
}

/// Passes a request about a task on to the server.
pub(super) async fn ask(hub: &Arc<Hub>, request: &TaskRequest<'_>) -> Outcome {
    let inside = request.id.strip_prefix(hub.name.as_str()).and_then(|rest| rest.strip_prefix(SEPARATOR));
    let method = match request.method {
        "tasks/get" => "tasks/get",
        "tasks/update" => "tasks/update",
        "tasks/cancel" => "tasks/cancel",
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
    }
}
