//! `/admin/keys`: the keys of clients. The text of one is told once, when it is made or rotated.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use toolrail_core::{ErrorCode, Role, span_of};
use toolrail_identity::{KeyError, KeyText, KeyView, Keyring, NewKey, RecordFollower};

use crate::Admin;
use crate::body;
use crate::change_request::ChangeRequest;
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;

/// How long the text before a rotation stays good, if nothing is said.
const OVERLAP: Duration = Duration::from_hours(24);

/// The keys of a store, and those who hold them.
#[derive(Clone)]
pub struct Keys {
    /// Makes and revokes them.
    pub keyring: Arc<Keyring>,
    /// Brings changes to those who let their holders in; at once to those here.
    pub follower: Arc<RecordFollower>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CreateRequest {
    name: String,
    role: Role,
    tenant: Option<String>,
    /// All tools if left out.
    tools: Option<Vec<String>>,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
    expires_in: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RotateRequest {
    overlap: Option<String>,
}

/// Makes a key.
pub(crate) async fn create(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let CreateRequest { name, role, tenant, tools, groups, scopes, expires_in } = body::parse_object(&bytes)?;
    if change.tenant.is_some() && tenant.is_some() && tenant != change.tenant {
        let message = "a key of one tenant makes keys of that tenant only; leave \"tenant\" out";
        return Err(Failure::new(ErrorCode::Forbidden, message));
    }
    if tools.as_ref().is_some_and(Vec::is_empty) {
        let message = "/tools: a key without any tool is good for nothing; name patterns, or leave it out for all tools";
        return Err(Failure::bad_request(message));
    }
    let tools = tools.unwrap_or_default();
    let keys = keys_of(&admin)?;
    let tenant = change.tenant.clone().or(tenant);
    let expires_in =
        expires_in.as_deref().map(span_of).transpose().map_err(|wrong| at("expiresIn", &wrong))?;
    let new = NewKey { name, role, tenant, tools, groups, scopes, expires_in };
    let (text, view) = keys.keyring.create(new, &change.author).await.map_err(failure)?;
    keys.hear().await;
    Ok(told(StatusCode::CREATED, &text, &view))
}

/// The keys there are.
pub(crate) async fn list(State(admin): State<Admin>, change: ChangeRequest) -> Result<Response, Failure> {
    let keys = keys_of(&admin)?.keyring.list(change.tenant.as_deref()).await.map_err(failure)?;
    Ok(json_answer(StatusCode::OK, &json!({"keys": keys})))
}

/// One of them.
pub(crate) async fn show(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    let view = keys_of(&admin)?.keyring.show(change.tenant.as_deref(), &name).await.map_err(failure)?;
    Ok(json_answer(StatusCode::OK, &view))
}

/// Gives a key a new text.
pub(crate) async fn rotate(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let RotateRequest { overlap } =
        if bytes.trim_ascii().is_empty() { RotateRequest::default() } else { body::parse_object(&bytes)? };
    let overlap = overlap.as_deref().map(span_of).transpose().map_err(|wrong| at("overlap", &wrong))?;
    let keys = keys_of(&admin)?;
    let which = (change.tenant.as_deref(), name.as_str());
    let rotated = keys.keyring.rotate(which, overlap.unwrap_or(OVERLAP), &change.author).await;
    let (text, view) = rotated.map_err(failure)?;
    keys.hear().await;
    Ok(told(StatusCode::OK, &text, &view))
}

/// Ends a key.
pub(crate) async fn revoke(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    let keys = keys_of(&admin)?;
    keys.keyring.revoke(change.tenant.as_deref(), &name, &change.author).await.map_err(failure)?;
    keys.hear().await;
    Ok(json_answer(StatusCode::OK, &json!({"ok": true, "name": name, "status": "revoked"})))
}

impl Keys {
    /// Here, a change holds from now on; on other replicas within a second.
    async fn hear(&self) {
        if let Err(error) = self.follower.look().await {
            tracing::warn!(%error, "keys were changed, but could not be read back yet");
        }
    }
}

pub(super) fn keys_of(admin: &Admin) -> Result<&Keys, Failure> {
    admin.keys.as_ref().ok_or_else(|| Failure::new(ErrorCode::NotFound, "keys are not kept here"))
}

fn told(status: StatusCode, text: &KeyText, view: &KeyView) -> Response {
    json_answer(status, &json!({"ok": true, "key": text.reveal(), "about": view}))
}

fn at(member: &str, wrong: &dyn std::fmt::Display) -> Failure {
    Failure::bad_request(format!("/{member}: {wrong}"))
}

pub(super) fn failure(error: KeyError) -> Failure {
    let code = match &error {
        KeyError::Name(_)
        | KeyError::Tenant(_)
        | KeyError::Tools(_)
        | KeyError::Words(_)
        | KeyError::NoTime => ErrorCode::InvalidRequest,
        KeyError::Taken(_) | KeyError::Busy(_) | KeyError::Expired(_) | KeyError::Texts(_) => {
            ErrorCode::Conflict
        }
        KeyError::Unknown(_) => ErrorCode::NotFound,
        KeyError::NoRoom => ErrorCode::TooLarge,
        KeyError::Randomness(_) => ErrorCode::Internal,
        KeyError::Store(_) => ErrorCode::StoreUnavailable,
    };
    Failure::new(code, error.to_string())
}
