//! `/admin/connections`: the accounts at upstream servers that people have connected.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use toolrail_core::{ErrorCode, StoreError, UserGrants};

use crate::Admin;
use crate::change_request::ChangeRequest;
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;
use crate::requester::Requester;

/// Those that somebody may see: his own, or all if he administers.
pub(crate) async fn list(
    State(admin): State<Admin>,
    Requester(principal): Requester,
) -> Result<Response, Failure> {
    let connections = connections_of(&admin)?.list(&principal).await.map_err(|error| away(&error))?;
    Ok(json_answer(StatusCode::OK, &json!({"connections": connections})))
}

/// Takes one back: its tokens are used no more.
pub(crate) async fn revoke(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(id): Path<String>,
    change: ChangeRequest,
) -> Result<Response, Failure> {
    let revoked = connections_of(&admin)?.revoke(&id, &principal, &change.author).await;
    let Some(connection) = revoked.map_err(|error| away(&error))? else {
        let message = format!("there is no connection {id:?} that you may take back");
        return Err(Failure::new(ErrorCode::NotFound, message));
    };
    Ok(json_answer(StatusCode::OK, &json!({"ok": true, "connection": connection})))
}

fn connections_of(admin: &Admin) -> Result<&Arc<dyn UserGrants>, Failure> {
    let none = || Failure::new(ErrorCode::NotFound, "connections are not kept here");
    admin.connections.as_ref().ok_or_else(none)
}

fn away(error: &StoreError) -> Failure {
    Failure::new(ErrorCode::StoreUnavailable, error.to_string())
}
