//! `/admin/approvals`: calls that wait until a person has decided about them.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use toolrail_core::{ErrorCode, Principal};
use toolrail_registry::{ApprovalRecord, ApprovalView, Decision};

use crate::change_request::ChangeRequest;
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;
use crate::requester::Requester;
use crate::{Admin, body};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecideRequest {
    decision: DecisionWord,
    /// Why, for whoever called and for the audit record.
    reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DecisionWord {
    Approve,
    Deny,
}

/// What waits.
pub(crate) async fn list(
    State(admin): State<Admin>,
    Requester(principal): Requester,
) -> Result<Response, Failure> {
    let waiting = admin.registry.approvals().list(&principal).await?;
    let waiting: Vec<ApprovalView<'_>> = waiting.iter().map(ApprovalRecord::view).collect();
    Ok(json_answer(StatusCode::OK, &json!({"approvals": waiting})))
}

/// One of them, with the request that would be sent.
pub(crate) async fn show(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let found = admin.registry.approvals().find(&id, &principal).await?;
    Ok(json_answer(StatusCode::OK, &found.view()))
}

/// Decides about one.
pub(crate) async fn decide(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(id): Path<String>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let DecideRequest { decision, reason } = body::parse_object(&bytes)?;
    let desk = admin.registry.approvals();
    let decision = match decision {
        DecisionWord::Approve => {
            check_current(&admin, &desk.find(&id, &principal).await?)?;
            Decision::Approve
        }
        DecisionWord::Deny => Decision::Deny,
    };
    let decided = desk.decide(&id, (decision, reason.as_deref()), (&principal, &change.author)).await?;
    Ok(json_answer(StatusCode::OK, &json!({"ok": true, "approval": decided.view()})))
}

/// What was shown must still be what would be sent.
fn check_current(admin: &Admin, asked: &ApprovalRecord) -> Result<(), Failure> {
    let viewer = match &asked.tenant {
        Some(tenant) => Principal::of_tenant(tenant).unwrap_or_default(),
        None => Principal::Anonymous,
    };
    let snapshot = admin.registry.catalogue(&viewer);
    let tool =
        snapshot.entry(&asked.tool).filter(|entry| entry.enabled).and_then(|entry| entry.tool().cloned());
    if tool.is_some_and(|tool| tool.approved_version() == Some(&asked.version)) {
        return Ok(());
    }
    let message = format!(
        "the definition of {:?} has changed since the call was made, or was switched off; deny it, and have it called again",
        asked.tool
    );
    Err(Failure::new(ErrorCode::Conflict, message))
}
