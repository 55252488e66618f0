//! `cargo xtask test`: one command that leaves nothing to prepare by hand.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::clients::{self, Clients};
use crate::databases::{self, Databases};
use crate::workspace::{Workspace, answer_of, cargo, run as run_command, shown};

/// How long the test runner gets to end by itself once it was interrupted.
const END_WITHIN: Duration = Duration::from_secs(30);

#[derive(Args)]
pub(crate) struct TestOptions {
    /// Passed on to the test runner, for instance a part of a test's name; leaves out the documentation tests
    #[arg(last = true)]
    runner_arguments: Vec<String>,
}

pub(crate) fn run(options: &TestOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    let clients = clients::install(&workspace)?;
    databases::install()?;
    let conformance = build_conformance_server(&workspace)?;
    let runner = test_runner(&workspace, &clients, &conformance, options);
    // One thread: the servers live as long as the thread that started them.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run_with_databases(runner))?;
    if options.runner_arguments.is_empty() {
        run_command(cargo().args(["test", "--doc", "--workspace", "--quiet"]).current_dir(&workspace.root))?;
    }
    Ok(())
}

/// The server that the conformance suites are run against is a binary of another package than the tests.
fn build_conformance_server(workspace: &Workspace) -> Result<PathBuf> {
    let name = "toolrail-conformance";
    run_command(cargo().args(["build", "--quiet", "--package", name]).current_dir(&workspace.root))?;
    Ok(workspace.target.join("debug").join(name))
}

fn test_runner(
    workspace: &Workspace,
    clients: &Clients,
    conformance: &Path,
    options: &TestOptions,
) -> Command {
    let mut runner = cargo();
    if answer_of("cargo-nextest", &["nextest", "--version"]).is_some() {
        runner.args(["nextest", "run", "--workspace"]);
    } else {
        println!("cargo-nextest is not installed: using cargo test");
        runner.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
    }
    runner.args(&options.runner_arguments).current_dir(&workspace.root).envs(clients.environment());
    runner.env("TOOLRAIL_TEST_CONFORMANCE", conformance);
    runner
}

/// Runs the tests with the shared databases, which go away however the run ends.
async fn run_with_databases(mut runner: Command) -> Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let databases = tokio::select! {
        databases = Databases::start() => databases?,
        _ = interrupt.recv() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    };
    runner.envs(databases.environment().iter().map(|(name, value)| (name, value)));
    let shown = shown(&runner);
    let mut child = tokio::process::Command::from(runner)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let status = tokio::select! {
        status = child.wait() => status?,
        _ = interrupt.recv() => {
            // The terminal has interrupted the runner as well, which now tells what it was at.
            drop(tokio::time::timeout(END_WITHIN, child.wait()).await);
            bail!("interrupted");
        }
        _ = terminate.recv() => bail!("terminated"),
    };
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}
