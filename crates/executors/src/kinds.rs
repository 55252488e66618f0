//! The table of kinds: one line each.

use std::sync::Arc;

use toolrail_core::{AnyKind, Secrets, Variables};

use crate::feign::Feign;
use crate::http::Http;
use crate::mcp::Mcp;
use crate::metadata::Metadata;
use crate::outbound::Client;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::service::Services;

/// What the kinds need to run.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// The one client through which everything goes out.
    pub client: Arc<Client>,
    /// The secrets that templates may name.
    pub secrets: Arc<Secrets>,
    /// The variables that templates may name.
    pub variables: Arc<Variables>,
    /// What several definitions share about a service.
    pub services: Arc<Services>,
}

/// Every kind there is.
pub fn kinds(runtime: &Runtime) -> Vec<Arc<dyn AnyKind>> {
    vec![
        Arc::new(Http::new(runtime.clone())),
        Arc::new(Feign::new(runtime.clone())),
        Arc::new(Prompt::new(runtime.clone())),
        Arc::new(Resource::new(runtime.clone())),
        Arc::new(Mcp::new(runtime.clone())),
        Arc::new(Metadata),
    ]
}
