//! A server with every fixture that the official MCP conformance suites call, written with nothing but the SDK. It is the
//! whole gateway: `serve`, `stdio` and the rest of the command line.

mod asking;
mod changes;
mod content;
mod elicitation;
mod prompts;
mod resources;
mod rounds;
mod streams;
mod tasks;

use std::process::ExitCode;

use toolrail_tool::{Offering, Refused};

fn main() -> Result<ExitCode, Refused> {
    fixtures(Offering::global())?;
    let gateway = toolrail::Gateway::new().name("toolrail-conformance").version(env!("CARGO_PKG_VERSION"));
    Ok(gateway.title("Toolrail conformance fixtures").run())
}

/// What is not annotated.
fn fixtures(offering: &Offering) -> Result<(), Refused> {
    prompts::add(offering)?;
    resources::add(offering)?;
    changes::add(offering)
}
