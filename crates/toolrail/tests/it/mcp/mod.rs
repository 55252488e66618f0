//! MCP as clients meet it: the transports, sessions, lists and groups, and the official clients and suites.

mod approvals;
pub(crate) mod clients;
mod conformance;
mod groups;
mod http;
mod listing;
mod stdio;
mod subscriptions;
mod websocket;
