//! Ten lines that make a gateway of your own: everything annotated with `#[tool]` anywhere in this binary is served.

mod notes;
mod tools;

use std::process::ExitCode;

fn main() -> ExitCode {
    toolrail::Gateway::new().name("my-tools").version(env!("CARGO_PKG_VERSION")).run()
}
