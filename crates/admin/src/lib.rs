//! The REST face: `/mcp/tools` to list and call, `/admin/…` to register and look after definitions, health. Plain JSON
//! that curl can speak; it knows no MCP.

mod asker;
mod body;
mod call;
mod definitions;
mod failure;
mod health;
mod index;
mod list;
mod metrics;
mod preview;
mod refresh;
mod register;
mod unknown;

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
    /// Who is recorded as the writer of changes.
    pub(crate) writer: &'static str,
    pub(crate) metrics: Option<MetricsPage>,
    pub(crate) refreshing: Arc<Refreshing>,
}

impl Admin {
    /// The tools of that registry; `version` is that of the program, and `writer` is recorded as who makes changes.
    pub fn new(registry: Arc<Registry>, version: &'static str, writer: &'static str) -> Self {
        Self { registry, version, writer, metrics: None, refreshing: Arc::default() }
    }

    /// The same with a page of metrics.
    #[must_use]
    pub fn with_metrics(self, page: Option<MetricsPage>) -> Self {
        Self { metrics: page, ..self }
    }

    /// Who makes the change that a request asks for.
    pub(crate) fn author(&self) -> toolrail_core::Author {
        toolrail_core::Author { who: self.writer.to_owned(), address: None, via: self.writer.to_owned() }
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
        .route("/admin/tools", get(definitions::list).post(register::one).put(register::one))
        .route("/admin/tools/batch", post(register::batch))
        .route("/admin/tools/validate", post(register::validate))
        .route("/admin/tools/{name}", get(definitions::show).delete(definitions::remove))
        .route("/admin/tools/{name}/preview", post(preview::preview))
        .route("/admin/tools/{name}/enable", post(definitions::enable))
        .route("/admin/tools/{name}/disable", post(definitions::disable))
        .route("/admin/refresh", post(refresh::refresh))
        .route("/admin/problems", get(health::problems))
        .method_not_allowed_fallback(index::wrong_method)
        .fallback(index::nothing_here)
        .with_state(state)
}
