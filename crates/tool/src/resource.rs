//! Native resources, and templates that stand for many.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use toolrail_core::{
    Call, CallError, Completing, Completion, Executor, Json, Offered, Outcome, Payload, Preview, ToolResult,
    async_trait,
};

use crate::offering::WeakOffering;
use crate::prompt::Completers;
use crate::tool::{Handler, LONGEST, native_preview, run};
use crate::{Context, ResourceContents, ToolError};

/// A native resource:
///
/// ```
/// use toolrail_tool::Resource;
///
/// let resource = Resource::new("notes://today", "today", |_| Box::pin(async { "Buy milk." })).mime("text/plain");
/// ```
#[derive(Clone)]
pub struct Resource {
    uri: String,
    parts: Parts,
}

/// A native resource template; `ctx.argument("id")` is the variable `id` of the URI that is read, `ctx.name()` the URI:
///
/// ```
/// use toolrail_tool::ResourceTemplate;
///
/// let template = ResourceTemplate::new("notes://{day}", "note of a day", |ctx| Box::pin(async move {
///     format!("What happened on {}", ctx.argument("day").unwrap_or_default())
/// }));
/// ```
#[derive(Clone)]
pub struct ResourceTemplate {
    template: String,
    parts: Parts,
}

#[derive(Clone)]
struct Parts {
    entry: Map<String, Value>,
    mime: Option<String>,
    completers: Completers,
    handler: Handler<Read>,
}

/// What a resource's function may return: text, bytes, whole [`ResourceContents`], several of them, or a `Result` of one.
///
/// ```
/// use toolrail_tool::{Resource, ToolError};
///
/// let text = Resource::new("notes://today", "today", |_| Box::pin(async { "Buy milk." }));
/// let bytes = Resource::new("file:///etc/hostname", "host name", |_| Box::pin(async {
///     Ok::<_, ToolError>(std::fs::read("/etc/hostname")?)
/// }));
/// ```
pub trait IntoContents {
    /// The contents of that URI, or how the request ends without them.
    fn into_contents(self, uri: &str, mime: Option<&str>) -> Result<Vec<ResourceContents>, ToolError>;
}

/// What a function returned, waiting for the URI and the media type.
type Read = Box<dyn FnOnce(&str, Option<&str>) -> Result<Vec<ResourceContents>, ToolError> + Send>;

impl Resource {
    /// The resource of that URI and name, read by `handler`.
    pub fn new<F, R>(uri: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        F: for<'a> Fn(Context<'a>) -> BoxFuture<'a, R> + Send + Sync + 'static,
        R: IntoContents + Send + 'static,
    {
        Self { uri: uri.into(), parts: Parts::new(name.into(), handler) }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(self, text: impl Into<String>) -> Self {
        Self { parts: self.parts.with("title", text.into()), ..self }
    }

    /// What it is.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        Self { parts: self.parts.with("description", text.into()), ..self }
    }

    /// Its media type.
    #[must_use]
    pub fn mime(self, mime: impl Into<String>) -> Self {
        Self { parts: self.parts.mime(mime.into()), ..self }
    }

    pub(crate) fn offered(self, offering: WeakOffering) -> Offered {
        self.parts.offered("uri", self.uri, offering)
    }
}

impl ResourceTemplate {
    /// The template with that text and name; what it stands for is read by `handler`.
    pub fn new<F, R>(template: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        F: for<'a> Fn(Context<'a>) -> BoxFuture<'a, R> + Send + Sync + 'static,
        R: IntoContents + Send + 'static,
    {
        Self { template: template.into(), parts: Parts::new(name.into(), handler) }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(self, text: impl Into<String>) -> Self {
        Self { parts: self.parts.with("title", text.into()), ..self }
    }

    /// What it is.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        Self { parts: self.parts.with("description", text.into()), ..self }
    }

    /// The media type of what it stands for.
    #[must_use]
    pub fn mime(self, mime: impl Into<String>) -> Self {
        Self { parts: self.parts.mime(mime.into()), ..self }
    }

    /// Completes what has been typed of a variable.
    #[must_use]
    pub fn completes(
        mut self,
        variable: &str,
        complete: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.parts.completers.add(variable, complete);
        self
    }

    pub(crate) fn offered(self, offering: WeakOffering) -> Offered {
        self.parts.offered("uriTemplate", self.template, offering)
    }
}

impl Parts {
    fn new<F, R>(name: String, handler: F) -> Self
    where
        F: for<'a> Fn(Context<'a>) -> BoxFuture<'a, R> + Send + Sync + 'static,
        R: IntoContents + Send + 'static,
    {
        let handler: Handler<Read> = Arc::new(move |context| {
            let running = handler(context);
            Box::pin(async move {
                let returned = running.await;
                let read: Read = Box::new(move |uri, mime| returned.into_contents(uri, mime));
                Ok(read)
            })
        });
        let mut entry = Map::new();
        entry.insert("name".into(), Value::String(name));
        Self { entry, mime: None, completers: Completers::default(), handler }
    }

    fn with(mut self, key: &str, text: String) -> Self {
        self.entry.insert(key.into(), Value::String(text));
        self
    }

    fn mime(mut self, mime: String) -> Self {
        self.mime = Some(mime.clone());
        self.with("mimeType", mime)
    }

    fn offered(self, key_name: &str, key: String, offering: WeakOffering) -> Offered {
        let mut entry = Map::new();
        entry.insert(key_name.into(), Value::String(key.clone()));
        entry.extend(self.entry);
        let executor =
            NativeResource { mime: self.mime, completers: self.completers, handler: self.handler, offering };
        Offered { key, entry: Value::Object(entry).into(), executor: Arc::new(executor) }
    }
}

struct NativeResource {
    mime: Option<String>,
    completers: Completers,
    handler: Handler<Read>,
    offering: WeakOffering,
}

#[async_trait]
impl Executor for NativeResource {
    async fn execute(&self, call: &Call<'_>) -> Outcome {
        let read = run(&self.handler, LONGEST, &self.offering, call).await;
        match read.and_then(|read| read(call.tool, self.mime.as_deref())) {
            Ok(contents) => {
                let contents: Vec<Value> = contents.iter().map(ResourceContents::to_json).collect();
                let result = json!({ "contents": contents });
                Ok(ToolResult::good(Payload::Whole(Json::from_value(&result))))
            }
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

impl IntoContents for ResourceContents {
    fn into_contents(self, _: &str, _: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        Ok(vec![self])
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _: &str, _: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        Ok(self)
    }
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        Ok(vec![ResourceContents::text(uri, mime.unwrap_or("text/plain"), self)])
    }
}

impl IntoContents for &str {
    fn into_contents(self, uri: &str, mime: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        self.to_owned().into_contents(uri, mime)
    }
}

impl IntoContents for Bytes {
    fn into_contents(self, uri: &str, mime: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        Ok(vec![ResourceContents::blob(uri, mime.unwrap_or("application/octet-stream"), self)])
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        Bytes::from(self).into_contents(uri, mime)
    }
}

impl<T: IntoContents, E: Into<ToolError>> IntoContents for Result<T, E> {
    fn into_contents(self, uri: &str, mime: Option<&str>) -> Result<Vec<ResourceContents>, ToolError> {
        self.map_err(Into::into)?.into_contents(uri, mime)
    }
}
