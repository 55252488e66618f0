//! `POST /admin/tools/{name}/preview`: what a call would send, secrets masked; sends nothing.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::definitions::found;
use crate::failure::{self, Failure};
use crate::path::Path;
use crate::requester::Requester;
use crate::{Admin, body};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PreviewRequest<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

pub(crate) async fn preview(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    Path(name): Path<String>,
    request: Body,
) -> Result<Response, Failure> {
    let bytes = body::read(request, body::ORDINARY).await?;
    let request: PreviewRequest<'_> =
        if bytes.trim_ascii().is_empty() { PreviewRequest::default() } else { body::parse_object(&bytes)? };
    let snapshot = admin.registry.catalogue(&principal);
    let entry = found(&snapshot, &name)?;
    // A tool that is switched off can be looked at all the same: that is when one wants to.
    let Some(tool) = entry.tool() else {
        return Err(match &entry.item {
            Some(item) => Failure::bad_request(format!(
                "{:?} is {}; only calls of tools can be previewed",
                entry.name,
                item.word()
            )),
            None => Failure::bad_definition(entry.problems.clone(), ""),
        });
    };
    let preview = tool.preview(request.arguments, &principal).await?;
    Ok(failure::json(StatusCode::OK, &json!({"ok": true, "preview": preview})))
}
