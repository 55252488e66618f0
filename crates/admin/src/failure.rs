//! Answers that say no: `{ok: false, error: {code, message, advice}}` with the status of the code, and the problems of a
//! definition where there are any. The advice is there if the message has some.

use std::fmt;

use axum::extract::rejection::QueryRejection;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;
use toolrail_core::{CallError, ErrorCode, Problem, Severity, StoreError};
use toolrail_registry::WriteError;

use crate::advice::Advice;
use crate::conflict::ConflictBody;

/// Why a request was not carried out.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: CallError,
    pub(crate) status: StatusCode,
    pub(crate) problems: Vec<Problem>,
    /// What the message advises.
    pub(crate) advice: Option<Box<Advice>>,
    /// Both sides, where somebody else was faster.
    pub(crate) conflict: Option<Box<ConflictBody>>,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::from(CallError::new(code, message))
    }

    /// The fault and what to do about it.
    pub(crate) fn advised(code: ErrorCode, advice: Advice) -> Self {
        Self { advice: Some(Box::new(advice.clone())), ..Self::new(code, advice.to_string()) }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// A query string that cannot be read; `known` says what may stand there.
    pub(crate) fn bad_query(rejection: &QueryRejection, known: &str) -> Self {
        // The outer texts only say that something about the query string failed.
        let mut cause: &dyn std::error::Error = rejection;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let cause = cause.to_string();
        // What serde expects is every name that is read, old ones among them; what is known here is said once.
        let cause = cause.split_once(", expected one of ").map_or(&*cause, |(told, _)| told);
        Self::bad_request(format!("the query string is wrong: {cause}; known here: {known}"))
    }

    /// A definition that was refused, with everything wrong about it.
    pub(crate) fn bad_definition(problems: Vec<Problem>, base: &str) -> Self {
        let code = refusal_code(&problems, base);
        let errors: Vec<&Problem> =
            problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        let message = match errors.as_slice() {
            [] => "the definition was refused".to_owned(),
            [only] => told(only),
            [first, rest @ ..] => format!("{} (and {} more, see problems)", told(first), rest.len()),
        };
        Self { problems, ..Self::new(code, message) }
    }
}

fn told(problem: &Problem) -> String {
    match problem.pointer.as_str() {
        "" => problem.message.clone(),
        pointer => format!("{pointer}: {}", problem.message),
    }
}

/// A kind that does not exist has a code of its own.
fn refusal_code(problems: &[Problem], base: &str) -> ErrorCode {
    let is_kind = |problem: &Problem| {
        let place = problem.pointer.strip_prefix(base);
        problem.severity == Severity::Error && matches!(place, Some("/type" | "/transport"))
    };
    if problems.iter().any(is_kind) { ErrorCode::UnsupportedType } else { ErrorCode::InvalidDefinition }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.error.code, self.error.message)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { error, status, problems: Vec::new(), advice: None, conflict: None }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let message = error.to_string();
        let advice = Advice::of(&error).map(Box::new);
        let code = match error {
            WriteError::Refused(problems) => return Self::bad_definition(problems, ""),
            WriteError::Conflict(conflict) => {
                let conflict = Some(Box::new(ConflictBody::from(*conflict)));
                return Self { conflict, ..Self::new(ErrorCode::Conflict, message) };
            }
            WriteError::NotFound(_)
            | WriteError::NoHistory(_)
            | WriteError::NoVersion { .. }
            | WriteError::NoRevision { .. }
            | WriteError::Store(StoreError::Forgotten { .. }) => ErrorCode::NotFound,
            WriteError::Elsewhere { .. } | WriteError::Shared { .. } | WriteError::Contradicted(_) => {
                ErrorCode::Conflict
            }
            WriteError::Store(StoreError::Refused { .. }) => ErrorCode::InvalidDefinition,
            WriteError::Store(store) => {
                tracing::error!(error = %store, "store failed");
                let is_unknown = matches!(store, StoreError::Unknown { .. });
                if is_unknown { ErrorCode::OutcomeUnknown } else { ErrorCode::StoreUnavailable }
            }
        };
        Self { advice, ..Self::new(code, message) }
    }
}

#[derive(Serialize)]
struct FailureBody<'a> {
    ok: bool,
    error: ErrorBody<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'a [Problem],
    #[serde(flatten)]
    conflict: Option<&'a ConflictBody>,
}

/// `error` of an answer.
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    code: ErrorCode,
    message: &'a str,
    /// What the message advises, in parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'a Advice>,
}

impl<'a> ErrorBody<'a> {
    pub(crate) fn with(self, advice: Option<&'a Advice>) -> Self {
        Self { advice, ..self }
    }
}

impl<'a> From<&'a CallError> for ErrorBody<'a> {
    fn from(error: &'a CallError) -> Self {
        Self { code: error.code, message: &error.message, advice: None }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = FailureBody {
            ok: false,
            error: ErrorBody::from(&self.error).with(self.advice.as_deref()),
            problems: &self.problems,
            conflict: self.conflict.as_deref(),
        };
        let mut answer = json(self.status, &body);
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            answer.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        answer
    }
}

/// An answer with a JSON body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => json_bytes(status, bytes),
        Err(error) => {
            tracing::error!(%error, "answer could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// An answer whose body is JSON already.
pub(crate) fn json_bytes(status: StatusCode, body: impl Into<axum::body::Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}
