//! The context of one call: the client to be told and asked, and the rest of the gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolrail_core::{Call, LogLevel, Progress};

use crate::ask::{self, Elicited, QuestionSet, Root, Sampled};
use crate::memory::Memory;
use crate::{Offering, ToolError, ToolOutput, nested};

/// The context of one call. A tool gets it by a parameter of type `Context` or `&Context`, which is not an argument.
///
/// A call that is cancelled, by the client or by a time limit, is dropped at its next `.await`; nothing has to be done
/// for that. Work that was handed to another thread can look at [`Context::cancellation`].
///
/// ```
/// use toolrail_tool::{Context, ToolError, tool};
///
/// /// Copies files.
/// #[tool]
/// async fn copy(files: Vec<String>, ctx: &Context) -> Result<String, ToolError> {
///     for (done, file) in (1_u32..).zip(&files) {
///         std::fs::copy(file, format!("{file}.copy"))?;
///         ctx.progress_with(done.into(), files.len() as f64, file);
///     }
///     Ok(format!("{} files copied", files.len()))
/// }
/// ```
#[derive(Clone)]
pub struct Context<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) memory: Arc<Memory>,
    offering: Offering,
    ended: Cancellation,
}

/// Tells work in other threads that nobody waits for it any more.
///
/// ```
/// use toolrail_tool::{Context, tool};
///
/// /// Counts for a long time.
/// #[tool]
/// async fn count(to: u64, ctx: &Context) -> u64 {
///     let cancellation = ctx.cancellation();
///     let counting = std::thread::spawn(move || (0..to).take_while(|_| !cancellation.is_cancelled()).count());
///     counting.join().unwrap_or_default() as u64
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Whether the call has ended, by itself or because it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(call: Call<'a>, offering: Offering) -> Self {
        Self { call, memory: Memory::new(), offering, ended: Cancellation::default() }
    }

    /// The name of the tool or prompt that was called; the URI of the resource that is read.
    pub fn name(&self) -> &'a str {
        self.call.tool
    }

    /// The arguments as that type; an error names the one that does not fit.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        serde_path_to_error::deserialize(self.call.arguments).map_err(|error| {
            let place = error.path().to_string();
            let told = error.into_inner();
            let place = if place == "." { String::new() } else { format!("{place}: ") };
            ToolError::failed(format!("the arguments of {} cannot be used: {place}{told}", self.call.tool))
        })
    }

    /// The arguments by name; for a resource the variables of its template.
    pub fn argument_map(&self) -> &'a Map<String, Value> {
        self.call.arguments
    }

    /// The text of one argument of a prompt, or of one variable of a template.
    pub fn argument(&self, name: &str) -> Option<&'a str> {
        self.call.arguments.get(name).and_then(Value::as_str)
    }

    /// Tells the client how far the call has got, if it wants to know.
    pub fn progress(&self, done: f64, total: impl Into<Option<f64>>) -> &Self {
        self.call.caller.progress(&Progress { progress: done, total: total.into(), message: None });
        self
    }

    /// The same, and what is being done.
    pub fn progress_with(&self, done: f64, total: impl Into<Option<f64>>, message: &str) -> &Self {
        let message = Some(message.to_owned());
        self.call.caller.progress(&Progress { progress: done, total: total.into(), message });
        self
    }

    /// Sends a log message to the client, if it wants messages of that level.
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) -> &Self {
        if self.call.caller.log_level().is_some_and(|least| level >= least) {
            self.call.caller.log(level, Some(self.call.tool), &data.into());
        }
        self
    }

    /// Logs at level `debug`.
    pub fn debug(&self, data: impl Into<Value>) -> &Self {
        self.log(LogLevel::Debug, data)
    }

    /// Logs at level `info`.
    pub fn info(&self, data: impl Into<Value>) -> &Self {
        self.log(LogLevel::Info, data)
    }

    /// Logs at level `warning`.
    pub fn warning(&self, data: impl Into<Value>) -> &Self {
        self.log(LogLevel::Warning, data)
    }

    /// Logs at level `error`.
    pub fn error(&self, data: impl Into<Value>) -> &Self {
        self.log(LogLevel::Error, data)
    }

    /// What work in other threads looks at to notice the end of this call.
    pub fn cancellation(&self) -> Cancellation {
        self.ended.clone()
    }

    /// What the client declared it can do (`ClientCapabilities`).
    pub fn client_capabilities(&self) -> &Value {
        self.call.caller.capabilities()
    }

    /// Whether the client declared that capability, such as `sampling`.
    pub fn client_can(&self, capability: &str) -> bool {
        self.client_capabilities().get(capability).is_some()
    }

    /// How the client introduced itself, if it did.
    pub fn client_info(&self) -> Option<&Value> {
        self.call.caller.client_info()
    }

    /// The `_meta` of the request.
    pub fn meta(&self) -> Option<Value> {
        self.call.caller.meta().and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Asks the user to fill in a form with a schema of plain fields. Pass errors on with `?`: clients of 2026-07-28 answer
    /// by making the request again, and the tool then runs again from its start with the answers at hand. `key` names the
    /// question: it must be the same in every run, and asked once more it gives the same answer. In a call that runs as a
    /// task, what is asked before anything else is waited for is asked by the request, and the task begins afterwards.
    ///
    /// ```
    /// use toolrail_tool::serde_json::json;
    /// use toolrail_tool::{Context, ToolError, tool};
    ///
    /// /// Removes a file if the user agrees.
    /// #[tool]
    /// async fn remove(file: String, ctx: &Context) -> Result<String, ToolError> {
    ///     let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
    ///     let form = ctx.elicit("sure", &format!("Remove {file}?"), schema).await?;
    ///     Ok(format!("the user chose to {}", form.action.word()))
    /// }
    /// ```
    pub async fn elicit(&self, key: &str, message: &str, schema: Value) -> Result<Elicited, ToolError> {
        self.questions().elicit(key, message, schema).ask().await?.elicited(key)
    }

    /// The same with the fields of a struct; nothing if the user said no or went away.
    pub async fn elicit_as<T>(&self, key: &str, message: &str) -> Result<Option<T>, ToolError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.elicit(key, message, ask::form_of::<T>()).await?.accepted()
    }

    /// Asks the client's model (`CreateMessageRequest.params`); see [`Context::elicit`] for `key` and errors.
    ///
    /// ```
    /// use toolrail_tool::serde_json::json;
    /// use toolrail_tool::{Context, ToolError, tool};
    ///
    /// /// Sums up a text with the client's own model.
    /// #[tool]
    /// async fn sum_up(text: String, ctx: &Context) -> Result<String, ToolError> {
    ///     let message = json!({"role": "user", "content": {"type": "text", "text": format!("Sum up: {text}")}});
    ///     let said = ctx.sample("summary", json!({"messages": [message], "maxTokens": 200})).await?;
    ///     Ok(said.text())
    /// }
    /// ```
    pub async fn sample(&self, key: &str, params: Value) -> Result<Sampled, ToolError> {
        self.questions().sample(key, params).ask().await?.sampled(key)
    }

    /// Asks for the folders that the client lets servers work in; see [`Context::elicit`] for `key` and errors.
    pub async fn roots(&self, key: &str) -> Result<Vec<Root>, ToolError> {
        self.questions().roots(key).ask().await?.roots(key)
    }

    /// Several questions to be asked at once.
    ///
    /// ```
    /// use toolrail_tool::serde_json::json;
    /// use toolrail_tool::{Context, ToolError, tool};
    ///
    /// /// Greets the user in one of the folders of the client.
    /// #[tool]
    /// async fn greet(ctx: &Context) -> Result<String, ToolError> {
    ///     let form = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    ///     let answers = ctx.questions().elicit("name", "Who are you?", form).roots("folders").ask().await?;
    ///     let name = answers.elicited("name")?.content.get("name").cloned().unwrap_or_default();
    ///     Ok(format!("Hello, {name}, in one of {} folders", answers.roots("folders")?.len()))
    /// }
    /// ```
    pub fn questions(&self) -> QuestionSet<'_, 'a> {
        QuestionSet::new(self)
    }

    /// What was to be remembered with the questions that interrupted the run before this one; an error if the client
    /// tampered with it.
    pub fn remembered(&self) -> Result<Option<Value>, ToolError> {
        self.memory.with(self.call.caller, |state| state.value.clone())
    }

    /// Closes the stream of this request so that the client comes back for the result (2025-11-25); elsewhere nothing
    /// happens.
    pub fn hang_up(&self) {
        self.call.caller.hang_up();
    }

    /// Calls another tool of this gateway, of whatever kind, like a client would. A tool that fails is an error.
    ///
    /// ```
    /// use toolrail_tool::serde_json::json;
    /// use toolrail_tool::{Context, ToolError, tool};
    ///
    /// /// Tells what to wear, by the weather that another tool knows.
    /// #[tool]
    /// async fn wear(city: String, ctx: &Context) -> Result<&'static str, ToolError> {
    ///     let weather = ctx.call("weather.current", json!({"city": city})).await?;
    ///     Ok(if weather.text().contains("rain") { "a coat" } else { "what you like" })
    /// }
    /// ```
    pub async fn call(&self, tool: &str, arguments: impl Serialize + Send) -> Result<ToolOutput, ToolError> {
        let arguments = serde_json::value::to_raw_value(&arguments)
            .map_err(|error| ToolError::failed(format!("the arguments for {tool} are no JSON: {error}")))?;
        nested::call(self, tool, &arguments).await
    }

    /// What the native tools offer, to change it while running.
    pub fn offering(&self) -> &Offering {
        &self.offering
    }
}
