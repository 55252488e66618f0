//! `/admin/learnt`: what was learnt from the use of tools, to be looked at and to be forgotten. Queries are what users wrote.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolrail_core::{ErrorCode, Forget, ToolKey, ToolName};

use crate::Admin;
use crate::failure::{Failure, json as json_answer};
use crate::requester::Requester;

/// The most tools of one answer.
const MOST: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LearntQuery {
    /// About that tool only.
    tool: Option<String>,
    /// What was learnt from every tenant.
    #[serde(default)]
    all_tenants: bool,
}

#[derive(Serialize)]
struct About {
    tool: String,
    queries: Vec<Past>,
}

#[derive(Serialize)]
struct Past {
    query: String,
    /// In how many conversations the tool was called after it.
    times: u32,
}

/// What was learnt from those who ask like this: the calls of a tenant, or of those without one.
pub(crate) async fn show(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    query: Result<Query<LearntQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, "tool=NAME"))?;
    if query.all_tenants {
        return Err(Failure::bad_request("allTenants=true is for forgetting; ask for one tenant at a time"));
    }
    admin.registry.usage().ready_uses().await;
    let learnt = admin.registry.usage().learnt_about(principal.tenant(), query.tool.as_deref(), MOST);
    let about = |(tool, queries): (String, Vec<(String, u32)>)| {
        let queries = queries.into_iter().map(|(query, times)| Past { query, times }).collect();
        About { tool, queries }
    };
    let tools: Vec<About> = learnt.into_iter().map(about).collect();
    Ok(json_answer(StatusCode::OK, &json!({"learning": admin.registry.usage().learns(), "tools": tools})))
}

fn nothing_learnt(what: &Forget) -> String {
    match what {
        Forget::Tools(tools) => {
            let names: Vec<String> = tools.iter().map(|tool| format!("{:?}", tool.name)).collect();
            format!("nothing learnt about {} was in the store", names.join(", "))
        }
        Forget::Tenant(_) | Forget::Everything | Forget::Unused { .. } => {
            "nothing learnt was in the store".to_owned()
        }
    }
}

/// Forgets it, here and on every replica.
pub(crate) async fn forget(
    State(admin): State<Admin>,
    Requester(principal): Requester,
    query: Result<Query<LearntQuery>, QueryRejection>,
) -> Result<Response, Failure> {
    let known = "tool=NAME, allTenants=true|false";
    let Query(query) = query.map_err(|error| Failure::bad_query(&error, known))?;
    let tenant = principal.tenant();
    let what = match (query.tool, query.all_tenants, tenant) {
        (_, true, Some(tenant)) => {
            let message = format!("allTenants=true is not for a request of one tenant, {tenant:?}");
            return Err(Failure::bad_request(message));
        }
        (Some(_), true, None) => {
            return Err(Failure::bad_request("tool and allTenants=true do not go together; leave one out"));
        }
        (None, true, None) => Forget::Everything,
        (None, false, tenant) => Forget::Tenant(tenant.map(str::to_owned)),
        (Some(tool), false, tenant) => {
            Forget::Tools(vec![ToolKey { tenant: tenant.map(str::to_owned), name: ToolName::fold(&tool) }])
        }
    };
    let forgotten = admin.registry.usage().forget_learnt(&what).await;
    let tools = forgotten.map_err(|error| Failure::new(ErrorCode::StoreUnavailable, error.to_string()))?;
    tracing::info!(tools, "what was learnt from queries was forgotten");
    let mut answer = json!({"ok": true, "tools": tools});
    if tools == 0 {
        answer["message"] = nothing_learnt(&what).into();
    }
    Ok(json_answer(StatusCode::OK, &answer))
}
