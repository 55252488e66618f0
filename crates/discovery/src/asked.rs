//! One call of a discovery tool: who asks, and what that one sees.

use std::sync::{Arc, Weak};

use serde_json::Value;
use toolrail_core::{Call, CallError, ErrorCode, Json, Outcome, Payload, ToolResult};
use toolrail_registry::{Registry, Snapshot};

/// What whoever carries out a call needs.
pub(crate) struct Asked<'a> {
    pub(crate) registry: Arc<Registry>,
    /// What the one who asks sees, where he asks.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) call: &'a Call<'a>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(registry: &Weak<Registry>, call: &'a Call<'a>) -> Result<Self, CallError> {
        let gone = || CallError::new(ErrorCode::Internal, "the gateway is about to end");
        let registry = registry.upgrade().ok_or_else(gone)?;
        let snapshot = registry.catalogue(call.principal.tenant());
        Ok(Self { registry, snapshot, call })
    }

    /// The tenant of the one who asks.
    pub(crate) fn tenant(&self) -> Option<String> {
        self.call.principal.tenant().map(str::to_owned)
    }
}

/// A good answer.
pub(crate) fn good(answer: &Value) -> Outcome {
    Ok(ToolResult::good(Payload::Json(Json::from_value(answer))))
}
