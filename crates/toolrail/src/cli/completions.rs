//! `toolrail completions SHELL`.

use clap_complete::Shell;

use crate::{identity, print};

#[derive(clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), identity::name(), &mut script);
    print::line(String::from_utf8_lossy(&script).trim_end());
}
