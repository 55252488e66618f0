//! The order in which policies wrap an executor, outermost last.

use std::sync::Arc;

use toolrail_core::{Definition, Executor};

use crate::timeout::Timeout;

/// Wraps an executor in the policies of its definition. A policy that is not asked for costs nothing.
pub fn wrap(definition: &Definition, executor: Arc<dyn Executor>) -> Arc<dyn Executor> {
    match definition.policy.timeout_ms {
        Some(milliseconds) => Arc::new(Timeout::new(milliseconds, executor)),
        None => executor,
    }
}
