//! The kinds: how tools are carried out. `kinds` lists them; one folder each, beside what they share: `template`
//! (request templates), `request` (HTTP requests made from them), `outbound` (the one guarded client) and `answer` (from
//! an upstream's answer to a result).

pub mod answer;
mod feign;
mod http;
mod kinds;
mod mcp;
pub mod outbound;
mod request;
mod template;

pub use kinds::{Runtime, kinds};
