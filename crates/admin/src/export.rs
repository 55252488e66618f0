//! `GET /admin/export`: every definition of the store, in an order that does not change, ready to be sent to
//! `POST /admin/sync`.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use toolrail_core::{Revision, Row};
use toolrail_registry::stored_form;

use crate::Admin;
use crate::failure::{Failure, json as json_answer};
use crate::requester::Requester;

#[derive(Serialize)]
struct Export {
    revision: Revision,
    tools: Vec<Exported>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    name: String,
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    config_json: Box<RawValue>,
}

/// All definitions; those of the tenant only, if the request is for one.
pub(crate) async fn export(
    State(admin): State<Admin>,
    Requester(principal): Requester,
) -> Result<Response, Failure> {
    let (revision, rows) = admin.registry.changes().rows().await?;
    let meant = |row: &Row| principal.tenant().is_none() || row.tenant.as_deref() == principal.tenant();
    let tools =
        tokio::task::block_in_place(|| rows.into_values().filter(meant).filter_map(exported).collect());
    Ok(json_answer(StatusCode::OK, &Export { revision, tools }))
}

/// A text that is not JSON is exported as a text, which is refused where it is sent back, and told there.
fn exported(row: Row) -> Option<Exported> {
    let Row { tenant, name, enabled, config_json, .. } = row;
    // A second word in the document would be overruled where this is sent back.
    if config_json.contains("\"enabled\"") {
        let mut form = stored_form(enabled, &config_json);
        if form.get("definition").is_none() {
            let enabled = form["enabled"].as_bool().unwrap_or(enabled);
            form.as_object_mut()?.shift_remove("enabled");
            return Some(Exported { name, enabled, tenant, config_json: to_raw_value(&form).ok()? });
        }
    }
    let config_json = match serde_json::from_str(&config_json) {
        Ok(document) => document,
        Err(_) => to_raw_value(&config_json).ok()?,
    };
    Some(Exported { name, enabled, tenant, config_json })
}
