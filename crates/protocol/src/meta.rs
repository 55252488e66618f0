//! The members of `_meta` that MCP names, and the extensions.

/// The revision of a modern request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// How the client of a modern request introduces itself.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the client of a modern request can do.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The least grave log messages that the client of a modern request wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// How the server of a modern result introduces itself.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The request that a notification belongs to which was subscribed to with it.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task of 2025-11-25 that a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// What reports of progress are told apart by.
pub const PROGRESS_TOKEN: &str = "progressToken";

/// The extension by which calls run on as tasks.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// The extension by which tools have pages to be shown.
pub const UI: &str = "io.modelcontextprotocol/ui";
