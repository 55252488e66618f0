//! A definition compiled into a prompt, a resource or a template, to be used and completed.

use serde_json::{Map, Value};
use toolrail_core::{
    Call, CallError, Completing, Completion, DefinitionForm, Made, Mute, Offered, Outcome, Payload, Preview,
    Principal, Problem,
};
use toolrail_executors::kinds;

use crate::tool::{SECRETS, runtime};

/// What a definition has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Prompt,
    Resource,
    Template,
}

/// A compiled prompt, resource or template.
pub(crate) struct Listed {
    pub(crate) sort: Sort,
    pub(crate) offered: Offered,
    pub(crate) problems: Vec<Problem>,
}

/// One without any fault.
pub(crate) fn listed(definition: &Value) -> Listed {
    let form = DefinitionForm::new(kinds(&runtime(SECRETS)));
    let mut definition = definition.clone();
    definition.as_object_mut().unwrap().entry("name").or_insert("t".into());
    let (compiled, problems) = form.check(&definition, |_, compiled, _| compiled);
    let (sort, offered) = match compiled.map(|compiled| compiled.made) {
        Some(Made::Prompt(offered)) => (Sort::Prompt, offered),
        Some(Made::Resource(offered)) => (Sort::Resource, offered),
        Some(Made::Template(offered)) => (Sort::Template, offered),
        Some(Made::Tool(_) | Made::Upstream(_)) => panic!("{definition}: became something else"),
        None => panic!("{definition}: {problems:#?}"),
    };
    Listed { sort, offered, problems }
}

impl Listed {
    pub(crate) async fn outcome(&self, name: &str, arguments: Value) -> Outcome {
        let arguments = object(arguments);
        self.offered.executor.execute(&call(name, &arguments)).await
    }

    /// The whole result.
    pub(crate) async fn result(&self, name: &str, arguments: Value) -> Value {
        let result = self.outcome(name, arguments).await.unwrap();
        assert!(!result.is_error && result.notes.is_empty(), "{result:?}");
        match result.payload {
            Payload::Whole(json) => json.to_value(),
            other => panic!("{other:?}"),
        }
    }

    /// The only content of a resource.
    pub(crate) async fn read(&self, uri: &str, variables: Value) -> Value {
        let mut result = self.result(uri, variables).await;
        let contents = result["contents"].as_array_mut().unwrap();
        assert_eq!(contents.len(), 1, "{contents:?}");
        contents.remove(0)
    }

    /// The messages of a prompt.
    pub(crate) async fn messages(&self, arguments: Value) -> Value {
        self.result("t", arguments).await["messages"].take()
    }

    pub(crate) async fn refused(&self, name: &str, arguments: Value) -> CallError {
        self.outcome(name, arguments).await.unwrap_err()
    }

    pub(crate) fn preview(&self, name: &str, arguments: Value) -> Result<Preview, CallError> {
        let arguments = object(arguments);
        self.offered.executor.preview(&call(name, &arguments))
    }

    pub(crate) async fn complete(&self, argument: &str, value: &str) -> Result<Completion, CallError> {
        let settled = Map::new();
        let asked = Completing {
            of: &self.offered.key,
            argument,
            value,
            settled: &settled,
            principal: &Principal::Anonymous,
            caller: &Mute,
        };
        self.offered.executor.complete(&asked).await
    }
}

fn call<'c>(tool: &'c str, arguments: &'c Map<String, Value>) -> Call<'c> {
    Call { tool, arguments, raw: None, principal: &Principal::Anonymous, caller: &Mute }
}

fn object(arguments: Value) -> Map<String, Value> {
    match arguments {
        Value::Object(members) => members,
        other => panic!("{other}"),
    }
}
