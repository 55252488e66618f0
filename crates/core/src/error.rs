//! The one table of error codes that users see: a word for REST and the CLI, a number for JSON-RPC, a status for HTTP.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use toolrail_protocol::code;

/// Why a request or a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// No enabled tool has that name.
    NotFound,
    /// The arguments do not fit the tool's input schema, or a value cannot be placed where it must go.
    InvalidArguments,
    /// The request itself is malformed.
    InvalidRequest,
    /// A definition has errors, and the problems say which; or a rule of the database forbids it.
    InvalidDefinition,
    /// The change contradicts what is there.
    Conflict,
    /// The caller must say who he is, with a key that is known.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// A person has yet to approve of the call.
    ApprovalPending,
    /// A person did not approve of the call.
    ApprovalDenied,
    /// More bytes than the limit allows.
    TooLarge,
    /// The definition's `type` is not one of the kinds.
    UnsupportedType,
    /// The call did not finish in the time it was given.
    Timeout,
    /// The upstream could not be reached or broke the connection.
    UpstreamUnreachable,
    /// The upstream answered with an error status.
    UpstreamStatus,
    /// The upstream answered something that cannot be used.
    UpstreamInvalid,
    /// The tool itself says that it failed.
    ToolFailed,
    /// A secret the definition names has no value here.
    SecretMissing,
    /// A variable the definition names has no value here.
    VarMissing,
    /// The store cannot be reached, or fails.
    StoreUnavailable,
    /// The store was lost in the middle of a write: the change may have been made, or not.
    OutcomeUnknown,
    /// Too many bytes are in flight.
    Overloaded,
    /// A fault of ours.
    Internal,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 22] = [
        Self::NotFound,
        Self::InvalidArguments,
        Self::InvalidRequest,
        Self::InvalidDefinition,
        Self::Conflict,
        Self::Unauthorized,
        Self::Forbidden,
        Self::ApprovalPending,
        Self::ApprovalDenied,
        Self::TooLarge,
        Self::UnsupportedType,
        Self::Timeout,
        Self::UpstreamUnreachable,
        Self::UpstreamStatus,
        Self::UpstreamInvalid,
        Self::ToolFailed,
        Self::SecretMissing,
        Self::VarMissing,
        Self::StoreUnavailable,
        Self::OutcomeUnknown,
        Self::Overloaded,
        Self::Internal,
    ];

    /// The key under which an error result of MCP has the word in `_meta`.
    pub const META_KEY: &'static str = "toolrail/code";

    /// The code of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.word() == word)
    }

    /// The word in REST answers and in the CLI.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotFound => "NOT_FOUND",
            Self::InvalidArguments => "INVALID_ARGUMENTS",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::InvalidDefinition => "INVALID_DEFINITION",
            Self::Conflict => "CONFLICT",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::ApprovalPending => "APPROVAL_PENDING",
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::TooLarge => "TOO_LARGE",
            Self::UnsupportedType => "UNSUPPORTED_TYPE",
            Self::Timeout => "TIMEOUT",
            Self::UpstreamUnreachable => "UPSTREAM_UNREACHABLE",
            Self::UpstreamStatus => "UPSTREAM_STATUS",
            Self::UpstreamInvalid => "UPSTREAM_INVALID",
            Self::ToolFailed => "TOOL_FAILED",
            Self::SecretMissing => "SECRET_MISSING",
            Self::VarMissing => "VAR_MISSING",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::OutcomeUnknown => "OUTCOME_UNKNOWN",
            Self::Overloaded => "OVERLOADED",
            Self::Internal => "INTERNAL",
        }
    }

    /// The HTTP status of a REST answer.
    pub const fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::InvalidArguments | Self::InvalidRequest => 400,
            Self::InvalidDefinition | Self::UnsupportedType => 422,
            Self::Conflict | Self::ApprovalPending => 409,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::ApprovalDenied => 403,
            Self::TooLarge => 413,
            Self::Timeout | Self::OutcomeUnknown => 504,
            Self::UpstreamUnreachable | Self::UpstreamStatus | Self::UpstreamInvalid | Self::ToolFailed => {
                502
            }
            Self::SecretMissing | Self::VarMissing | Self::Internal => 500,
            Self::StoreUnavailable | Self::Overloaded => 503,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A call that produced no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What sort of failure it is.
    pub code: ErrorCode,
    /// What happened and what to do about it; never contains a secret.
    pub message: String,
    /// The JSON-RPC error that clients of MCP get instead of an error result, where the request itself is at fault or an
    /// upstream server said so.
    pub rpc: Option<Box<RpcError>>,
    /// Whether it is about a field of the definition, which the message names; whoever knows the tool adds its name.
    pub is_about_definition: bool,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// What happened.
    pub message: String,
    /// More about it.
    pub data: Option<Value>,
}

impl RpcError {
    /// `params` are wrong.
    pub const INVALID_PARAMS: i64 = code::INVALID_PARAMS;
    /// Whoever was to carry the request out failed.
    pub const INTERNAL: i64 = code::INTERNAL;
    /// The client lacks a capability that the request needs.
    pub const MISSING_CAPABILITY: i64 = code::MISSING_CAPABILITY;
}

impl CallError {
    /// What a message has at most, in bytes; whatever it repeats, it stays something to read.
    const LONGEST: usize = 16 << 10;

    /// A failure of that sort, in those words.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > Self::LONGEST {
            message.truncate(message.floor_char_boundary(Self::LONGEST));
            message.push('…');
        }
        Self { code, message, rpc: None, is_about_definition: false }
    }

    /// A failure at a field of the definition, by its JSON pointer.
    pub fn at_field(code: ErrorCode, pointer: &str, message: impl fmt::Display) -> Self {
        Self::new(code, format!("{pointer}: {message}")).about_definition()
    }

    /// The same for a message that names the field already.
    #[must_use]
    pub fn about_definition(self) -> Self {
        Self { is_about_definition: true, ..self }
    }

    /// The same with the name of the tool, prompt or resource before it, where it is about a field of its definition: its
    /// reader may not know which was used, and an operator must find the field.
    #[must_use]
    pub fn naming(self, name: &str) -> Self {
        if !self.is_about_definition {
            return self;
        }
        Self { message: format!("{name}: {}", self.message), is_about_definition: false, ..self }
    }

    /// The same, told to MCP clients as that JSON-RPC error.
    #[must_use]
    pub fn with_rpc(self, rpc: RpcError) -> Self {
        Self { rpc: Some(Box::new(rpc)), ..self }
    }

    /// The request is at fault: −32602 for MCP clients.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        let error = Self::new(ErrorCode::InvalidRequest, message);
        let message = error.message.clone();
        error.with_rpc(RpcError { code: RpcError::INVALID_PARAMS, message, data: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_short_whatever_it_repeats() {
        let uri = "ü".repeat(500_000);
        for error in [
            CallError::new(ErrorCode::NotFound, format!("no {uri}")),
            CallError::invalid_params(format!("no {uri}")),
        ] {
            assert!(error.message.starts_with("no üü") && error.message.ends_with('…'));
            assert!(error.message.len() <= CallError::LONGEST + '…'.len_utf8());
            assert!(error.rpc.is_none_or(|rpc| rpc.message == error.message));
        }
    }
}
