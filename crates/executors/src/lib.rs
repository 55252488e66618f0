//! The kinds: how tools are carried out, and what prompts and resources are made of. `kinds` lists them, `runtime` is what
//! they need to run; one folder each, beside what they share: `template` (request templates), `request` (HTTP requests made
//! from them), `outbound` (the one guarded client), `answer` (from an upstream's answer to a result), `engine` (the language
//! of templates), `offered` (what is the same for prompts and resources) and `service` (what several definitions share).
//! `meter` counts what evaluations take, `offload` runs the long ones. `embeddings` asks a server for the vectors of texts,
//! for the semantic tier of search.

pub mod answer;
pub mod embeddings;
mod engine;
mod feign;
mod http;
mod kinds;
mod mcp;
mod metadata;
mod meter;
mod offered;
mod offload;
pub mod outbound;
mod percent;
mod prompt;
mod request;
mod resource;
mod runtime;
#[cfg(feature = "scripts")]
mod script;
#[cfg(not(feature = "scripts"))]
mod script_absent;
#[cfg(feature = "scripts")]
mod script_workers;
mod service;
mod template;

pub use kinds::kinds;
pub use mcp::end_programs;
pub use runtime::Runtime;
#[cfg(not(feature = "scripts"))]
use script_absent as script;
#[cfg(not(feature = "scripts"))]
use script_absent as script_workers;
pub use script_workers::Scripts;
pub use service::{Service, Services};
