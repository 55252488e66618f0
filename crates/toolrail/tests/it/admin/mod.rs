//! The REST interface: calling tools, looking after definitions, and what is recorded of changes.

mod audit;
mod conflicts;
mod definitions;
mod history;
mod refusals;
mod rest;
mod sync_api;
