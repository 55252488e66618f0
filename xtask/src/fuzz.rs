//! `cargo xtask fuzz`: the property tests of the normal run again and again with fresh seeds and many more cases.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::{Workspace, cargo, run as run_command};

/// Cases of each property in one round: a few seconds of work.
const CASES: &str = "3000";

/// The properties, by package: input to the server, what a call may take, and schemas against jsonschema.
const TARGETS: &[&[&str]] = &[
    &["toolrail", "--test", "it", "fuzz::"],
    &["toolrail", "--test", "costs"],
    &["toolrail-core", "--lib", "schema::oracle_tests::"],
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
        for target in TARGETS {
            run_command(
                cargo()
                    .args(["test", "--quiet", "--package"])
                    .args(*target)
                    .current_dir(&workspace.root)
                    .env("PROPTEST_CASES", CASES),
            )
            .context("a case failed; it is shown above, made as small as it can be")?;
        }
        rounds += 1;
        if started.elapsed() >= Duration::from_secs(options.seconds) {
            println!("{rounds} rounds of {CASES} cases each in {:?} found nothing", started.elapsed());
            return Ok(());
        }
    }
}
