//! `GET /admin/stats`: figures about the tools that somebody sees, and what listing them costs a model.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use toolrail_registry::{ContextCost, Statistics};

use crate::Admin;
use crate::failure::json;
use crate::requester::Requester;

#[derive(Serialize)]
struct StatsResponse {
    #[serde(flatten)]
    statistics: Statistics,
    context: ContextCost,
    /// How good the numbers of `context` are.
    estimate: &'static str,
}

pub(crate) async fn stats(State(admin): State<Admin>, Requester(principal): Requester) -> Response {
    admin.registry.usage().ready_uses().await;
    let snapshot = admin.registry.catalogue(&principal);
    let statistics = Statistics::of(&snapshot, principal.tenant(), admin.registry.usage());
    // What a client at `/mcp` is shown.
    let seen = admin.registry.catalogue_at(&principal, admin.registry.endpoints().main());
    let answer = StatsResponse { statistics, context: seen.context_cost(), estimate: ContextCost::ESTIMATE };
    json(StatusCode::OK, &answer)
}
