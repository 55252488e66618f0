//! A native prompt.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use toolrail_core::{
    Call, CallError, Completing, Completion, Executor, Json, Offered, Outcome, Payload, Preview, ToolResult,
    async_trait,
};

use crate::offering::WeakOffering;
use crate::tool::{Handler, LONGEST, native_preview, run};
use crate::{Context, IntoPromptResult, PromptOutput, ToolError};

/// A native prompt:
///
/// ```
/// use toolrail_tool::Prompt;
///
/// let prompt = Prompt::new("greeting", |ctx| Box::pin(async move {
///     format!("Greet {} warmly.", ctx.argument("name").unwrap_or("the user"))
/// }))
/// .description("Asks for a greeting.")
/// .argument("name", "Whom to greet.")
/// .completes("name", |typed| ["Ada", "Alan"].into_iter().filter(|name| name.starts_with(typed)).map(Into::into).collect());
/// ```
#[derive(Clone)]
pub struct Prompt {
    name: String,
    entry: Map<String, Value>,
    arguments: Vec<Value>,
    required: Vec<String>,
    completers: Completers,
    handler: Handler<PromptOutput>,
}

impl Prompt {
    /// A prompt of that name without arguments, written by `handler`.
    pub fn new<F, R>(name: impl Into<String>, handler: F) -> Self
    where
        F: for<'a> Fn(Context<'a>) -> BoxFuture<'a, R> + Send + Sync + 'static,
        R: IntoPromptResult + 'static,
    {
        let handler: Handler<PromptOutput> = Arc::new(move |context| {
            let running = handler(context);
            Box::pin(async move { running.await.into_prompt_result() })
        });
        let (entry, arguments, required) = (Map::new(), Vec::new(), Vec::new());
        Self { name: name.into(), entry, arguments, required, completers: Completers::default(), handler }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.entry.insert("title".into(), Value::String(text.into()));
        self
    }

    /// What it is for.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.entry.insert("description".into(), Value::String(text.into()));
        self
    }

    /// An argument that may be left out.
    #[must_use]
    pub fn argument(mut self, name: &str, description: &str) -> Self {
        self.arguments.push(json!({"name": name, "description": description, "required": false}));
        self
    }

    /// An argument that must be given.
    #[must_use]
    pub fn required_argument(mut self, name: &str, description: &str) -> Self {
        self.arguments.push(json!({"name": name, "description": description, "required": true}));
        self.required.push(name.to_owned());
        self
    }

    /// Completes what has been typed of an argument.
    #[must_use]
    pub fn completes(
        mut self,
        argument: &str,
        complete: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.completers.add(argument, complete);
        self
    }

    pub(crate) fn offered(self, offering: WeakOffering) -> Offered {
        let mut entry = Map::new();
        entry.insert("name".into(), Value::String(self.name.clone()));
        entry.extend(self.entry);
        if !self.arguments.is_empty() {
            entry.insert("arguments".into(), Value::Array(self.arguments));
        }
        let executor = NativePrompt {
            required: self.required,
            completers: self.completers,
            handler: self.handler,
            offering,
        };
        Offered { key: self.name, entry: Value::Object(entry).into(), executor: Arc::new(executor) }
    }
}

struct NativePrompt {
    required: Vec<String>,
    completers: Completers,
    handler: Handler<PromptOutput>,
    offering: WeakOffering,
}

#[async_trait]
impl Executor for NativePrompt {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        if let Some(missing) = self.required.iter().find(|name| !call.arguments.contains_key(*name)) {
            let message = format!("the prompt {} needs the argument {missing:?}", call.tool);
            return ToolError::invalid_params(message).into_outcome();
        }
        match run(&self.handler, LONGEST, &self.offering, call).await {
            Ok(output) => Ok(ToolResult::good(Payload::Whole(Json::from_value(&output.to_json())))),
            Err(error) => error.into_plain_outcome(),
        }
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        Ok(native_preview(call))
    }

    async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        Ok(self.completers.complete(asked))
    }
}

/// What completes the arguments of a prompt or the variables of a template, by name.
#[derive(Clone, Default)]
pub(crate) struct Completers(Vec<(String, Completer)>);

type Completer = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

impl Completers {
    pub(crate) fn add(&mut self, name: &str, complete: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) {
        self.0.push((name.to_owned(), Arc::new(complete)));
    }

    pub(crate) fn complete(&self, asked: &Completing<'_>) -> Completion {
        /// The most values that the protocol allows.
        const MOST: usize = 100;
        let Some((_, complete)) = self.0.iter().find(|(name, _)| name == asked.argument) else {
            return Completion::default();
        };
        let mut values = complete(asked.value);
        let total = values.len();
        values.truncate(MOST);
        Completion { values, total: u64::try_from(total).ok(), has_more: Some(total > MOST) }
    }
}
