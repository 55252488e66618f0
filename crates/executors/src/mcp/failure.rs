//! Why a server did not answer: whether only this request failed, its session is gone, or the server itself is away.

use toolrail_core::{CallError, ErrorCode};

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// This request failed; others may well succeed.
    Call(CallError),
    /// The server answered with this HTTP status and nothing that could be read as an answer.
    Status(u16, CallError),
    /// The server no longer knows the session (404); begin a new one.
    SessionGone,
    /// The server cannot be reached, or the connection broke.
    Lost(CallError),
}

impl Failure {
    /// The server was reached but what it said cannot be used.
    pub(super) fn unusable(message: String) -> Self {
        Self::Call(CallError::new(ErrorCode::UpstreamInvalid, message))
    }

    /// The connection broke.
    pub(super) fn lost(message: String) -> Self {
        Self::Lost(CallError::new(ErrorCode::UpstreamUnreachable, message))
    }

    /// No answer came in time.
    pub(super) fn late(message: String) -> Self {
        Self::Call(CallError::new(ErrorCode::Timeout, message))
    }

    /// Whether the server does not want whoever asks.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Status(401 | 403, _))
    }

    /// Whether the server does not take the token.
    pub(super) fn is_unauthorised(&self) -> bool {
        matches!(self, Self::Status(401, _))
    }

    pub(super) fn into_error(self) -> CallError {
        match self {
            Self::Call(error) | Self::Status(_, error) | Self::Lost(error) => error,
            Self::SessionGone => CallError::new(
                ErrorCode::UpstreamUnreachable,
                "the server forgot the session again right after it was renewed; look into its log",
            ),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error.code {
            ErrorCode::UpstreamUnreachable => Self::Lost(error),
            _ => Self::Call(error),
        }
    }
}
