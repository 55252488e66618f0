//! Prompts and resources as the snapshot holds them, and the life of one use of them.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolrail_core::{
    Call, CallError, Caller, Completing, Completion, Executor, Kept, Offered, Outcome, Principal, Role,
};

use super::uri_template::UriTemplate;

/// A prompt.
pub struct Prompt {
    /// Its name.
    pub name: Box<str>,
    pub(crate) entry: Bytes,
    executor: Arc<dyn Executor>,
}

/// A resource, or a template that stands for many.
pub struct Resource {
    /// Its URI, or its URI template.
    pub key: Box<str>,
    /// The media type its entry names.
    pub mime: Option<Box<str>>,
    pub(crate) entry: Bytes,
    /// The definition it was made from, if it has one.
    pub(crate) document: Option<Arc<str>>,
    template: Option<UriTemplate>,
    executor: Arc<dyn Executor>,
    /// What one must be allowed to do to read it.
    needed_role: Role,
}

impl Prompt {
    pub(crate) fn new(offered: &Offered) -> Self {
        Self {
            name: offered.key.as_str().into(),
            entry: written(offered),
            executor: Arc::clone(&offered.executor),
        }
    }

    /// Its messages for those arguments.
    pub async fn get(
        &self,
        arguments: Option<&RawValue>,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Outcome {
        principal.must(Role::Call)?;
        let members: Map<String, Value> = match arguments {
            None => Map::new(),
            Some(raw) if !raw.get().starts_with('{') => {
                return Err(CallError::invalid_params("the arguments must be a JSON object"));
            }
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| {
                CallError::invalid_params(format!("the arguments cannot be read: {error}"))
            })?,
        };
        self.executor
            .execute(&Call { tool: &self.name, arguments: &members, raw: arguments, principal, caller })
            .await
            .map_err(|error| error.naming(&self.name))
    }

    /// Values that could complete one of its arguments.
    pub async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        self.executor.complete(asked).await
    }
}

fn written(offered: &Offered) -> Bytes {
    Bytes::copy_from_slice(offered.entry.text().as_bytes())
}

impl Resource {
    pub(crate) fn new(offered: &Offered) -> Self {
        Self {
            key: offered.key.as_str().into(),
            mime: offered.entry.get("mimeType").and_then(Value::as_str).map(Into::into),
            entry: written(offered),
            document: None,
            template: None,
            executor: Arc::clone(&offered.executor),
            needed_role: Role::Call,
        }
    }

    /// One that is in no list.
    pub(crate) fn unlisted(uri: &str, executor: Arc<dyn Executor>) -> Self {
        Self {
            key: uri.into(),
            mime: None,
            entry: Bytes::new(),
            document: None,
            template: None,
            executor,
            needed_role: Role::Call,
        }
    }

    /// One whose key is a URI template.
    pub(crate) fn template(offered: &Offered) -> Self {
        Self { template: Some(UriTemplate::parse(&offered.key)), ..Self::new(offered) }
    }

    /// The same, for everybody who may see tools: it tells of nothing else.
    pub(crate) fn of_the_gateway(self) -> Self {
        Self { needed_role: Role::Read, ..self }
    }

    /// The same, made from that definition.
    pub(crate) fn defined_by(self, document: &Arc<str>) -> Self {
        Self { document: Some(Arc::clone(document)), ..self }
    }

    /// Whether it stands for that URI.
    pub(crate) fn stands_for(&self, uri: &str) -> bool {
        self.template.as_ref().map_or(*self.key == *uri, |template| template.matches(uri))
    }

    /// Its content at that URI.
    pub async fn read(&self, uri: &str, principal: &Principal, caller: &dyn Caller) -> Outcome {
        principal.must(self.needed_role)?;
        let variables = self.template.as_ref().map(|template| template.variables(uri)).unwrap_or_default();
        let call = Call { tool: uri, arguments: &variables, raw: None, principal, caller };
        self.executor.execute(&call).await.map_err(|error| error.naming(&self.key))
    }

    /// Values that could complete a variable of its template.
    pub async fn complete(&self, asked: &Completing<'_>) -> Result<Completion, CallError> {
        self.executor.complete(asked).await
    }

    /// Follows its changes on behalf of a client as long as what comes back lives.
    pub async fn watch(
        &self,
        uri: &str,
        principal: &Principal,
        caller: &dyn Caller,
    ) -> Result<Option<Kept>, CallError> {
        principal.must(self.needed_role)?;
        self.executor.watch(uri, principal, caller).await
    }
}
