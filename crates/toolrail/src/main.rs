//! Toolrail: one binary between AI agents and the services they use. `cli` holds the commands, `assemble` puts the
//! crates together, `http` serves them, `demo` is what `serve --demo` shows.

mod assemble;
mod cli;
mod config;
mod demo;
mod http;
mod print;
mod server_file;
mod telemetry;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
