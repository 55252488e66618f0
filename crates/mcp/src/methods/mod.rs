//! The method table. Adding a method is one file and one line here.

mod discover;
mod initialize;
mod listen;
mod logging;
mod ping;
mod subscribe;
mod tools_call;
mod tools_describe;
mod tools_list;

use std::future::Future;
use std::pin::Pin;

use serde_json::value::RawValue;
use toolrail_core::{Caller, ErrorCode};

use crate::dialect::Dialect;
use crate::envelope::Params;
use crate::peer::Peer;
use crate::reply::{Outcome, Reply};
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
    /// Whether `Mcp-Name` repeats its `params.name`.
    pub(crate) named: bool,
    pub(crate) handle: Handle,
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
        .named(),
    method("tools/list", Speakers::All, Handle::Now(tools_list::handle)),
    method("tools/describe", Speakers::All, Handle::Now(tools_describe::handle)),
    method("server/discover", Speakers::All, Handle::Now(discover::handle)),
    method(
        "subscriptions/listen",
        Speakers::Since2026,
        Handle::Later(|context| Box::pin(listen::handle(context))),
    ),
    method("logging/setLevel", Speakers::UpTo2025, Handle::Now(logging::handle)),
    method("resources/subscribe", Speakers::UpTo2025, Handle::Now(subscribe::subscribe)),
    method("resources/unsubscribe", Speakers::UpTo2025, Handle::Now(subscribe::unsubscribe)),
    method("initialize", Speakers::UpTo2025, Handle::Now(initialize::handle)),
    method("ping", Speakers::UpTo2025, Handle::Now(ping::handle)),
];

const fn method(name: &'static str, speakers: Speakers, handle: Handle) -> Method {
    Method { name, speakers, named: false, handle }
}

impl Method {
    const fn named(self) -> Self {
        Self { named: true, ..self }
    }
}

/// The method of that name, if a client of that dialect may use it.
pub(crate) fn find(name: &str, dialect: Dialect) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name).filter(|method| method.speakers.include(dialect))
}

impl Context<'_> {
    /// Finishes a result object that lacks its last brace, adding what the dialect asks for.
    pub(crate) fn close(&self, outcome: Outcome) -> Outcome {
        self.close_with_code(outcome, None)
    }

    /// The same, for a result that may be cached.
    pub(crate) fn close_cacheable(&self, mut outcome: Outcome) -> Outcome {
        if self.dialect == Dialect::Modern {
            outcome.out.extend_from_slice(b",\"ttlMs\":1000,\"cacheScope\":\"public\"");
        }
        self.close(outcome)
    }

    /// The same, for a result that tells in `_meta` why the call failed.
    pub(crate) fn close_with_code(&self, mut outcome: Outcome, code: Option<ErrorCode>) -> Outcome {
        let out = &mut outcome.out;
        let code = code.map(|code| format!("\"toolrail/code\":\"{code}\""));
        match self.dialect {
            Dialect::Modern => {
                if out.last() != Some(&b'{') {
                    out.push(b',');
                }
                out.extend_from_slice(&self.server.modern_tail);
                if let Some(code) = code {
                    out.push(b',');
                    out.extend_from_slice(code.as_bytes());
                }
                out.extend_from_slice(b"}}");
            }
            Dialect::Legacy | Dialect::Plain => {
                if let Some(code) = code {
                    out.extend_from_slice(format!(",\"_meta\":{{{code}}}").as_bytes());
                }
                out.push(b'}');
            }
        }
        outcome
    }

    /// A whole result object, finished as the dialect asks.
    pub(crate) fn object(&self, object: &serde_json::Value) -> Outcome {
        let mut out = object.to_string().into_bytes();
        out.pop();
        self.close(Outcome::whole(out))
    }
}
