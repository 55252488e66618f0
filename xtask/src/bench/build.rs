//! `cargo xtask bench build`: how long a newcomer waits for the first build, from nothing, and what it yields.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::workspace::{Workspace, cargo, run as run_command};

/// Builds the gateway into an empty folder and prints what that took.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    let target = workspace.target.join("bench/from-nothing");
    if target.exists() {
        fs::remove_dir_all(&target).context("cannot remove the last build")?;
    }
    // Downloading is not building.
    run_command(cargo().args(["fetch", "--locked"]).current_dir(&workspace.root))?;
    let (started, worked) = (Instant::now(), processors_of_children()?);
    let mut build = cargo();
    build.args(["build", "--release", "--package", "toolrail", "--target-dir"]).arg(&target);
    run_command(build.current_dir(&workspace.root))?;
    let (took, worked) = (started.elapsed(), processors_of_children()?.saturating_sub(worked));
    let size = fs::metadata(target.join("release/toolrail")).context("cargo built no gateway")?.len();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    println!("**cargo build --release, from nothing**\n");
    println!("| processors | time | CPU time | binary MB |\n|---:|---:|---:|---:|");
    println!("| {processors} | {} | {} | {} |", minutes(took), minutes(worked), size / 1_000_000);
    Ok(())
}

/// What ended children of this process, and theirs, have had of the processors.
fn processors_of_children() -> Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").context("the system does not tell CPU times")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    let both = ticks(13).zip(ticks(14)).context("the system tells CPU times in another way")?;
    Ok(Duration::from_millis(10 * (both.0 + both.1)))
}

fn minutes(time: Duration) -> String {
    format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
}
