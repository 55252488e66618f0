//! The command line: one file a command. Results go to standard output, everything else to standard error; exit codes
//! are 0 for success, 1 for failure and 2 for wrong usage.

mod access;
mod audit;
mod completions;
mod definition_files;
mod diff;
mod doctor;
mod export;
mod gateway;
mod history;
mod import;
mod incoming;
mod plan_view;
mod profile;
mod reload;
mod remote;
mod requests;
mod rollback;
mod schema;
mod search;
mod serve;
mod served;
mod shorthand;
mod start_import;
mod stats;
mod stdio;
mod sync;
mod target;
mod tools;
mod transfer;
mod user;
mod validate;
mod wording;

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use self::tools::OutputForm;
use crate::print::Tone;
use crate::telemetry::{self, LogFormat};
use crate::{identity, print, scripts};

/// What scripts have.
const SCRIPT_TYPES: &str = include_str!("toolrail.d.ts");

#[derive(Parser)]
#[command(
    name = "toolrail",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "The commands of `tools` can be written without that word: `toolrail list`, `toolrail call NAME`."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// What to log to standard error: off, error, warn, info, debug or trace [default: info when serving, else error]
    #[arg(long, global = true, env = "TOOLRAIL_LOG", value_name = "LEVEL", value_parser = telemetry::level)]
    log_level: Option<String>,
    /// How log lines look
    #[arg(long, global = true, env = "TOOLRAIL_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

#[derive(Subcommand)]
enum Command {
    /// Serve everything over HTTP: MCP at /mcp, REST at /mcp/tools and /admin
    Serve(serve::ServeArgs),
    /// Speak MCP on standard input and output, for clients that start their servers
    Stdio(stdio::StdioArgs),
    /// List, register and remove definitions of a running server or a data folder, and call tools
    Tools(tools::ToolsArgs),
    /// Find tools by what they should do
    Search(search::SearchArgs),
    /// Show how many tools there are, which are used, and what listing them costs a model
    Stats(stats::StatsArgs),
    /// Show what a definition was before: every version, who made it, when and from where
    History(history::HistoryArgs),
    /// Show how two versions of a definition differ
    Diff(diff::DiffArgs),
    /// Go back: one definition to one of its versions, or all of them to a revision
    Rollback(rollback::RollbackArgs),
    /// Show who changed what, or find out whether that record was tampered with
    Audit(audit::AuditArgs),
    /// List, show and decide the calls that a person must approve of
    Approvals(access::approvals::ApprovalsArgs),
    /// List and revoke the accounts at upstream servers that people have connected
    Connections(access::connections::ConnectionsArgs),
    /// Make, list, rotate and revoke the keys that clients show
    Keys(access::keys::KeysArgs),
    /// List and end the sessions of those who have signed in at the broker
    Sessions(access::sessions::SessionsArgs),
    /// Look after the broker: the key that signs its tokens
    Broker(access::sessions::BrokerArgs),
    /// Say whether a key sees and may call a tool, and what decides that
    Explain(access::explain::ExplainArgs),
    /// Say what of a gateway is open to whom, or why a client cannot sign in
    Doctor(doctor::DoctorArgs),
    /// Show, set, test and take back the permission rules in the store
    Permissions(access::permissions::PermissionsArgs),
    /// Take definitions over into the store: from files, RegistryTools, or the database of another system
    Import(import::ImportArgs),
    /// Write the definitions of the store to files
    Export(export::ExportArgs),
    /// Make the store what a folder of files says, such as a git checkout
    Sync(sync::SyncArgs),
    /// Check definition files without registering anything
    Validate(validate::ValidateArgs),
    /// Print every request of the REST interface as a Postman collection or a curl script
    Requests(requests::RequestsArgs),
    /// Print the JSON Schema of a definition
    Schema,
    /// Print the TypeScript declarations of what scripts have, for editors
    Types,
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl identity::Gateway {
    /// Runs the command line of this process. What carries `#[tool]` anywhere in the binary is served.
    pub fn run(self) -> ExitCode {
        // Before anything else: what a worker has is what a script could get hold of.
        if let Some(code) = scripts::work() {
            return code;
        }
        // Before there is much in memory: what is taken in large pages stays in them.
        toolrail_http::keep_memory_small();
        self.introduce();
        run()
    }
}

fn run() -> ExitCode {
    let words = shorthand::written_out(&command(), std::env::args_os());
    let form = OutputForm::of(wants_json(&words));
    let parsed = command().try_get_matches_from(words);
    let cli = match parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, stdio::strays(&matches))))
    {
        Ok((cli, None)) => cli,
        Ok((_, Some(strays))) => {
            tell(&strays, form);
            return ExitCode::from(MISUSED);
        }
        // Help is asked for in the same way, and goes to standard output as it is.
        Err(error) if form == OutputForm::Json && error.use_stderr() => {
            tell(&misused(&error), form);
            return ExitCode::from(MISUSED);
        }
        Err(error) => error.exit(),
    };
    let serves = matches!(cli.command, Command::Serve(_) | Command::Stdio(_));
    let level = cli.log_level.as_deref().unwrap_or(if serves { "info" } else { "error" });
    let ended = telemetry::start(level, cli.log_format).and_then(|()| {
        // Several threads even for one command: compiling definitions blocks the thread it runs on.
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let ended = runtime.block_on(execute(cli.command));
        // Reading standard input cannot be interrupted, so its thread must not be waited for.
        runtime.shutdown_background();
        // Nor is anybody left who would end the programs of calls that hang.
        toolrail_executors::end_programs();
        ended
    });
    match ended.and_then(|code| if serves { Ok(code) } else { all_was_written(code) }) {
        Ok(code) => code,
        Err(error) => {
            tell(&error, form);
            let is_misuse = error.downcast_ref::<Hinted>().is_some_and(Hinted::is_misuse);
            if is_misuse { ExitCode::from(MISUSED) } else { ExitCode::FAILURE }
        }
    }
}

/// Whether `--json` was given, also on a command line that cannot be meant.
fn wants_json(words: &[OsString]) -> bool {
    words
        .iter()
        .skip(1)
        .take_while(|word| word.to_str() != Some("--"))
        .any(|word| word.to_str() == Some("--json"))
}

/// What the parser of the command line says, as an error of ours.
fn misused(error: &clap::Error) -> anyhow::Error {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (hint, message): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with("Usage:") || line.starts_with("For more information"));
    let message = message.join(" ");
    Hinted::usage(message.strip_prefix("error: ").unwrap_or(&message), hint.join(" "))
}

/// Tells why a command failed: people on standard error, programs on standard output, where they read everything else.
fn tell(error: &anyhow::Error, form: OutputForm) {
    let hinted = error.downcast_ref::<Hinted>();
    let hint = hinted.and_then(|hinted| hinted.hint.as_deref());
    if form == OutputForm::Json {
        let code = hinted.and_then(|hinted| hinted.code.as_deref()).unwrap_or("FAILED");
        let message = hinted.map_or_else(|| told(error), |hinted| hinted.message.clone());
        return print::json(&json!({"ok": false, "error": {"code": code, "message": message, "hint": hint}}));
    }
    print::told(Tone::Error, told(error));
    if let Some(hint) = hint {
        print::told(Tone::Hint, hint);
    }
}

/// A result that nobody can read is none.
fn all_was_written(code: ExitCode) -> anyhow::Result<ExitCode> {
    match print::failure() {
        None => Ok(code),
        Some(error) => anyhow::bail!("standard output cannot be written: {error}"),
    }
}

/// The command line under the name of this program.
fn command() -> clap::Command {
    Cli::command().name(identity::name()).version(identity::version()).about(identity::about())
}

async fn execute(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => Box::pin(serve::run(args)).await.map(|()| ExitCode::SUCCESS),
        Command::Stdio(args) => stdio::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Tools(args) => tools::run(args).await,
        Command::Search(args) => search::run(args).await,
        Command::Stats(args) => stats::run(args).await,
        Command::History(args) => history::run(args).await,
        Command::Diff(args) => diff::run(args).await,
        Command::Rollback(args) => rollback::run(args).await,
        Command::Audit(args) => audit::run(args).await,
        Command::Approvals(args) => access::approvals::run(args).await,
        Command::Connections(args) => access::connections::run(args).await,
        Command::Keys(args) => access::keys::run(args).await,
        Command::Sessions(args) => access::sessions::run(args).await,
        Command::Broker(args) => access::sessions::run_broker(args).await,
        Command::Explain(args) => access::explain::run(args).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::Permissions(args) => access::permissions::run(args).await,
        Command::Import(args) => import::run(args).await,
        Command::Export(args) => export::run(args).await,
        Command::Sync(args) => sync::run(args).await,
        Command::Validate(args) => validate::run(&args),
        Command::Requests(args) => {
            requests::run(&args);
            Ok(ExitCode::SUCCESS)
        }
        Command::Schema => {
            schema::run()?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Types => {
            print::line(SCRIPT_TYPES.trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Command::Completions(args) => {
            completions::run(&args);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The error and its causes. Many a library repeats its cause in its own words, which is not told twice.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.ends_with(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

/// Text as one word of a shell command.
fn shell_word(text: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-:@%+,=~".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The exit code for wrong usage.
const MISUSED: u8 = 2;
/// The code of wrong usage for programs.
const USAGE: &str = "USAGE";

/// A failure with something to try next, or with the code that a gateway gave it.
#[derive(Debug)]
struct Hinted {
    code: Option<String>,
    message: String,
    hint: Option<String>,
}

impl Hinted {
    fn error(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { code: None, message: message.into(), hint: Some(hint.into()) })
    }

    /// A command line that cannot be meant.
    fn usage(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        let (code, hint) = (Some(USAGE.to_owned()), Some(hint.into()));
        anyhow::Error::new(Self { code, message: message.into(), hint })
    }

    /// A value that a flag cannot have, where the parser of the command line must not repeat it.
    fn wrong_value(flag: &str, words: &str) -> anyhow::Error {
        let (code, message) = (Some(USAGE.to_owned()), format!("{flag}: {words}"));
        anyhow::Error::new(Self { code, message, hint: None })
    }

    fn is_misuse(&self) -> bool {
        self.code.as_deref() == Some(USAGE)
    }

    /// What a gateway refused.
    fn refusal(code: &str, message: impl Into<String>, hint: Option<String>) -> anyhow::Error {
        anyhow::Error::new(Self { code: Some(code.to_owned()), message: message.into(), hint })
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.code {
            // People know that from the words.
            Some(code) if code != USAGE => write!(formatter, " ({code})"),
            Some(_) | None => Ok(()),
        }
    }
}

impl std::error::Error for Hinted {}

#[cfg(test)]
mod tests {
    #[test]
    fn a_cause_that_was_told_is_not_told_again() {
        let inner = anyhow::anyhow!("no such file");
        assert_eq!(
            super::told(&inner.context("no such file").context("cannot open: no such file")),
            "cannot open: no such file"
        );
        assert_eq!(super::told(&anyhow::anyhow!("inner").context("outer")), "outer: inner");
    }

    #[test]
    fn what_the_parser_says_is_one_message_and_one_hint() {
        let words = ["toolrail", "tools", "list", "--json", "--state", "nope"];
        let error = super::command().try_get_matches_from(words).err().map(|error| super::misused(&error));
        let told = error.as_ref().and_then(|error| error.downcast_ref::<super::Hinted>());
        assert!(told.is_some_and(|told| told.is_misuse()
            && told.message.starts_with("invalid value 'nope' for '--state")
            && told.hint.as_ref().is_some_and(|hint| hint.contains("--help"))));
    }

    #[test]
    fn a_path_stays_one_word_in_a_shell() {
        assert_eq!(super::shell_word("./data/天气"), "./data/天气");
        assert_eq!(super::shell_word("my data's"), "'my data'\\''s'");
    }

    #[test]
    fn every_command_is_in_the_documents() {
        let page = include_str!("../../../../docs/running.md");
        for command in super::command().get_subcommands() {
            let name = command.get_name();
            assert!(page.contains(&format!("| `{name}")) || page.contains(&format!(", `{name}")), "{name}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
