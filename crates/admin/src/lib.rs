//! The REST face: `/mcp/tools` to list and call, `/admin/…` to register and look after definitions, health. Plain JSON
//! that curl can speak; it knows no MCP.

mod access;
mod advice;
mod audit;
mod body;
mod call;
mod change_request;
mod conflict;
mod definitions;
mod export;
mod failure;
mod health;
mod history;
mod index;
mod learnt;
mod list;
mod metrics;
mod path;
mod preview;
mod refresh;
mod register;
mod requester;
mod requests;
mod rollback;
mod search;
mod seen;
mod stats;
mod sync;
mod table;
mod unknown;
mod unread;

use std::sync::Arc;

pub use access::doctor::{Finding, FindingLevel};
pub use access::keys::Keys;
pub use access::permissions::Rules;
pub use advice::{Advice, NextStep};
pub use audit::MOST_AUDIT_ENTRIES;
use axum::Router;
use axum::routing::get;
pub use change_request::{AUTHOR as AUTHOR_HEADER, VIA as VIA_HEADER};
pub use history::MOST_VERSIONS;
use refresh::Refreshing;
pub use requests::{curl_script, postman_collection};
use table::ROUTES;
use toolrail_core::{UserGrants, Way};
use toolrail_identity::SignedIn;
use toolrail_registry::Registry;

/// Makes the page that Prometheus reads.
pub type MetricsPage = Arc<dyn Fn() -> String + Send + Sync>;

/// What the REST face works on.
#[derive(Clone)]
pub struct Admin {
    /// The tools.
    pub(crate) registry: Arc<Registry>,
    /// The version of the program, for people.
    pub(crate) version: &'static str,
    /// By what way changes are recorded to come, unless the request says so.
    pub(crate) writer: Way,
    pub(crate) metrics: Option<MetricsPage>,
    pub(crate) refreshing: Arc<Refreshing>,
    /// The keys of the store, and those who hold them; where they can be administered.
    pub(crate) keys: Option<Keys>,
    /// The rules that say what they may do.
    pub(crate) rules: Option<Rules>,
    /// The accounts at upstream servers that people have connected.
    pub(crate) connections: Option<Arc<dyn UserGrants>>,
    /// Those who have signed in, where people do.
    pub(crate) signed_in: Option<Arc<dyn SignedIn>>,
    /// What an operator should know of how the gateway runs, where one does.
    pub(crate) exposure: Option<Arc<Vec<Finding>>>,
}

impl Admin {
    /// The tools of that registry; `version` is that of the program, and `writer` the way by
    /// which changes are recorded to come, unless the request says so.
    pub fn new(registry: Arc<Registry>, version: &'static str, writer: Way) -> Self {
        Self {
            registry,
            version,
            writer,
            metrics: None,
            refreshing: Arc::default(),
            keys: None,
            rules: None,
            connections: None,
            signed_in: None,
            exposure: None,
        }
    }

    /// The same with rules that say what those may do who hold them.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// The same with what an operator should know of how the gateway runs.
    #[must_use]
    pub fn with_exposure(self, findings: Vec<Finding>) -> Self {
        Self { exposure: Some(Arc::new(findings)), ..self }
    }

    /// The same with the accounts at upstream servers that people have connected.
    #[must_use]
    pub fn with_connections(self, connections: Arc<dyn UserGrants>) -> Self {
        Self { connections: Some(connections), ..self }
    }

    /// The same with those who have signed in, where people do.
    #[must_use]
    pub fn with_signed_in(self, signed_in: Option<Arc<dyn SignedIn>>) -> Self {
        Self { signed_in, ..self }
    }

    /// The same with the keys of a store.
    #[must_use]
    pub fn with_keys(self, keys: Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// The same with a page of metrics.
    #[must_use]
    pub fn with_metrics(self, page: Option<MetricsPage>) -> Self {
        Self { metrics: page, ..self }
    }
}

/// All routes of the REST face, with the answer to every path that nobody serves.
pub fn routes(state: Admin) -> Router {
    let router = Router::new().route("/", get(index::index));
    let router = ROUTES.iter().fold(router, |router, route| {
        router.route(route.path, access::permit::only_for(route.needs, (route.handler)()))
    });
    router.method_not_allowed_fallback(index::wrong_method).fallback(index::nothing_here).with_state(state)
}
