//! Where things are: the front page, the schema of definitions, and the answers to wrong paths and wrong methods.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode, Uri};
use serde_json::json;
use toolrail_core::ErrorCode;

use crate::Admin;
use crate::asker::Asker;
use crate::failure::{Failure, json as json_answer};

pub(crate) async fn index(State(admin): State<Admin>, Asker(principal): Asker) -> Response {
    let mut body = json!({
        "name": "toolrail",
        "version": admin.version,
        "tools": admin.registry.catalogue(principal.tenant()).tool_count(),
        "endpoints": {
            // A Unix socket serves the same.
            "mcp": ["POST /mcp", "GET /mcp", "DELETE /mcp", "GET /mcp/ws", "GET /sse", "POST /messages"],
            "tools": ["GET /mcp/tools", "POST /mcp/tools/call", "GET /mcp/search", "POST /mcp/search"],
            "admin": [
                "GET /admin/tools",
                "POST /admin/tools",
                "POST /admin/tools/batch",
                "POST /admin/tools/validate",
                "GET /admin/tools/{name}",
                "DELETE /admin/tools/{name}",
                "POST /admin/tools/{name}/preview",
                "POST /admin/tools/{name}/enable",
                "POST /admin/tools/{name}/disable",
                "GET /admin/tools/{name}/history",
                "GET /admin/tools/{name}/history/{version}",
                "GET /admin/tools/{name}/diff",
                "POST /admin/tools/{name}/rollback",
                "GET /admin/history",
                "POST /admin/rollback",
                "GET /admin/audit",
                "GET /admin/audit/verify",
                "GET /admin/export",
                "POST /admin/sync",
                "POST /admin/refresh",
                "GET /admin/stats",
                "GET /admin/problems",
                "GET /admin/learnt",
                "DELETE /admin/learnt",
            ],
            "health": ["GET /healthz", "GET /readyz", "GET /metrics"],
            "schema": ["GET /schema/tool.json"],
        },
    });
    let groups: Vec<String> =
        admin.registry.endpoints().group_names().map(|group| format!("POST /mcp/{group}")).collect();
    if !groups.is_empty() {
        body["endpoints"]["groups"] = json!(groups);
    }
    json_answer(StatusCode::OK, &body)
}

pub(crate) async fn schema(State(admin): State<Admin>) -> Response {
    json_answer(StatusCode::OK, admin.registry.definition_schema())
}

pub(crate) async fn nothing_here(method: Method, uri: Uri) -> Failure {
    let path: String = uri.path().chars().take(200).collect();
    Failure::new(
        ErrorCode::NotFound,
        format!(
            "there is nothing at {method} {path}; MCP is at POST /mcp, the tools at GET /mcp/tools and POST /mcp/tools/call, administration at /admin/tools; GET / lists everything"
        ),
    )
}

pub(crate) async fn wrong_method(method: Method, uri: Uri) -> Failure {
    let path: String = uri.path().chars().take(200).collect();
    let message =
        format!("{path} does not take {method}; the Allow header says what it takes, GET / lists everything");
    Failure { status: StatusCode::METHOD_NOT_ALLOWED, ..Failure::bad_request(message) }
}
