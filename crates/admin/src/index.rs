//! Where things are: the front page, the schema of definitions, and the answers to wrong paths and wrong methods.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode, Uri};
use serde_json::json;
use toolrail_core::ErrorCode;

use crate::Admin;
use crate::failure::{Failure, json as json_answer};
use crate::requester::Requester;
use crate::table::ROUTES;

pub(crate) async fn index(State(admin): State<Admin>, Requester(principal): Requester) -> Response {
    let mut body = json!({
        "name": "toolrail",
        "version": admin.version,
        "tools": admin.registry.catalogue(&principal).tool_count(),
        "endpoints": {
            // A Unix socket serves the same.
            "mcp": ["POST /mcp", "GET /mcp", "DELETE /mcp", "GET /mcp/ws", "GET /sse", "POST /messages"],
        },
    });
    for route in ROUTES {
        let listed = &mut body["endpoints"][route.heading];
        if listed.is_null() {
            *listed = json!([]);
        }
        if let Some(listed) = listed.as_array_mut() {
            listed.push(format!("{} {}", route.method, route.path).into());
        }
    }
    let groups: Vec<String> =
        admin.registry.endpoints().group_names().map(|group| format!("POST /mcp/{group}")).collect();
    if !groups.is_empty() {
        body["endpoints"]["groups"] = json!(groups);
    }
    json_answer(StatusCode::OK, &body)
}

pub(crate) async fn schema(State(admin): State<Admin>) -> Response {
    json_answer(StatusCode::OK, admin.registry.intake().definition_schema())
}

pub(crate) async fn nothing_here(method: Method, uri: Uri) -> Failure {
    let path: String = uri.path().chars().take(200).collect();
    // Where the administration has an address of its own, nobody is sent there from the other one.
    let places = if path.starts_with("/admin") {
        "definitions are at /admin/tools"
    } else {
        "MCP is at POST /mcp, the tools at GET /mcp/tools and POST /mcp/tools/call"
    };
    let message = format!("there is nothing at {method} {path}; {places}; GET / lists everything");
    Failure::new(ErrorCode::NotFound, message)
}

pub(crate) async fn wrong_method(method: Method, uri: Uri) -> Failure {
    let path: String = uri.path().chars().take(200).collect();
    let message =
        format!("{path} does not take {method}; the Allow header says what it takes, GET / lists everything");
    Failure { status: StatusCode::METHOD_NOT_ALLOWED, ..Failure::bad_request(message) }
}
