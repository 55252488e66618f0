//! What does not come from a definition of one tool but offers things by itself: another MCP server, or Rust functions in
//! this program. The registry lists what is offered beside its own.

use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{CallError, Caller, Executor, Json, LogLevel, Outcome, Principal, ToolName};

/// Something that offers tools, prompts and resources.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Begins to follow it, if it has to be followed; `changed` is called whenever the offer or the state has changed.
    /// Calling it again does nothing. What was begun ends when the upstream is dropped.
    fn start(&self, changed: Arc<dyn Fn(Changed) + Send + Sync>);

    /// What it offers now.
    fn offer(&self) -> Arc<Offer>;

    /// Why it offers nothing, or not everything; nothing while all is well.
    fn failure(&self) -> Option<String>;

    /// How it is. One that is there from the beginning never connects.
    fn state(&self) -> UpstreamState {
        if self.failure().is_some() { UpstreamState::Failing } else { UpstreamState::Live }
    }

    /// Reads and follows resources that it has but does not list, such as those its results refer to; nothing if it has none.
    fn unlisted(&self) -> Option<Arc<dyn Executor>> {
        None
    }

    /// The roots of a client have changed; whoever asked for them in that conversation may ask again.
    fn roots_changed(&self, _conversation: &str) {}

    /// Carries out a request about a task that a call here has become, in the way of the client's revision. The ids
    /// of such tasks are `<name of the definition>~<the upstream's own id>`; clients have them sealed.
    async fn task(&self, request: &TaskRequest<'_>) -> Outcome {
        Err(CallError::invalid_params(format!("there is no task {:?}", request.id)))
    }
}

/// How an upstream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UpstreamState {
    /// It was not reached yet, and nothing has failed so far.
    Connecting,
    /// It cannot be used at the moment.
    Failing,
    /// It can be used, though it may not offer everything.
    Live,
}

/// A request about a task of an upstream.
#[derive(Clone, Copy)]
pub struct TaskRequest<'a> {
    /// `tasks/get`, `tasks/update` or `tasks/cancel`, or `tasks/result` of 2025-11-25.
    pub method: &'a str,
    /// The id of the task: the name of the definition, `~` and the upstream's own id.
    pub id: &'a str,
    /// `params` as sent.
    pub params: Option<&'a RawValue>,
    /// Who asks.
    pub principal: &'a Principal,
    /// The client at the other end.
    pub caller: &'a dyn Caller,
}

/// What has changed at an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The offer, or the failure.
    Offer,
    /// The content of a resource.
    Resource {
        /// Its URI.
        uri: String,
        /// The conversation of a client in which it has changed (see [`crate::Caller::conversation`]); none if it has for
        /// everybody.
        conversation: Option<String>,
    },
    /// Nothing, but one client is to be told something that belongs to none of its calls.
    Told {
        /// The client's conversation.
        conversation: String,
        /// What it is to be told.
        notice: Notice,
    },
}

/// What a server tells one client beside its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A log message.
    Log {
        /// How grave it is.
        level: LogLevel,
        /// `params` of `notifications/message`, as sent.
        params: Json,
    },
    /// How a task of the client stands (2025-11-25).
    Task {
        /// The id of the task: the name of the definition, `~` and the upstream's own id.
        id: String,
        /// `params` of `notifications/tasks/status`, as sent.
        params: Json,
    },
    /// What the client was asked to have its user do at an address has been done (2025-11-25).
    Elicited {
        /// The id of what was asked.
        id: String,
    },
}

impl Notice {
    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        match self {
            Self::Log { params, .. } | Self::Task { params, .. } => params.bytes().len(),
            Self::Elicited { id } => id.len(),
        }
    }
}

/// What is offered at one moment. Entries are as the lists of MCP show them, under the names that clients see.
#[derive(Default)]
pub struct Offer {
    /// Tools.
    pub tools: Vec<OfferedTool>,
    /// Prompts.
    pub prompts: Vec<Offered>,
    /// Resources; `key` is the URI.
    pub resources: Vec<Offered>,
    /// Resource templates; `key` is the URI template.
    pub templates: Vec<Offered>,
    /// What it says about its use, for models.
    pub instructions: Option<String>,
    /// What it has but cannot be offered, and why, in words.
    pub left_out: Vec<String>,
    /// What is offered otherwise than it came, since clients would refuse it, in words.
    pub mended: Vec<String>,
}

impl Offer {
    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.prompts.is_empty()
            && self.resources.is_empty()
            && self.templates.is_empty()
    }
}

/// A tool that is offered.
#[derive(Clone)]
pub struct OfferedTool {
    /// Its name here.
    pub name: ToolName,
    /// Its entry in `tools/list`, `name` being the name here.
    pub entry: ListEntry,
    /// Carries it out.
    pub executor: Arc<dyn Executor>,
    /// Who looks at the arguments.
    pub arguments: ArgumentCheck,
    /// Whether it may or must run as a task (extension `io.modelcontextprotocol/tasks`).
    pub tasks: TaskSupport,
}

/// Who checks the arguments of a tool against its input schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentCheck {
    /// The registry, which also fills in defaults.
    Here,
    /// The upstream; arguments are passed on as they were written.
    There,
}

/// Whether a tool runs as a task: the client gets a handle at once and asks for the result later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TaskSupport {
    /// It does not.
    #[default]
    Never,
    /// For clients that declare the extension.
    Optional,
    /// Always; other clients cannot call it.
    Required,
}

/// A prompt, a resource or a resource template that is offered.
#[derive(Clone)]
pub struct Offered {
    /// What it is asked for by.
    pub key: String,
    /// Its entry in the list.
    pub entry: ListEntry,
    /// Carries it out.
    pub executor: Arc<dyn Executor>,
}

/// An entry of a list of MCP: what it says, and how that is written, which clients get to see.
#[derive(Clone, Debug)]
pub struct ListEntry {
    value: Value,
    text: Arc<str>,
}

impl ListEntry {
    /// The entry that is written like that.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { value: serde_json::from_str(text)?, text: text.into() })
    }

    /// How it is written.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl From<Value> for ListEntry {
    fn from(value: Value) -> Self {
        Self { text: value.to_string().into(), value }
    }
}

impl PartialEq<Value> for ListEntry {
    fn eq(&self, other: &Value) -> bool {
        self.value == *other
    }
}

impl Deref for ListEntry {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}
