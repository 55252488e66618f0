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
mod preview;
mod register;
mod unknown;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use toolrail_registry::Registry;

/// What the REST face works on.
#[derive(Clone)]
pub struct Admin {
    /// The tools.
    pub registry: Arc<Registry>,
    /// The version of the program, for people.
    pub version: &'static str,
    /// Who is recorded as the writer of changes.
    pub writer: &'static str,
}

impl Admin {
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
        .route("/admin/refresh", post(health::refresh))
        .route("/admin/problems", get(health::problems))
        .method_not_allowed_fallback(index::wrong_method)
        .fallback(index::nothing_here)
        .with_state(state)
}
