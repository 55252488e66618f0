//! `toolrail permissions`: the rules in the store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};
use toolrail_access::Rulebook;
use toolrail_core::{Problem, Severity, Way};

use super::super::Hinted;
use super::super::definition_files::{self, Found, ReadFile, unreadable};
use super::super::diff::show_differences;
use super::super::target::{Missing, RestRequest, Target, TargetArgs};
use super::super::tools::OutputForm;
use super::super::validate::report;
use crate::print::{self, Overlong};

const PATH: &str = "/admin/permissions";

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail permissions test rules.yaml             # check a file and run its tests; needs no gateway\n  toolrail permissions set rules.yaml --dry-run    # what would change\n  toolrail permissions set rules.yaml --note 'refunds for support'\n  toolrail permissions history\n  toolrail permissions rollback 3\n\nThe file has default, rules and tests, as `permissions` of the configuration has them. Every gateway on the store goes by a\nnew version within a second; those of the configuration hold as well."
)]
pub(in crate::cli) struct PermissionsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: PermissionsCommand,
}

#[derive(Subcommand)]
enum PermissionsCommand {
    /// Show the rules in force
    Show(ShowArgs),
    /// Put the rules of a file into the store, in place of those there
    Set(SetArgs),
    /// List the versions of the rules
    History,
    /// Go back to a version, as a new one
    Rollback(RulesRollbackArgs),
    /// Check a file of rules and run its tests; nothing is stored
    Test(TestArgs),
    /// Take all rules out of the store; those of the configuration stay
    Clear(ChangeArgs),
}

#[derive(Args)]
struct ShowArgs {
    /// Version to show [default: the one in force]
    #[arg(value_name = "VERSION")]
    number: Option<i64>,
}

#[derive(Args)]
struct SetArgs {
    /// YAML or JSON file of rules; - for standard input
    file: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Args)]
struct RulesRollbackArgs {
    /// Version to go back to
    #[arg(value_name = "VERSION")]
    number: i64,
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Args)]
struct TestArgs {
    /// YAML or JSON file of rules; - for standard input
    file: PathBuf,
}

#[derive(Args)]
struct ChangeArgs {
    /// What the change is for, kept with the version
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Change nothing unless this is the newest version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<i64>,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
}

pub(in crate::cli) async fn run(args: PermissionsArgs) -> anyhow::Result<ExitCode> {
    let form = OutputForm::of(args.json);
    let document = match &args.command {
        PermissionsCommand::Test(args) => return test(&args.file, form),
        PermissionsCommand::Set(args) => match read(&args.file)? {
            Ok((document, _)) => Some(document),
            Err(problems) => return Ok(refuse(&problems, form)),
        },
        _ => None,
    };
    let missing = if document.is_some() { Missing::Create } else { Missing::Refuse };
    let target = Target::find(&args.target, missing).await?;
    let ended = match &args.command {
        PermissionsCommand::Show(args) => show(&target, args.number, form).await,
        PermissionsCommand::History => history(&target, form).await,
        PermissionsCommand::Rollback(args) => roll_back(&target, args, form).await,
        PermissionsCommand::Clear(args) => {
            let path = with_query(args);
            change(&target, RestRequest::plain(Method::DELETE, &path, "status"), args, form).await
        }
        PermissionsCommand::Set(SetArgs { change: args, .. }) => {
            let path = with_query(args);
            let put =
                RestRequest { body: document.as_ref(), ..RestRequest::plain(Method::PUT, &path, "status") };
            change(&target, put, args, form).await
        }
        PermissionsCommand::Test(_) => Ok(()),
    };
    target.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}

/// The document in a file and what is poor about it, or everything that is wrong with it.
type Checked = Result<(Value, Vec<Problem>), Vec<Problem>>;

fn read(file: &Path) -> anyhow::Result<Checked> {
    let ReadFile { file: name, found } = definition_files::read_file(file);
    let found = match found {
        Ok(found) => found,
        Err(fault) => return Ok(Err(vec![unreadable(&name, fault)])),
    };
    let [found] = found.as_slice() else {
        let message = format!("{name} must be one mapping with default, rules and tests");
        return Err(Hinted::error(message, "put the rules into one document"));
    };
    let Found { file, pointer, document } = found;
    let placed = |problem: Problem| Problem {
        spot: Some(file.spot(&format!("{pointer}{}", problem.pointer))),
        origin: Some(name.clone()),
        ..problem
    };
    Ok(match Rulebook::check(document) {
        Ok((_, warnings)) => Ok((document.clone(), warnings.into_iter().map(placed).collect())),
        Err(problems) => Err(problems.into_iter().map(placed).collect()),
    })
}

fn test(file: &Path, form: OutputForm) -> anyhow::Result<ExitCode> {
    let (document, warnings) = match read(file)? {
        Ok(checked) => checked,
        Err(problems) => return Ok(refuse(&problems, form)),
    };
    let count = |field: &str| document[field].as_array().map_or(0, Vec::len);
    let (rules, tests) = (count("rules"), count("tests"));
    match form {
        OutputForm::Json => {
            print::json(&json!({"ok": true, "rules": rules, "tests": tests, "problems": warnings}));
        }
        OutputForm::People => {
            report(&warnings);
            let (rules, tests) = (print::counted(rules, "rule"), print::counted(tests, "test"));
            print::line(format!("{rules}, {tests}: good"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing is sent that cannot be meant.
fn refuse(problems: &[Problem], form: OutputForm) -> ExitCode {
    match form {
        OutputForm::Json => print::json(&json!({"ok": false, "problems": problems})),
        OutputForm::People => {
            report(problems);
            let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
            print::line(print::counted(errors, "error"));
        }
    }
    ExitCode::FAILURE
}

fn with_query(args: &ChangeArgs) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("dryRun", if args.dry_run { "true" } else { "false" });
    query.extend_pairs(args.note.iter().map(|note| ("note", note)));
    format!("{PATH}?{}", query.finish())
}

async fn roll_back(target: &Target, args: &RulesRollbackArgs, form: OutputForm) -> anyhow::Result<()> {
    let mut body = json!({"to": args.number, "dryRun": args.change.dry_run});
    if let Some(note) = &args.change.note {
        body["note"] = note.as_str().into();
    }
    let path = format!("{PATH}/rollback");
    let request = RestRequest::post(&path, &body, "status").by(Way::Rollback);
    change(target, request, &args.change, form).await
}

async fn change(
    target: &Target,
    request: RestRequest<'_>,
    args: &ChangeArgs,
    form: OutputForm,
) -> anyhow::Result<()> {
    let told = target.expect(&request.expecting(args.if_version)).await?;
    if form == OutputForm::Json {
        print::json(&told);
        return Ok(());
    }
    for warning in told["warnings"].as_array().into_iter().flatten() {
        let text = |field: &str| warning[field].as_str().unwrap_or_default();
        print::note(format!("{} {}", text("pointer"), text("message")).trim_start());
    }
    if told["status"] == "unchanged" {
        print::line(format!("nothing changes: version {} says the same", told["version"]));
        return Ok(());
    }
    let differences = told["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    if args.dry_run {
        print::line("would change:");
        show_differences(differences, "    ");
    } else {
        let status = told["status"].as_str().unwrap_or_default();
        let places = print::counted(differences.len(), "difference");
        print::line(format!("{status} as version {} ({places})", told["version"]));
    }
    Ok(())
}

async fn history(target: &Target, form: OutputForm) -> anyhow::Result<()> {
    let body = target.expect(&RestRequest::get(&format!("{PATH}/history"), "versions")).await?;
    let versions = body["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if versions.is_empty() => {
            let set = target.command("permissions set FILE");
            print::note(format!("no rules were ever in the store; {set} puts some there"));
        }
        OutputForm::People => {
            let row = |version: &Value| {
                let text = |field: &str| version[field].as_str().unwrap_or("-").to_owned();
                let note = version["fault"]
                    .as_str()
                    .map_or_else(|| text("note"), |why| format!("cannot be read: {why}"));
                [version["version"].to_string(), text("at"), text("who"), text("via"), note]
            };
            let rows = versions.iter().map(row).collect();
            print::table(["VERSION", "AT", "WHO", "VIA", "NOTE"], rows, Overlong::Wrap);
        }
    }
    Ok(())
}

async fn show(target: &Target, version: Option<i64>, form: OutputForm) -> anyhow::Result<()> {
    let path = version.map_or_else(|| PATH.to_owned(), |version| format!("{PATH}/history/{version}"));
    let shown = target.expect(&RestRequest::get(&path, "version")).await?;
    if form == OutputForm::Json {
        print::json(&shown);
        return Ok(());
    }
    if let Some(fault) = shown["fault"].as_str() {
        print::note(fault);
    }
    let pretty = |document: &Value| serde_json::to_string_pretty(document).unwrap_or_default();
    match &shown["document"] {
        Value::Null => print::note("no rules in the store"),
        document => {
            print::note(format!("version {} in the store:", shown["version"]));
            print::line(pretty(document));
        }
    }
    if !shown["configuration"].is_null() {
        print::note("and those of the configuration, which have to allow as well:");
        print::note(pretty(&shown["configuration"]));
    }
    Ok(())
}
