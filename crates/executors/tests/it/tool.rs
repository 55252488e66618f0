//! A definition compiled into something to call, and what an upstream received from it.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolrail_core::{
    ArgumentUse, Call, CallError, DefinitionForm, Executor, Made, Mute, Outcome, Payload, Preview, Principal,
    Problem, Secrets, ToolName,
};
use toolrail_executors::outbound::{Client, ClientLimits};
use toolrail_executors::{Runtime, Scripts, kinds};

/// A compiled tool.
pub(crate) struct Tool {
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) arguments: Vec<ArgumentUse>,
    pub(crate) uses_other_arguments: bool,
    pub(crate) problems: Vec<Problem>,
}

pub(crate) fn runtime(secrets: &[(&str, &str)]) -> Runtime {
    let environment =
        secrets.iter().map(|(key, value)| (format!("TOOLRAIL_SECRET_{key}"), (*value).to_owned()));
    Runtime {
        client: Arc::new(Client::new(ClientLimits::default())),
        secrets: Arc::new(Secrets::from_environment(environment, &[])),
        variables: Arc::default(),
        services: Arc::default(),
        scripts: Arc::new(Scripts::of_this_binary()),
        grants: None,
    }
}

/// The secrets of most tests.
pub(crate) const SECRETS: &[(&str, &str)] =
    &[("KEY", "hunter2 & co"), ("USER", "anneliese"), ("PASSWORD", "p:w-long")];

pub(crate) fn compile(definition: &Value, runtime: &Runtime) -> (Option<Tool>, Vec<Problem>) {
    compile_in(&DefinitionForm::new(kinds(runtime)), definition)
}

pub(crate) fn compile_in(form: &DefinitionForm, definition: &Value) -> (Option<Tool>, Vec<Problem>) {
    let mut definition = definition.clone();
    definition.as_object_mut().unwrap().entry("name").or_insert("t".into());
    let (compiled, problems) = form.check(&definition, |_, compiled, _| compiled);
    let tool = compiled.map(|compiled| Tool {
        executor: match compiled.made {
            Made::Tool(executor) => executor,
            _ => panic!("not a tool"),
        },
        arguments: compiled.arguments,
        uses_other_arguments: compiled.uses_other_arguments,
        problems: problems.clone(),
    });
    (tool, problems)
}

/// A tool without any fault.
pub(crate) fn tool(definition: &Value) -> Tool {
    tool_with(definition, &runtime(SECRETS))
}

pub(crate) fn tool_with(definition: &Value, runtime: &Runtime) -> Tool {
    let (tool, problems) = compile(definition, runtime);
    tool.unwrap_or_else(|| panic!("{definition}: {problems:#?}"))
}

/// An `http` tool without any fault.
pub(crate) fn http(settings: &Value) -> Tool {
    tool(&json!({"http": settings}))
}

/// The faults of a definition, as `pointer: message`.
pub(crate) fn faults(definition: &Value) -> Vec<String> {
    let mut definition = definition.clone();
    definition.as_object_mut().unwrap().entry("name").or_insert("t".into());
    let form = DefinitionForm::new(kinds(&runtime(SECRETS)));
    let (compiled, problems) = form.check(&definition, |_, compiled, _| compiled);
    let errors: Vec<_> =
        problems.iter().filter(|problem| problem.severity == toolrail_core::Severity::Error).collect();
    assert_eq!(compiled.is_none(), !errors.is_empty(), "{problems:?}");
    errors.into_iter().map(|problem| format!("{}: {}", problem.pointer, problem.message)).collect()
}

impl Tool {
    pub(crate) async fn outcome(&self, arguments: Value) -> Outcome {
        let name = ToolName::parse("t").unwrap();
        let arguments = object(arguments);
        self.executor
            .execute(&Call {
                tool: name.as_str(),
                arguments: &arguments,
                raw: None,
                principal: &Principal::Anonymous,
                caller: &Mute,
            })
            .await
    }

    /// What the echoing upstream received.
    pub(crate) async fn call(&self, arguments: Value) -> Value {
        let result = self.outcome(arguments).await.unwrap();
        match result.payload {
            Payload::Json(json) => json.to_value(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn refused(&self, arguments: Value) -> CallError {
        self.outcome(arguments).await.unwrap_err()
    }

    pub(crate) fn preview(&self, arguments: Value) -> Result<Preview, CallError> {
        let name = ToolName::parse("t").unwrap();
        let arguments = object(arguments);
        self.executor.preview(&Call {
            tool: name.as_str(),
            arguments: &arguments,
            raw: None,
            principal: &Principal::Anonymous,
            caller: &Mute,
        })
    }
}

/// The values of one header that the upstream received.
pub(crate) fn header(received: &Value, name: &str) -> Vec<String> {
    let headers = received["headers"].as_array().unwrap();
    headers.iter().filter(|pair| pair[0] == name).map(|pair| pair[1].as_str().unwrap().to_owned()).collect()
}

fn object(arguments: Value) -> Map<String, Value> {
    match arguments {
        Value::Object(members) => members,
        other => panic!("{other}"),
    }
}
