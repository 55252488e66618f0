//! How sources and upstreams are, for those who look after a gateway.

use std::sync::Arc;

use serde::Serialize;
use toolrail_core::UpstreamState;

use crate::source_id::SourceId;

/// How a source is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceStatus {
    /// Which source.
    pub source: SourceId,
    /// What it is, for people.
    pub description: String,
    /// How many definitions it gave.
    pub definitions: usize,
    /// Why it could not be read the last time; its last good definitions are still in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Since when it cannot be read, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// How an upstream is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UpstreamStatus {
    /// The name of its definition, or of the native tools.
    pub name: String,
    /// Whose it is; everybody's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// How it is.
    pub state: UpstreamState,
    /// How many tools it offers.
    pub tools: usize,
    /// How many prompts it offers.
    pub prompts: usize,
    /// How many resources it offers.
    pub resources: usize,
    /// How many resource templates it offers.
    pub templates: usize,
    /// Why it offers nothing, or not everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What it says about its use, for models.
    #[serde(skip)]
    pub instructions: Option<Arc<str>>,
}
