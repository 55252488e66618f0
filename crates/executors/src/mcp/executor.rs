//! A tool, prompt or resource of a server, as something that runs calls.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolrail_core::{
    Call, CallError, Caller, Completing, Completion, ErrorCode, Executor, Kept, Outcome, Payload, Preview,
    Principal, async_trait, write_json_string,
};
use toolrail_protocol::HeaderParam;

use super::handshake::Way;
use super::hub::Hub;
use super::own_watch;
use super::run::{COMPLETE, Job, run};

/// The most values that a completion may have.
const MOST_VALUES: usize = 100;

/// Something that a server offers.
pub(super) struct Remote {
    pub(super) hub: Arc<Hub>,
    pub(super) thing: Thing,
}

/// What it is, under its name there.
pub(super) enum Thing {
    Tool { name: String, header_params: Vec<HeaderParam> },
    Prompt { name: String },
    Resource,
    Template { template: String },
}

#[async_trait]
impl Executor for Remote {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let written = call.raw.is_none().then(|| Value::Object(call.arguments.clone()).to_string());
        let arguments = call.raw.map_or_else(|| written.as_deref().unwrap_or("{}"), |raw| raw.get());
        run(&self.hub, &self.job(call, arguments)).await
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        let written = Value::Object(call.arguments.clone()).to_string();
        let job = self.job(call, call.raw.map_or(written.as_str(), |raw| raw.get()));
        let params: Map<String, Value> = job
            .members
            .iter()
            .map(|(key, value)| ((*key).to_owned(), serde_json::from_slice(value).unwrap_or_default()))
            .collect();
        let server = match &self.hub.connector.way {
            Way::Http(endpoint) => endpoint.shown()?.into(),
            Way::Stdio(command) => command.shown(),
        };
        let request = json!({"server": server, "method": job.method, "params": params});
        Ok(Preview { request, values: Vec::new(), notes: Vec::new() })
    }

    async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        let connection = self.hub.connection().await?;
        let reference = match &self.thing {
            Thing::Prompt { name } => json!({"type": "ref/prompt", "name": name}),
            Thing::Template { template } => json!({"type": "ref/resource", "uri": template}),
            Thing::Tool { .. } | Thing::Resource => return Ok(Completion::default()),
        };
        if !connection.can("/completions") {
            return Ok(Completion::default());
        }
        let argument = json!({"name": asked.argument, "value": asked.value});
        let mut members = vec![("ref", bytes_of(&reference)), ("argument", bytes_of(&argument))];
        if !asked.settled.is_empty() {
            members.push(("context", bytes_of(&json!({"arguments": asked.settled}))));
        }
        let job = Job {
            method: COMPLETE,
            name: asked.of,
            members,
            arguments: None,
            params_in_headers: Vec::new(),
            principal: asked.principal,
            caller: asked.caller,
        };
        completion_of(run(&self.hub, &job).await?.payload)
    }

    async fn watch(
        &self,
        uri: &str,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Result<Option<Kept>, CallError> {
        own_watch::watch(&self.hub, uri, principal, caller).await.map(Some)
    }
}

impl Remote {
    fn job<'j>(&'j self, call: &'j Call<'_>, arguments: &'j str) -> Job<'j> {
        let (method, name, mut members) = match &self.thing {
            Thing::Tool { name, .. } => ("tools/call", name.as_str(), vec![("name", quoted(name))]),
            Thing::Prompt { name } => ("prompts/get", name.as_str(), vec![("name", quoted(name))]),
            Thing::Resource | Thing::Template { .. } => {
                ("resources/read", call.tool, vec![("uri", quoted(call.tool))])
            }
        };
        let mut params_in_headers = Vec::new();
        match &self.thing {
            Thing::Tool { header_params, .. } => {
                members.push(("arguments", Bytes::copy_from_slice(arguments.as_bytes())));
                params_in_headers = said_in_headers(header_params, arguments);
                if let Some(task) = call.caller.task() {
                    members.push(("task", Bytes::copy_from_slice(task.get().as_bytes())));
                }
            }
            Thing::Prompt { .. } if call.raw.is_some() || !call.arguments.is_empty() => {
                members.push(("arguments", Bytes::copy_from_slice(arguments.as_bytes())));
            }
            Thing::Prompt { .. } | Thing::Resource | Thing::Template { .. } => {}
        }
        let (principal, caller) = (call.principal, call.caller);
        Job { method, name, members, arguments: Some(arguments), params_in_headers, principal, caller }
    }
}

fn completion_of(payload: Payload) -> Result<Completion, CallError> {
    #[derive(Deserialize)]
    struct Answer {
        completion: Listed,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Listed {
        values: Vec<String>,
        #[serde(default)]
        total: Option<u64>,
        #[serde(default)]
        has_more: Option<bool>,
    }
    let unusable = || CallError::new(ErrorCode::UpstreamInvalid, "the server's completion cannot be read");
    let Payload::Whole(json) = payload else {
        return Err(unusable());
    };
    let Answer { completion } = serde_json::from_str(json.text()).map_err(|_| unusable())?;
    let Listed { mut values, total, has_more } = completion;
    values.truncate(MOST_VALUES);
    Ok(Completion { values, total, has_more })
}

fn quoted(text: &str) -> Bytes {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_json_string(&mut out, text);
    out.into()
}

fn bytes_of(value: &Value) -> Bytes {
    value.to_string().into()
}

/// The names and values of the headers that repeat arguments.
fn said_in_headers(params: &[HeaderParam], arguments: &str) -> Vec<(String, String)> {
    if params.is_empty() {
        return Vec::new();
    }
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    params.iter().filter_map(|param| Some((param.header.clone(), param.text_in(&arguments)?))).collect()
}
