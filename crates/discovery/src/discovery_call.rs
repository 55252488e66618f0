//! One call of a discovery tool: who asks, and what that one sees.

use std::sync::{Arc, Weak};

use serde_json::Value;
use toolrail_core::{Call, CallError, Caller, ErrorCode, Json, Outcome, Payload, Principal, ToolResult};
use toolrail_registry::{Registry, Snapshot};

/// What whoever carries out a call needs.
pub(crate) struct DiscoveryCall<'a> {
    pub(crate) registry: Arc<Registry>,
    /// What the one who asks sees, where he asks.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) call: &'a Call<'a>,
}

impl<'a> DiscoveryCall<'a> {
    pub(crate) fn new(registry: &Weak<Registry>, call: &'a Call<'a>) -> Result<Self, CallError> {
        let gone = || CallError::new(ErrorCode::Internal, "the gateway is about to end");
        let registry = registry.upgrade().ok_or_else(gone)?;
        let snapshot = catalogue(&registry, call.principal, call.caller);
        Ok(Self { registry, snapshot, call })
    }

    /// The tenant of the one who asks.
    pub(crate) fn tenant(&self) -> Option<String> {
        self.call.principal.tenant().map(str::to_owned)
    }
}

/// What that client sees: in a group there is nothing else.
pub(crate) fn catalogue(registry: &Registry, principal: &Principal, caller: &dyn Caller) -> Arc<Snapshot> {
    let group = caller.group().and_then(|group| registry.endpoints().of(Some(group)));
    match group {
        Some(endpoint) => registry.catalogue_at(principal, endpoint),
        None => registry.catalogue(principal),
    }
}

/// A good answer.
pub(crate) fn good(answer: &Value) -> Outcome {
    Ok(ToolResult::good(Payload::Json(Json::from_value(answer))))
}
