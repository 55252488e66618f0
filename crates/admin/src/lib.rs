//! The REST face: `/mcp/tools` to list and call, `/admin/…` to register and look after definitions, health. Plain JSON
//! that curl can speak; it knows no MCP.

mod asker;
mod asking;
mod audit;
mod body;
mod call;
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
mod rollback;
mod search;
mod seen;
mod stats;
mod sync;
mod unknown;
mod unread;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use refresh::Refreshing;
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
    pub(crate) writer: &'static str,
    pub(crate) metrics: Option<MetricsPage>,
    pub(crate) refreshing: Arc<Refreshing>,
}

impl Admin {
    /// The tools of that registry; `version` is that of the program, and `writer` the way by
    /// which changes are recorded to come, unless the request says so.
    pub fn new(registry: Arc<Registry>, version: &'static str, writer: &'static str) -> Self {
        Self { registry, version, writer, metrics: None, refreshing: Arc::default() }
    }

    /// The same with a page of metrics.
    #[must_use]
    pub fn with_metrics(self, page: Option<MetricsPage>) -> Self {
        Self { metrics: page, ..self }
    }
}

/// All routes of the REST face, with the answer to every path that nobody serves.
pub fn routes(state: Admin) -> Router {
    Router::new()
        .route("/", get(index::index))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::page))
        .route("/schema/tool.json", get(index::schema))
        .route("/mcp/tools", get(list::list))
        .route("/mcp/tools/call", post(call::call))
        .route("/mcp/search", get(search::by_query).post(search::by_body))
        .route("/admin/tools", get(definitions::list).post(register::one).put(register::one))
        .route("/admin/tools/batch", post(register::batch))
        .route("/admin/tools/validate", post(register::validate))
        .route("/admin/tools/{name}", get(definitions::show).delete(definitions::remove))
        .route("/admin/tools/{name}/preview", post(preview::preview))
        .route("/admin/tools/{name}/enable", post(definitions::enable))
        .route("/admin/tools/{name}/disable", post(definitions::disable))
        .route("/admin/tools/{name}/history", get(history::of_tool))
        .route("/admin/tools/{name}/history/{version}", get(history::one))
        .route("/admin/tools/{name}/diff", get(history::diff))
        .route("/admin/tools/{name}/rollback", post(rollback::tool))
        .route("/admin/history", get(history::all))
        .route("/admin/rollback", post(rollback::all))
        .route("/admin/audit", get(audit::list))
        .route("/admin/audit/verify", get(audit::verify))
        .route("/admin/export", get(export::export))
        .route("/admin/sync", post(sync::sync))
        .route("/admin/refresh", post(refresh::refresh))
        .route("/admin/stats", get(stats::stats))
        .route("/admin/problems", get(health::problems))
        .route("/admin/learnt", get(learnt::show).delete(learnt::forget))
        .method_not_allowed_fallback(index::wrong_method)
        .fallback(index::nothing_here)
        .with_state(state)
}
