//! `toolrail completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::print;

#[derive(clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "toolrail", &mut script);
    print::line(String::from_utf8_lossy(&script).trim_end());
}
