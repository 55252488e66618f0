//! `/admin/sessions`: those who have signed in at the broker, and the key that signs their tokens.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use toolrail_core::{ErrorCode, span_of};
use toolrail_identity::SignedIn;

use crate::Admin;
use crate::body;
use crate::change_request::ChangeRequest;
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;

/// The most that are listed.
const MOST: usize = 1_000;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SigningRequest {
    overlap: Option<String>,
}

/// Those who are signed in, the newest first; nobody where nobody can be.
pub(crate) async fn list(State(admin): State<Admin>, change: ChangeRequest) -> Result<Response, Failure> {
    let mut all = match &admin.signed_in {
        Some(signed_in) => signed_in.sessions(change.tenant.as_deref()).await.map_err(unavailable)?,
        None => Vec::new(),
    };
    let count = all.len();
    all.truncate(MOST);
    Ok(json_answer(StatusCode::OK, &json!({"sessions": all, "count": count})))
}

/// Ends one, or all of one person.
pub(crate) async fn end(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(which): Path<String>,
) -> Result<Response, Failure> {
    let ended = signed_in(&admin)?.end(&which, change.tenant.as_deref(), &change.author).await;
    match ended.map_err(unavailable)? {
        0 => {
            let which: String = which.chars().take(80).collect();
            let message = format!("nobody is signed in under the name or the session {which:?}");
            Err(Failure::new(ErrorCode::NotFound, message))
        }
        ended => Ok(json_answer(StatusCode::OK, &json!({"ok": true, "ended": ended}))),
    }
}

/// Has another key sign.
pub(crate) async fn rotate(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let SigningRequest { overlap } =
        if bytes.trim_ascii().is_empty() { SigningRequest::default() } else { body::parse_object(&bytes)? };
    let overlap = overlap.as_deref().map(span_of).transpose();
    let overlap = overlap.map_err(|wrong| Failure::bad_request(format!("/overlap: {wrong}")))?;
    let seconds = overlap.map(|overlap| overlap.as_secs());
    let rotation = signed_in(&admin)?.rotate(seconds, &change.author).await.map_err(unavailable)?;
    Ok(json_answer(StatusCode::OK, &json!({"ok": true, "rotation": rotation})))
}

fn signed_in(admin: &Admin) -> Result<&dyn SignedIn, Failure> {
    let message = "nobody signs in here: the configuration has no broker";
    admin.signed_in.as_deref().ok_or_else(|| Failure::new(ErrorCode::NotFound, message))
}

fn unavailable(about: String) -> Failure {
    Failure::new(ErrorCode::StoreUnavailable, about)
}
