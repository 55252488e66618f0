//! What a definition has become: a tool, or one of the other things a server offers.

use std::sync::Arc;

use toolrail_core::{Approval, Upstream};

use super::offered::{Prompt, Resource};
use super::tools::Tool;

/// What a definition has become.
#[derive(Clone)]
pub enum Item {
    /// A tool.
    Tool(Arc<Tool>),
    /// A prompt.
    Prompt(Arc<Prompt>),
    /// A resource.
    Resource(Arc<Resource>),
    /// A resource template.
    Template(Arc<Resource>),
    /// A server whose offer is listed beside ours.
    Upstream {
        /// The kind that reaches it.
        kind: Arc<str>,
        /// The definition it was made from.
        document: Arc<str>,
        /// The server.
        upstream: Arc<dyn Upstream>,
        /// That a person must approve of each call of its tools, if one must.
        approval: Option<Approval>,
    },
}

impl Item {
    /// What it is, for people, such as `a prompt`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Tool(_) => "a tool",
            Self::Prompt(_) => "a prompt",
            Self::Resource(_) => "a resource",
            Self::Template(_) => "a resource template",
            Self::Upstream { .. } => "an upstream server",
        }
    }
}
