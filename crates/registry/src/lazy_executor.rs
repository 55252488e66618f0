//! Executors of tools: compiled when the definition is registered, so that every fault is told then, and again when the
//! tool is first called. In between only the definition's text is kept: of ten thousand tools only a few are in use.

use std::sync::{Arc, OnceLock};

use toolrail_core::{CallError, ErrorCode, Executor};

use crate::compile::Compiler;
use crate::usage::UseLog;

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
}

/// An executor that is known to compile.
pub(crate) struct LazyExecutor {
    compiler: Arc<Compiler>,
    document: Arc<str>,
    ready: OnceLock<Option<Arc<dyn Executor>>>,
}

impl LazyExecutor {
    /// The executor of a document that `compiler` has just compiled.
    pub(crate) fn new(compiler: Arc<Compiler>, document: Arc<str>) -> Self {
        Self { compiler, document, ready: OnceLock::new() }
    }

    /// Who hears that the tool is called.
    pub(crate) fn uses(&self) -> Arc<UseLog> {
        Arc::clone(&self.compiler.uses)
    }

    fn get(&self) -> Result<&Arc<dyn Executor>, CallError> {
        let ready = self.ready.get_or_init(|| self.compiler.executor(&self.document));
        ready.as_ref().ok_or_else(|| {
            CallError::new(ErrorCode::Internal, "a definition that was checked does not compile any more")
        })
    }
}
