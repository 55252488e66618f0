//! The command line: one file a command. Results go to standard output, everything else to standard error; exit codes
//! are 0 for success, 1 for failure and 2 for wrong usage.

mod completions;
mod definition_files;
mod gateway;
mod remote;
mod schema;
mod serve;
mod stdio;
mod target;
mod tools;
mod validate;

use std::fmt;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::print;
use crate::telemetry::{self, LogFormat};

/// Turns JSON or YAML tool definitions into live MCP tools.
#[derive(Parser)]
#[command(name = "toolrail", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// What to log to standard error: error, warn, info, debug or trace [default: info when serving, else error]
    #[arg(long, global = true, env = "TOOLRAIL_LOG", value_name = "LEVEL")]
    log_level: Option<String>,
    /// How log lines look
    #[arg(long, global = true, env = "TOOLRAIL_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the tools over HTTP: MCP at /mcp, REST at /mcp/tools and /admin
    Serve(serve::ServeArgs),
    /// Speak MCP on standard input and output, for clients that start their servers
    Stdio(stdio::StdioArgs),
    /// List, register, remove and call tools of a running server or a data folder
    Tools(tools::ToolsArgs),
    /// Check definition files without registering anything
    Validate(validate::ValidateArgs),
    /// Print the JSON Schema of a definition
    Schema,
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// Runs the command line of this process.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let serves = matches!(cli.command, Command::Serve(_) | Command::Stdio(_));
    let level = cli.log_level.as_deref().unwrap_or(if serves { "info" } else { "error" });
    let ended = telemetry::start(level, cli.log_format).and_then(|()| {
        // Several threads even for one command: compiling definitions blocks the thread it runs on.
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let ended = runtime.block_on(execute(cli.command));
        // Reading standard input cannot be interrupted, so its thread must not be waited for.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(code) => code,
        Err(error) => {
            print::note(format!("error: {error:#}"));
            if let Some(hinted) = error.downcast_ref::<Hinted>() {
                print::note(format!("hint: {}", hinted.hint));
            }
            ExitCode::FAILURE
        }
    }
}

async fn execute(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Stdio(args) => stdio::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Tools(args) => tools::run(args).await,
        Command::Validate(args) => validate::run(&args),
        Command::Schema => {
            schema::run();
            Ok(ExitCode::SUCCESS)
        }
        Command::Completions(args) => {
            completions::run(&args);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A failure with something to try next.
#[derive(Debug)]
struct Hinted {
    message: String,
    hint: String,
}

impl Hinted {
    fn error(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { message: message.into(), hint: hint.into() })
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
