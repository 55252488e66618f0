//! The gateway as its users meet it: the real binary, real upstreams, the real command line.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail it")]

mod admin;
mod admin_refusals;
mod audit;
mod behind;
mod children;
mod cli;
mod cli_errors;
mod clients;
mod commands;
mod conflicts;
mod conformance;
mod demo;
mod examples;
mod export;
mod faults;
mod fleet;
mod fuzz;
mod fuzz_inputs;
mod fuzz_upstream;
mod groups;
mod guard;
mod hardening;
mod history;
mod import;
mod listing;
mod mcp_http;
mod mcp_stdio;
mod mcp_websocket;
mod metrics;
mod readme;
mod relay;
mod replicas;
mod rest;
mod restored;
mod search;
mod serving;
mod sources;
mod store_url;
mod stores;
mod subscriptions;
mod support;
mod sync;
mod sync_api;
mod tenants;
