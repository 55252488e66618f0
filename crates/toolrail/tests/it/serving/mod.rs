//! How the gateway starts, stops and follows its configuration, whom it serves, and what operators see of it.

mod demo;
mod guard;
mod lifecycle;
mod metrics;
mod reload;
mod supplied;
mod tenants;
