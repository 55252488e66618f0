//! The numbers of errors, of JSON-RPC and of MCP.

/// The message is no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no request.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// `params` are wrong.
pub const INVALID_PARAMS: i64 = -32602;
/// Whoever was to carry the request out failed.
pub const INTERNAL: i64 = -32603;
/// A failure of the server's own sort.
pub const SERVER_ERROR: i64 = -32000;
/// There is no such resource, for legacy clients.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Headers and body of a request contradict each other.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The user must open an address first (2025-11-25 only).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// The revision is not known.
pub const UNSUPPORTED_VERSION: i64 = -32022;
