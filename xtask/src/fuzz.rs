//! `cargo xtask fuzz`: the property tests of the normal run again and again with fresh seeds and many more cases.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::{Workspace, cargo, run as run_command};

/// The properties, and how many cases of each make one round: input to the server, what a call may take, and schemas
/// against jsonschema.
const TARGETS: &[(&str, &[&str])] = &[
    ("3000", &["toolrail", "--test", "it", "bounds::fuzz::"]),
    ("500", &["toolrail", "--test", "costs"]),
    ("500", &["toolrail-core", "--lib", "schema::oracle_tests::"]),
];

#[derive(Args)]
pub(crate) struct FuzzOptions {
    /// How long to go on; the round under way is finished
    #[arg(long, default_value_t = 300)]
    seconds: u64,
}

pub(crate) fn run(options: &FuzzOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    let started = Instant::now();
    let mut rounds = 0_u32;
    loop {
        for (cases, target) in TARGETS {
            run_command(
                cargo()
                    .args(["test", "--quiet", "--package"])
                    .args(*target)
                    .current_dir(&workspace.root)
                    .env("PROPTEST_CASES", cases),
            )
            .context("a case failed; it is shown above, made as small as it can be")?;
        }
        rounds += 1;
        if started.elapsed() >= Duration::from_secs(options.seconds) {
            println!("{rounds} rounds in {:?} found nothing", started.elapsed());
            return Ok(());
        }
    }
}
