//! Where the MCP face is reached: `/mcp` and its doors, and the same for each group under `/mcp/{group}`.

use std::sync::Arc;

use serde_json::json;
use toolrail_core::shortened;
use toolrail_registry::Endpoint;

use crate::reply::{Code, Fault};
use crate::server::Server;

/// The path of Streamable HTTP. That of a group is below it.
pub const ENDPOINT: &str = "/mcp";
pub(super) const WEBSOCKET: &str = "/mcp/ws";
pub(super) const EVENTS: &str = "/sse";
pub(super) const MESSAGES: &str = "/messages";

pub(super) const GROUP_WEBSOCKET: &str = "/mcp/{group}/ws";
pub(super) const GROUP_EVENTS: &str = "/mcp/{group}/sse";
pub(super) const GROUP_MESSAGES: &str = "/mcp/{group}/messages";

/// In the data of an error: the group that is not there.
pub(super) const UNKNOWN_GROUP: &str = "unknownGroup";

/// Words that mean something else below `/mcp/`, so that no group can be called that.
pub const TAKEN: &[&str] =
    &["tools", "search", "stats", "categories", "prompts", "resources", "ws", "sse", "messages", "groups"];

/// Whether a path is one of Streamable HTTP: `/mcp`, or that of a group, be there one or not.
pub fn is_endpoint(path: &str) -> bool {
    path == ENDPOINT || group_of(path).is_some_and(|(_, door)| door.is_none())
}

/// Whether clients of MCP speak to that path, who read JSON-RPC only.
pub fn speaks_mcp(path: &str) -> bool {
    [ENDPOINT, WEBSOCKET, EVENTS, MESSAGES].contains(&path)
        || group_of(path)
            .is_some_and(|(_, door)| door.is_none_or(|door| ["ws", "sse", "messages"].contains(&door)))
}

/// Where messages for a connection of that endpoint are sent.
pub(super) fn messages_of(endpoint: &Endpoint) -> String {
    endpoint
        .group
        .as_ref()
        .map_or_else(|| MESSAGES.to_owned(), |group| format!("{ENDPOINT}/{group}/messages"))
}

/// The group in a path, and what is behind it.
fn group_of(path: &str) -> Option<(&str, Option<&str>)> {
    let rest = path.strip_prefix(ENDPOINT)?.strip_prefix('/')?;
    let (group, door) = rest.split_once('/').map_or((rest, None), |(group, door)| (group, Some(door)));
    (!group.is_empty() && !TAKEN.contains(&group)).then_some((group, door))
}

impl Server {
    /// The endpoint that a path belongs to; a fault if it names a group that is not there.
    pub(super) fn endpoint_at(&self, path: &str) -> Result<&Arc<Endpoint>, Fault> {
        let endpoints = self.registry.endpoints();
        let group = if path == ENDPOINT { None } else { group_of(path).map(|(group, _)| group) };
        endpoints.of(group).ok_or_else(|| {
            let names: Vec<&str> = endpoints.group_names().collect();
            let known = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
            let name = shortened(group.unwrap_or_default());
            let message = format!("there is no group {name:?}; groups: {known}; all tools are at {ENDPOINT}");
            let data = json!({UNKNOWN_GROUP: name});
            Fault::new(Code::InvalidRequest, message).with_status(404).with_data(data)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_below_the_endpoint_beside_words_that_are_taken() {
        for path in ["/mcp", "/mcp/git", "/mcp/x-1"] {
            assert!(is_endpoint(path) && speaks_mcp(path), "{path}");
        }
        for path in ["/mcp/ws", "/sse", "/messages", "/mcp/git/ws", "/mcp/git/sse", "/mcp/git/messages"] {
            assert!(!is_endpoint(path) && speaks_mcp(path), "{path}");
        }
        for path in
            ["/mcp/tools", "/mcp/tools/call", "/mcp/search", "/mcp/", "/mcpx", "/mcp/git/x", "/admin/git"]
        {
            assert!(!is_endpoint(path) && !speaks_mcp(path), "{path}");
        }
    }
}
