//! Going back to how one definition, or all of them, were.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use toolrail_core::{Author, Revision, Way};
use toolrail_registry::{Covers, RollbackOutcome, RolledBack};

use crate::change_request::{ChangeRequest, with_version};
use crate::failure::{Failure, json as json_answer};
use crate::path::Path;
use crate::sync::{Counts, steps};
use crate::{Admin, body, unread};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRequest {
    to: Revision,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AllRequest {
    to_revision: Revision,
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn tool(
    State(admin): State<Admin>,
    change: ChangeRequest,
    Path(name): Path<String>,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let ToolRequest { to } = body::parse_object(&bytes)?;
    let author = author(&change, to);
    let RolledBack { done, from, outcome, warnings } =
        admin.registry.changes().roll_back(&change.which(&name), to, &author).await?;
    let snapshot = admin.registry.catalogue(change.tenant.as_deref());
    let state = match done.version {
        None => "purged",
        Some(_) => unread::state_after(&snapshot, snapshot.entry(&done.name), done.revision),
    };
    let mut body = json!({
        "ok": true, "name": done.name, "status": word(outcome), "state": state, "from": from, "to": to,
        "revision": done.revision, "version": done.version, "warnings": warnings,
    });
    unread::add_note(&mut body, &snapshot, done.revision);
    Ok(with_version(json_answer(StatusCode::OK, &body), done.version))
}

/// Who asks; the way says where to, unless the request says that it comes by another.
fn author(change: &ChangeRequest, to: Revision) -> Author {
    let way = Way::Rollback.word();
    let mut author = change.author_by(Way::Rollback);
    if author.via == way {
        author.via = format!("{way} to {to}");
    }
    author
}

fn word(outcome: RollbackOutcome) -> &'static str {
    match outcome {
        RollbackOutcome::Restored => "restored",
        RollbackOutcome::Removed => "removed",
        RollbackOutcome::Unchanged => "unchanged",
    }
}

/// All definitions; of the tenant only, if the request is for one.
pub(crate) async fn all(
    State(admin): State<Admin>,
    change: ChangeRequest,
    request: Body,
) -> Result<Response, Failure> {
    change.unconditional()?;
    let bytes = body::read(request, body::ORDINARY).await?;
    let AllRequest { to_revision, dry_run } = body::parse_object(&bytes)?;
    let covers = change.tenant.as_deref().map_or(Covers::All, |tenant| Covers::one(Some(tenant)));
    let (plan, revision) = if dry_run {
        (
            admin.registry.changes().plan_rollback(to_revision, &covers).await?,
            admin.registry.snapshot().revision,
        )
    } else {
        admin.registry.changes().roll_back_all(to_revision, &covers, &author(&change, to_revision)).await?
    };
    let body = json!({
        "ok": true, "dryRun": dry_run, "toRevision": to_revision, "revision": revision,
        "counts": Counts::of(&plan, 0), "plan": steps(&plan, |_| None),
    });
    Ok(json_answer(StatusCode::OK, &body))
}
