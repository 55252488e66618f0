//! Executors of tools: compiled when the definition is registered, so that every fault is told then, and again when the
//! tool is first called. In between only the definition's text is kept: of ten thousand tools only a few are in use.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use toolrail_core::{CallError, ErrorCode, Executor, did_you_mean, shortened};

/// Carries out a tool.
pub(crate) enum ToolExecutor {
    /// That of a definition.
    Lazy(LazyExecutor),
    /// That of an upstream's offer.
    Ready(Arc<dyn Executor>),
}

impl ToolExecutor {
    /// The executor.
    pub(crate) fn get(&self) -> Result<&Arc<dyn Executor>, CallError> {
        match self {
            Self::Lazy(lazy) => lazy.get(),
            Self::Ready(executor) => Ok(executor),
        }
    }

    /// Notes about arguments that nothing uses, for whoever gave them.
    pub(crate) fn unused(&self, arguments: &Map<String, Value>) -> Vec<String> {
        match self {
            Self::Lazy(lazy) => lazy.unused(arguments),
            // Whoever offers a tool knows what it makes of them.
            Self::Ready(_) => Vec::new(),
        }
    }
}

/// An executor in use.
pub(crate) struct Running {
    pub(crate) executor: Arc<dyn Executor>,
    /// The arguments that it uses or its schema declares; nothing where it may use any.
    pub(crate) known: Option<Box<[Box<str>]>>,
}

/// The most arguments that are told of one by one.
const MOST_TOLD: usize = 5;

fn unused(stray: &str, known: &[Box<str>]) -> String {
    let hint = match did_you_mean(stray, known.iter().map(|name| &**name)) {
        Some(question) => question,
        None if known.is_empty() => "the tool takes none".to_owned(),
        None => {
            let named: Vec<&str> = known.iter().map(|name| &**name).take(20).collect();
            format!("it takes {}", named.join(", "))
        }
    };
    format!("the argument {:?} was not used; {hint}", shortened(stray))
}

/// Makes the executors of definitions.
pub(crate) trait MakeExecutor: Send + Sync {
    /// The executor of a document, with its policies, if it compiles.
    fn executor(&self, document: &str) -> Option<Running>;
}

/// An executor that is known to compile.
pub(crate) struct LazyExecutor {
    compiler: Arc<dyn MakeExecutor>,
    document: Arc<str>,
    ready: OnceLock<Option<Running>>,
}

impl LazyExecutor {
    /// The executor of a document that `compiler` has just compiled.
    pub(crate) fn new(compiler: Arc<dyn MakeExecutor>, document: Arc<str>) -> Self {
        Self { compiler, document, ready: OnceLock::new() }
    }

    fn unused(&self, arguments: &Map<String, Value>) -> Vec<String> {
        let known = self.ready.get().and_then(Option::as_ref).and_then(|running| running.known.as_deref());
        let Some(known) = known else { return Vec::new() };
        let strays = arguments.keys().filter(|name| !known.iter().any(|known| **known == **name));
        strays.take(MOST_TOLD).map(|stray| unused(stray, known)).collect()
    }

    fn get(&self) -> Result<&Arc<dyn Executor>, CallError> {
        let ready = self.ready.get_or_init(|| self.compiler.executor(&self.document));
        ready.as_ref().map(|running| &running.executor).ok_or_else(|| {
            CallError::new(ErrorCode::Internal, "a definition that was checked does not compile any more")
        })
    }
}
