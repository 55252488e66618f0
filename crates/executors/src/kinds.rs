//! The table of kinds: one line each.

use std::sync::Arc;

use toolrail_core::AnyKind;

use crate::feign::Feign;
use crate::http::Http;
use crate::mcp::Mcp;
use crate::metadata::Metadata;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::runtime::Runtime;
use crate::script::Script;

/// Every kind there is.
pub fn kinds(runtime: &Runtime) -> Vec<Arc<dyn AnyKind>> {
    vec![
        Arc::new(Http::new(runtime.clone())),
        Arc::new(Feign::new(runtime.clone())),
        Arc::new(Prompt::new(runtime.clone())),
        Arc::new(Resource::new(runtime.clone())),
        Arc::new(Mcp::new(runtime.clone())),
        Arc::new(Script::new(runtime.clone())),
        Arc::new(Metadata),
    ]
}
