//! What is served at one address: everything, or everything but the administration, which then has an address of its own.

use axum::body::Body;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use serde_json::json;

/// What is served at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Everything.
    Whole,
    /// Everything but the administration.
    Calls,
}

impl Plane {
    /// Whether what is at that path is served.
    pub(super) fn has(self, path: &str) -> bool {
        self == Self::Whole || !is_administration(path)
    }
}

/// Definitions and how they come about, and figures about the gateway.
pub(super) fn is_administration(path: &str) -> bool {
    path == "/metrics" || path == "/admin" || path.starts_with("/admin/")
}

/// The answer to a request for what is served elsewhere.
pub(super) fn elsewhere() -> Response<Body> {
    let message =
        "the administration of this gateway is not served at this address, but at the one of adminListen";
    let body = json!({"ok": false, "error": {"code": "NOT_FOUND", "message": message}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_administration_alone_may_be_elsewhere() {
        for path in ["/admin", "/admin/tools", "/metrics"] {
            assert!(!Plane::Calls.has(path) && Plane::Whole.has(path), "{path}");
        }
        for path in [
            "/mcp",
            "/mcp/tools",
            "/mcp/tools/call",
            "/sse",
            "/healthz",
            "/readyz",
            "/schema/tool.json",
            "/administer",
        ] {
            assert!(Plane::Calls.has(path), "{path}");
        }
    }
}
