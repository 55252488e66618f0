//! `toolrail tools …`: what an administrator does, on a running server or on a data folder.

mod add;
mod arguments;
mod call;
mod list;
mod output;
mod problems;
mod show;
mod switch;
mod upstream;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::target::{Missing, Target, TargetArgs};

#[derive(Args)]
pub(super) struct ToolsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(Subcommand)]
enum ToolsCommand {
    /// List tools, prompts, resources and upstream servers, live or not
    List(list::ToolListArgs),
    /// List everything that is wrong with definitions, files that cannot be read included; exits with 1 if anything is
    /// broken
    Problems,
    /// Show one of them with its definition and problems
    Show {
        /// The tool
        name: String,
    },
    /// Register the definitions in files, or replace those of the same name
    Add(AddArgs),
    /// Take a tool off line; --purge removes it for good
    Remove {
        /// The tool
        name: String,
        /// Remove the definition for good
        #[arg(long)]
        purge: bool,
    },
    /// Switch a tool on
    Enable {
        /// The tool
        name: String,
    },
    /// Switch a tool off
    Disable {
        /// The tool
        name: String,
    },
    /// Call a tool
    Call(call::CallArgs),
}

#[derive(Args)]
struct AddArgs {
    /// Definition files (YAML or JSON, one or many definitions each), folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Register the good ones even if others have errors
    #[arg(long)]
    each: bool,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    People,
    Json,
}

impl OutputForm {
    /// That of the flag `--json`.
    pub(super) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::People }
    }
}

pub(super) async fn run(args: ToolsArgs) -> anyhow::Result<ExitCode> {
    let missing =
        if matches!(args.command, ToolsCommand::Add(_)) { Missing::Create } else { Missing::Refuse };
    let target = Target::find(&args.target, missing).await?;
    let form = OutputForm::of(args.json);
    let ended = match args.command {
        ToolsCommand::List(list) => list::run(&target, &list, form).await,
        ToolsCommand::Problems => problems::run(&target, form).await,
        ToolsCommand::Show { name } => show::run(&target, &name, form).await,
        ToolsCommand::Add(add) => add::run(&target, &add, form).await,
        ToolsCommand::Remove { name, purge: false } => switch::remove(&target, &name, form).await,
        ToolsCommand::Remove { name, purge: true } => switch::purge(&target, &name, form).await,
        ToolsCommand::Enable { name } => switch::enable(&target, &name, form).await,
        ToolsCommand::Disable { name } => switch::disable(&target, &name, form).await,
        ToolsCommand::Call(call) => call::run(&target, &call, form).await,
    };
    target.close().await;
    ended
}
