//! A native tool: what is known about it, and how a call of it is carried out.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use toolrail_core::{
    ArgumentCheck, Call, CallError, ErrorCode, Executor, OfferedTool, Outcome, Preview, TaskSupport,
    ToolName, async_trait,
};

use crate::offering::{Refused, WeakOffering};
use crate::schema::{no_arguments, schema_of};
use crate::{Context, IntoToolResult, ToolError, ToolOutput};

/// A native tool. `#[tool]` makes one of a function; made by hand, its schema can be anything and it can come and go:
///
/// ```
/// use toolrail_tool::{Content, Tool};
///
/// let tool = Tool::new("greet", |ctx| Box::pin(async move {
///     Content::text(format!("Hello, {}!", ctx.argument("name").unwrap_or("you")))
/// }))
/// .description("Greets somebody.");
/// ```
#[derive(Clone)]
pub struct Tool {
    name: String,
    entry: Map<String, Value>,
    annotations: Map<String, Value>,
    meta: Map<String, Value>,
    tasks: TaskSupport,
    timeout: Duration,
    handler: Handler<ToolOutput>,
}

/// How long a call may take that has no limit of its own; people who are asked need their time.
pub(crate) const LONGEST: Duration = Duration::from_hours(1);

/// Carries out one call.
pub(crate) type Handler<T> =
    Arc<dyn for<'a> Fn(Context<'a>) -> BoxFuture<'a, Result<T, ToolError>> + Send + Sync>;

impl Tool {
    /// A tool of that name without arguments, carried out by `handler`.
    pub fn new<F, R>(name: impl Into<String>, handler: F) -> Self
    where
        F: for<'a> Fn(Context<'a>) -> BoxFuture<'a, R> + Send + Sync + 'static,
        R: IntoToolResult + 'static,
    {
        let handler: Handler<ToolOutput> = Arc::new(move |context| {
            let running = handler(context);
            Box::pin(async move { running.await.into_tool_result() })
        });
        let mut entry = Map::new();
        entry.insert("inputSchema".into(), no_arguments());
        Self {
            name: name.into(),
            entry,
            annotations: Map::new(),
            meta: Map::new(),
            tasks: TaskSupport::Never,
            timeout: LONGEST,
            handler,
        }
    }

    /// What it does, for the model.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with("description", text.into())
    }

    /// Its name for people.
    #[must_use]
    pub fn title(self, text: impl Into<String>) -> Self {
        self.with("title", text.into())
    }

    /// The JSON Schema of its arguments; its root must be an object.
    #[must_use]
    pub fn input_schema(self, schema: Value) -> Self {
        self.with("inputSchema", schema)
    }

    /// The schema of its arguments, from their type.
    #[must_use]
    pub fn input_schema_of<T: JsonSchema>(self) -> Self {
        self.input_schema(schema_of::<T>())
    }

    /// The JSON Schema of its structured content.
    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.with("outputSchema", schema)
    }

    /// The schema of its structured content, if what its function returns promises any.
    #[must_use]
    pub fn output_schema_of<R: IntoToolResult>(self) -> Self {
        match R::output_schema() {
            Some(schema) => self.output_schema(schema),
            None => self,
        }
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn read_only(self, truth: bool) -> Self {
        self.hint("readOnlyHint", truth)
    }

    /// Whether it may destroy something.
    #[must_use]
    pub fn destructive(self, truth: bool) -> Self {
        self.hint("destructiveHint", truth)
    }

    /// Whether calling it again with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(self, truth: bool) -> Self {
        self.hint("idempotentHint", truth)
    }

    /// Whether it deals with the world outside.
    #[must_use]
    pub fn open_world(self, truth: bool) -> Self {
        self.hint("openWorldHint", truth)
    }

    /// A group for people and search.
    #[must_use]
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.meta.insert("toolrail/category".into(), Value::String(category.into()));
        self
    }

    /// Words for people and search.
    #[must_use]
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        let tags = tags.into_iter().map(|tag| Value::String(tag.into())).collect();
        self.meta.insert("toolrail/tags".into(), Value::Array(tags));
        self
    }

    /// Whether it may or must run as a task.
    #[must_use]
    pub fn task(mut self, tasks: TaskSupport) -> Self {
        self.tasks = tasks;
        self
    }

    /// How long a call may take; an hour unless something else is said.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.entry.insert(key.into(), value.into());
        self
    }

    fn hint(mut self, key: &str, truth: bool) -> Self {
        self.annotations.insert(key.into(), Value::Bool(truth));
        self
    }

    /// The tool as it is offered.
    pub(crate) fn offered(self, offering: WeakOffering) -> Result<OfferedTool, Refused> {
        let name = ToolName::parse(&self.name)
            .map_err(|error| Refused(format!("the native tool {:?} is not offered: {error}", self.name)))?;
        let mut entry = Map::new();
        entry.insert("name".into(), Value::String(self.name));
        let mut given = self.entry;
        for key in ["title", "description", "inputSchema", "outputSchema"] {
            if let Some(value) = given.shift_remove(key) {
                entry.insert(key.into(), value);
            }
        }
        for (key, members) in [("annotations", self.annotations), ("_meta", self.meta)] {
            if !members.is_empty() {
                entry.insert(key.into(), Value::Object(members));
            }
        }
        Ok(OfferedTool {
            name,
            entry: Value::Object(entry).into(),
            executor: Arc::new(NativeTool { handler: self.handler, timeout: self.timeout, offering }),
            arguments: ArgumentCheck::Here,
            tasks: self.tasks,
        })
    }
}

struct NativeTool {
    handler: Handler<ToolOutput>,
    timeout: Duration,
    offering: WeakOffering,
}

#[async_trait]
impl Executor for NativeTool {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        match run(&self.handler, self.timeout, &self.offering, call).await {
            Ok(output) => Ok(output.into_result()),
            Err(error) => error.into_outcome(),
        }
    }

    fn preview(&self, call: &Call<'_>) -> Result<Preview, CallError> {
        Ok(native_preview(call))
    }
}

/// Runs a handler for so long at most. A panic in it is its failure, not the end of the process.
pub(crate) async fn run<T>(
    handler: &Handler<T>,
    timeout: Duration,
    offering: &WeakOffering,
    call: &Call<'_>,
) -> Result<T, ToolError> {
    let Some(offering) = offering.upgrade() else {
        return Err(ToolError::failed(format!("{} has been taken away", call.tool)));
    };
    let context = Context::new(*call, offering);
    let _ended = EndsCall(context.cancellation());
    let running = AssertUnwindSafe(async { handler(context).await });
    match tokio::time::timeout(timeout, running.catch_unwind()).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_panic)) => {
            Err(ToolError::failed(format!("{} panicked; the log of the gateway says where", call.tool)))
        }
        Err(_) => {
            let message = format!(
                "{} did not end within {} ms; try again, or raise its timeout_ms",
                call.tool,
                timeout.as_millis()
            );
            Err(ToolError::of_call(CallError::new(ErrorCode::Timeout, message)))
        }
    }
}

/// Tells other threads when the call has ended, however it ends.
struct EndsCall(crate::Cancellation);

impl Drop for EndsCall {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Native tools send nothing that could be shown.
pub(crate) fn native_preview(call: &Call<'_>) -> Preview {
    let request = json!({"native": call.tool, "arguments": call.arguments});
    Preview { request, values: Vec::new(), notes: Vec::new() }
}
