//! Toolrail as a library: the whole gateway with its command line, for binaries that have tools of their own inside. `cli`
//! holds the commands, `assemble` puts the crates together, `demo` is what `serve --demo` shows.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     toolrail::Gateway::new().name("my-tools").version(env!("CARGO_PKG_VERSION")).run()
//! }
//! ```

mod assemble;
mod cli;
mod config;
mod connecting;
mod demo;
mod exposure;
mod identity;
mod issuers;
mod memory;
mod print;
mod program_pages;
mod progress;
mod scripts;
mod semantic;
mod server_file;
mod spare;
mod store_choice;
mod telemetry;

use std::process::ExitCode;

pub use identity::Gateway;
/// Tools, prompts and resources in Rust; the crate `toolrail-tool`.
pub use toolrail_tool as tool;

/// Runs the command line of this process as Toolrail itself.
pub fn run() -> ExitCode {
    Gateway::new().run()
}
