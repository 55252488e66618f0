//! What the tests share: a kind that echoes, and registries over it.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolrail_core::{
    ArgumentUse, Author, Call, CallError, Compiled, Definition, DefinitionForm, ErrorCode, Executor, Json,
    Kind, Made, Mute, Outcome, Payload, Preview, Principal, Problems, Store, ToolResult, async_trait,
};
use toolrail_registry::{Compiler, FileSource, Registry, RegistryBuilder, RegistryLimits, Source};

use crate::rows::Rows;

pub(crate) struct Echo;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    needs: Option<String>,
    /// Whether only what it needs is used.
    #[serde(default)]
    only: bool,
    /// Whether a secret is missing for it.
    #[serde(default)]
    locked: bool,
    /// Whether it never ends.
    #[serde(default)]
    endless: bool,
}

/// What calls come to that do not.
enum Fruitless {
    Locked,
    Endless,
}

#[async_trait]
impl Executor for Fruitless {
    async fn execute(&self, _: &Call<'_>) -> Outcome {
        match self {
            Self::Locked => {
                Err(CallError::at_field(ErrorCode::SecretMissing, "/echo/locked", "the secret is missing"))
            }
            Self::Endless => std::future::pending().await,
        }
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::Internal, "has no preview"))
    }
}

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let answer = Value::Object(call.arguments.clone());
        Ok(ToolResult::good(Payload::Json(Json::from_value(&answer))))
    }

    fn preview(&self, _: &Call<'_>) -> Result<Preview, CallError> {
        Err(CallError::new(ErrorCode::Internal, "has no preview"))
    }
}

impl Kind for Echo {
    const NAME: &'static str = "echo";
    type Settings = Settings;

    fn compile(&self, settings: Settings, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let uses = |name: String| ArgumentUse { name, pointer: "/echo/needs".into(), required: true };
        let executor: Arc<dyn Executor> = match (settings.locked, settings.endless) {
            (true, _) => Arc::new(Fruitless::Locked),
            (_, true) => Arc::new(Fruitless::Endless),
            _ => Arc::new(Echo),
        };
        Some(Compiled {
            made: Made::Tool(executor),
            arguments: settings.needs.map(uses).into_iter().collect(),
            uses_other_arguments: !settings.only,
            needs: Vec::new(),
        })
    }
}

/// A store with nothing in it, where a test is about other sources.
pub(crate) fn no_rows() -> Arc<dyn Store> {
    Arc::new(Rows::default())
}

pub(crate) fn registry(store: Arc<dyn Store>, sources: Vec<Arc<dyn Source>>, page_tools: usize) -> Registry {
    builder(store, sources, page_tools).build()
}

pub(crate) fn builder(
    store: Arc<dyn Store>,
    sources: Vec<Arc<dyn Source>>,
    page_tools: usize,
) -> RegistryBuilder {
    let compiler = Compiler::new(DefinitionForm::new(vec![Arc::new(Echo)]), Box::new(|_, executor| executor));
    let limits = RegistryLimits { page_tools, ..RegistryLimits::default() };
    Registry::builder(compiler, store, sources, limits)
}

pub(crate) fn author() -> Author {
    Author { who: "anna".into(), address: None, via: "test".into() }
}

pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "type": "echo", "echo": {},
           "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "description": "n", "default": 7}}, "required": []}})
}

pub(crate) fn files(folder: &Path) -> Vec<Arc<dyn Source>> {
    vec![Arc::new(FileSource::new(folder))]
}

pub(crate) fn names(registry: &Registry) -> Vec<String> {
    registry.snapshot().tools().iter().map(|tool| tool.name.to_string()).collect()
}

pub(crate) async fn call(registry: &Registry, name: &str, arguments: &str) -> Outcome {
    let raw = serde_json::from_str(arguments).unwrap();
    let snapshot = registry.snapshot();
    snapshot.find(name).unwrap().call(Some(raw), &Principal::Anonymous, &Mute).await
}

/// The kind of tools that are only described.
pub(crate) struct Metadata;

impl Kind for Metadata {
    const NAME: &'static str = toolrail_core::METADATA;
    type Settings = Value;

    fn compile(&self, _: Value, _: &Definition, _: &mut Problems) -> Option<Compiled> {
        let made = Made::Tool(Arc::new(Echo));
        Some(Compiled { made, arguments: Vec::new(), uses_other_arguments: true, needs: Vec::new() })
    }
}
