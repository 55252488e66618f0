//! What goes wrong, and how programs are told: JSON with a code of OAuth's own (RFC 6749, 5.2).

use axum::body::Body;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use toolrail_core::StoreError;

/// The longest description that is told.
const LONGEST: usize = 400;

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{about}")]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// A word of OAuth.
    pub(crate) code: &'static str,
    /// In words; never a secret.
    pub(crate) about: String,
}

impl Failure {
    /// The request cannot be granted.
    pub(crate) fn refused(code: &'static str, about: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code, about: about.into() }
    }

    /// The request is not one.
    pub(crate) fn invalid(about: impl Into<String>) -> Self {
        Self::refused("invalid_request", about)
    }

    /// What would be needed is away.
    pub(crate) fn unavailable(about: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, code: "temporarily_unavailable", about: about.into() }
    }

    /// We are at fault.
    pub(crate) fn internal(about: &str) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, code: "server_error", about: about.to_owned() }
    }

    /// The answer for a program.
    pub(crate) fn told(&self) -> Response<Body> {
        private_json(self.status, &json!({"error": self.code, "error_description": self.description()}))
    }

    /// What is wrong in the letters that OAuth allows.
    pub(crate) fn description(&self) -> String {
        let plain = |letter: char| match letter {
            '"' | '\\' => '\'',
            ' '..='~' => letter,
            _ => '?',
        };
        self.about.chars().take(LONGEST).map(plain).collect()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        tracing::debug!(%error, "the store cannot be used for signing in");
        Self::unavailable("the store of this gateway cannot be used at the moment; try again")
    }
}

/// JSON that nobody keeps.
pub(crate) fn private_json(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = json_answer(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// JSON that anybody may know.
pub(crate) fn public_json(body: &Value) -> Response<Body> {
    let mut response = json_answer(body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn json_answer(body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
