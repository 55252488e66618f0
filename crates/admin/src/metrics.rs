//! `GET /metrics`: counters as Prometheus reads them.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use toolrail_core::ErrorCode;

use crate::Admin;
use crate::failure::Failure;

/// The text format of Prometheus.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn page(State(admin): State<Admin>) -> Result<Response, Failure> {
    match &admin.metrics {
        Some(page) => Ok(([(header::CONTENT_TYPE, KIND)], page()).into_response()),
        None => Err(Failure::new(ErrorCode::NotFound, "nothing is counted here; `toolrail serve` counts")),
    }
}
