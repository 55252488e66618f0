//! The method table. Adding a method is one file and one line here.

mod as_task;
mod completion_complete;
mod discover;
mod initialize;
mod listen;
mod lists;
mod logging;
mod ping;
mod prompts_get;
mod resources_read;
mod subscribe;
mod tasks;
mod tasks_2025;
mod tools_call;
mod tools_describe;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolrail_core::{
    CallError, Caller, ErrorCode, Outcome as CallOutcome, Payload, Principal, RpcError, ToolResult,
};
use toolrail_registry::{List, Snapshot};

use crate::content;
use crate::dialect::Dialect;
use crate::envelope::Params;
use crate::finish::{Cache, Finish};
use crate::peer::Peer;
use crate::reply::{Code, Fault, Outcome, Reply};
use crate::server::Server;

/// What a handler gets.
pub(crate) struct Context<'a> {
    pub(crate) server: &'a Server,
    pub(crate) peer: &'a Peer<'a>,
    pub(crate) dialect: Dialect,
    /// The id of the request.
    pub(crate) id: &'a RawValue,
    pub(crate) params: &'a Params<'a>,
    /// The client, as those who carry the request out see it.
    pub(crate) caller: &'a dyn Caller,
}

/// A handler: one that answers at once, or one that waits for something.
pub(crate) enum Handle {
    Now(for<'a> fn(Context<'a>) -> Reply),
    Later(for<'a> fn(Context<'a>) -> Pin<Box<dyn Future<Output = Reply> + Send + 'a>>),
}

/// One method.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    /// Which clients may use it.
    pub(crate) speakers: Speakers,
    /// What `Mcp-Name` repeats, if anything.
    pub(crate) name_in: Option<NameIn>,
    pub(crate) handle: Handle,
}

/// The parameter that the header `Mcp-Name` repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameIn {
    Name,
    Uri,
    TaskId,
}

impl NameIn {
    /// Its field in `params`.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Uri => "uri",
            Self::TaskId => "taskId",
        }
    }

    /// What `params` has there.
    pub(crate) fn of<'a>(self, params: &Params<'a>) -> Option<&'a RawValue> {
        match self {
            Self::Name => params.name,
            Self::Uri => params.uri,
            Self::TaskId => params.task_id,
        }
    }
}

/// Which clients may use a method.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speakers {
    /// Every client.
    All,
    /// Only those of a revision up to 2025-11-25, and plain ones: later revisions removed it.
    UpTo2025,
    /// Only those of 2026-07-28 and later.
    Since2026,
}

impl Speakers {
    fn include(self, dialect: Dialect) -> bool {
        match self {
            Self::All => true,
            Self::UpTo2025 => dialect != Dialect::Modern,
            Self::Since2026 => dialect == Dialect::Modern,
        }
    }
}

const METHODS: &[Method] = &[
    method("tools/call", Speakers::All, Handle::Later(|context| Box::pin(tools_call::handle(context))))
        .named(NameIn::Name),
    method("tools/list", Speakers::All, Handle::Now(|context| lists::handle(&context, List::Tools))),
    method("tools/describe", Speakers::All, Handle::Now(tools_describe::handle)),
    method("prompts/list", Speakers::All, Handle::Now(|context| lists::handle(&context, List::Prompts))),
    method("prompts/get", Speakers::All, Handle::Later(|context| Box::pin(prompts_get::handle(context))))
        .named(NameIn::Name),
    method("resources/list", Speakers::All, Handle::Now(|context| lists::handle(&context, List::Resources))),
    method(
        "resources/templates/list",
        Speakers::All,
        Handle::Now(|context| lists::handle(&context, List::Templates)),
    ),
    method(
        "resources/read",
        Speakers::All,
        Handle::Later(|context| Box::pin(resources_read::handle(context))),
    )
    .named(NameIn::Uri),
    method(
        "completion/complete",
        Speakers::All,
        Handle::Later(|context| Box::pin(completion_complete::handle(context))),
    ),
    method("tasks/get", Speakers::All, Handle::Later(|context| Box::pin(tasks::get(context))))
        .named(NameIn::TaskId),
    method("tasks/update", Speakers::Since2026, Handle::Later(|context| Box::pin(tasks::update(context))))
        .named(NameIn::TaskId),
    method("tasks/cancel", Speakers::All, Handle::Later(|context| Box::pin(tasks::cancel(context))))
        .named(NameIn::TaskId),
    method(
        "tasks/result",
        Speakers::UpTo2025,
        Handle::Later(|context| Box::pin(tasks_2025::result(context))),
    ),
    method("tasks/list", Speakers::UpTo2025, Handle::Later(|context| Box::pin(tasks_2025::list(context)))),
    method("server/discover", Speakers::All, Handle::Now(discover::handle)),
    method(
        "subscriptions/listen",
        Speakers::Since2026,
        Handle::Later(|context| Box::pin(listen::handle(context))),
    ),
    method("logging/setLevel", Speakers::UpTo2025, Handle::Now(logging::handle)),
    method(
        "resources/subscribe",
        Speakers::UpTo2025,
        Handle::Later(|context| Box::pin(subscribe::subscribe(context))),
    ),
    method("resources/unsubscribe", Speakers::UpTo2025, Handle::Now(subscribe::unsubscribe)),
    method("initialize", Speakers::UpTo2025, Handle::Now(initialize::handle)),
    method("ping", Speakers::UpTo2025, Handle::Now(ping::handle)),
];

const fn method(name: &'static str, speakers: Speakers, handle: Handle) -> Method {
    Method { name, speakers, name_in: None, handle }
}

impl Method {
    const fn named(self, name_in: NameIn) -> Self {
        Self { name_in: Some(name_in), ..self }
    }
}

/// The method of that name, if a client of that dialect may use it.
pub(crate) fn find(name: &str, dialect: Dialect) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name).filter(|method| method.speakers.include(dialect))
}

impl<'a> Context<'a> {
    /// What the one who asks can see, as it is now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.server.registry.catalogue_at(self.peer.principal, self.peer.endpoint)
    }

    /// How long somebody may keep what is seen here.
    pub(crate) fn brief_cache(&self) -> Cache {
        match self.peer.principal {
            Principal::Anonymous => Cache::Briefly,
            Principal::Member { .. } | Principal::Known(_) => Cache::BrieflyForOne,
        }
    }

    /// How results end for this client.
    pub(crate) fn finish(&self) -> Finish<'a> {
        Finish { me: &self.server.me, dialect: self.dialect }
    }

    /// Finishes a result object that lacks its last brace, adding what the dialect asks for.
    pub(crate) fn close(&self, outcome: Outcome) -> Outcome {
        self.finish().close(outcome)
    }

    /// A whole result object, finished as the dialect asks.
    pub(crate) fn object(&self, object: &serde_json::Value) -> Outcome {
        let mut out = object.to_string().into_bytes();
        out.pop();
        self.close(Outcome::whole(out))
    }

    /// The error that whoever carried the request out wants told, as this client can read it.
    fn told(&self, mut error: RpcError) -> Fault {
        match self.dialect {
            Dialect::Modern => {
                // An older upstream's word for a missing resource must not be used any more.
                if error.code == Code::ResourceNotFound.number() {
                    error.code = Code::InvalidParams.number();
                }
                Fault::told(error)
            }
            // Older clients take a status other than 200 for a broken connection.
            Dialect::Legacy | Dialect::Plain => Fault::told(error).with_status(200),
        }
    }

    /// Finishes what is alike for tools, prompts and resources: whole results, questions, and errors that are to be told
    /// as they are. Anything else comes back, to be written in the shape of its method.
    fn settle(&self, outcome: CallOutcome, cache: Cache) -> Result<CallOutcome, Reply> {
        match outcome {
            Err(CallError { rpc: Some(rpc), .. }) => Err(Err(self.told(*rpc))),
            Ok(ToolResult { payload: Payload::Whole(json), .. }) => {
                let mut out = Outcome::default();
                Err(content::whole::write(&mut out, &json, self.finish(), cache).map(|()| out))
            }
            Ok(ToolResult { payload: Payload::InputRequired(needed), .. }) => {
                Err(content::input_required(&needed, self.finish()))
            }
            other => Ok(other),
        }
    }

    /// A failure where there are no error results.
    fn refused(&self, error: CallError) -> Fault {
        match error.rpc {
            Some(rpc) => self.told(*rpc),
            None => fault_of(&error),
        }
    }

    /// The result of a prompt or a resource, which knows no error results.
    fn settle_strictly(&self, outcome: CallOutcome, cache: Cache) -> Result<ToolResult, Reply> {
        match self.settle(outcome, cache)? {
            Ok(result) if result.is_error => Err(Err(content::failure_of(&result))),
            Ok(result) => Ok(result),
            Err(error) => Err(Err(fault_of(&error))),
        }
    }
}

/// A failure where there are no error results.
fn fault_of(error: &CallError) -> Fault {
    let code = match error.code {
        ErrorCode::InvalidArguments | ErrorCode::InvalidRequest | ErrorCode::NotFound => Code::InvalidParams,
        _ => Code::Internal,
    };
    Fault::new(code, error.message.clone()).with_data(serde_json::json!({"code": error.code}))
}
