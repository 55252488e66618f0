//! `cargo xtask test`: one command that leaves nothing to prepare by hand.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use crate::clients::{self, Clients};
use crate::workspace::{Workspace, answer_of, cargo, run as run_command};

#[derive(Args)]
pub(crate) struct TestOptions {
    /// Passed on to the test runner, for instance a part of a test's name; leaves out the documentation tests
    #[arg(last = true)]
    runner_arguments: Vec<String>,
}

pub(crate) fn run(options: &TestOptions) -> Result<()> {
    let workspace = Workspace::find()?;
    let clients = clients::install(&workspace)?;
    let conformance = build_conformance_server(&workspace)?;
    run_tests(&workspace, &clients, &conformance, options)?;
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

fn run_tests(
    workspace: &Workspace,
    clients: &Clients,
    conformance: &Path,
    options: &TestOptions,
) -> Result<()> {
    let mut runner = cargo();
    if answer_of("cargo-nextest", &["nextest", "--version"]).is_some() {
        runner.args(["nextest", "run", "--workspace"]);
    } else {
        println!("cargo-nextest is not installed: using cargo test");
        runner.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
    }
    runner.args(&options.runner_arguments).current_dir(&workspace.root).envs(clients.environment());
    run_command(runner.env("TOOLRAIL_TEST_CONFORMANCE", conformance))
}
