//! The gateway as its users meet it: the real binary, real upstreams, the real command line. Each folder has the tests of one
//! concern.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail it")]

mod admin;
mod bounds;
mod broker;
mod cli;
mod documents;
mod identity;
mod mcp;
mod replicas;
mod scripts;
mod search;
mod serving;
mod stores;
mod support;
mod tls;
mod upstream;
mod users;
