//! `toolrail rollback`: one definition back to one of its versions, or all of them back to a revision.

use std::process::ExitCode;

use anyhow::bail;
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use toolrail_core::Way;

use super::diff::show_differences;
use super::plan_view::concerns_tenants;
use super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::tools::OutputForm;
use super::{Hinted, shell_word};
use crate::print::{self, Tint, Tone};

/// How a rollback is recorded.
const VIA: Way = Way::Rollback;

#[derive(Args)]
#[command(
    group = ArgGroup::new("aim").required(true).args(["to", "to_revision"]),
    after_help = "Examples:\n  toolrail rollback weather.current --to 3 --dry-run\n  toolrail rollback weather.current --to 3\n  toolrail rollback --to-revision 120 --dry-run\n\nGoing back makes new versions, so it can be undone in the same way."
)]
pub(super) struct RollbackArgs {
    /// The tool
    #[arg(requires = "to", conflicts_with = "to_revision")]
    tool: Option<String>,
    /// Version of the tool to go back to; `toolrail history TOOL` shows them
    #[arg(long, value_name = "VERSION", requires = "tool")]
    to: Option<i64>,
    /// Revision to which all definitions go back, those of one tenant with --tenant; `toolrail history` shows them
    #[arg(long, value_name = "REVISION")]
    to_revision: Option<i64>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

pub(super) async fn run(args: RollbackArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let ended = match (&args.tool, args.to, args.to_revision) {
        (Some(tool), Some(to), _) if args.dry_run => {
            preview(&target, tool, to, OutputForm::of(args.json)).await
        }
        (Some(tool), Some(to), _) => one(&target, tool, to, OutputForm::of(args.json)).await,
        (_, _, Some(revision)) => all(&target, revision, &args).await,
        _ => bail!("say where to go back to: TOOL --to VERSION, or --to-revision REVISION"),
    };
    target.close().await;
    ended
}

/// How the definition differs from what it would be.
async fn preview(target: &Target, tool: &str, to: i64, form: OutputForm) -> anyhow::Result<ExitCode> {
    let step = path_step(tool);
    let newest =
        target.expect(&RestRequest::get(&format!("/admin/tools/{step}/history?limit=1"), "versions")).await?;
    let path = format!("/admin/tools/{step}/diff?from={}&to={to}", newest["versions"][0]["version"]);
    let compared = target.expect(&RestRequest::get(&path, "differences")).await?;
    if form == OutputForm::Json {
        print::json(&compared);
        return Ok(ExitCode::SUCCESS);
    }
    let name = compared["name"].as_str().unwrap_or(tool);
    let differences = compared["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    if differences.is_empty() {
        print::line(format!("{name} is as it was at version {to} already"));
    } else {
        print::line(format!("{name} would be as it was at version {to}:"));
        show_differences(differences, "    ");
    }
    Ok(ExitCode::SUCCESS)
}

async fn one(target: &Target, tool: &str, to: i64, form: OutputForm) -> anyhow::Result<ExitCode> {
    let path = format!("/admin/tools/{}/rollback", path_step(tool));
    let body = target.expect(&RestRequest::post(&path, &json!({"to": to}), "status").by(VIA)).await?;
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People => {
            let text = |field: &str| body[field].as_str().unwrap_or("-");
            let name = text("name");
            print::line(match text("status") {
                "restored" => {
                    format!(
                        "{name} is as it was at version {to}, and {}; that is version {}",
                        text("state"),
                        body["version"]
                    )
                }
                "removed" => format!("{name} is removed, as it was at version {to}"),
                _ => format!("{name} is as it was at version {to} already"),
            });
            if let Some(from) = body["from"].as_i64().filter(|_| text("status") != "unchanged") {
                let undo = format!("rollback {} --to {from}", shell_word(name));
                print::told(Tone::Hint, format!("{} undoes it", target.command(&undo)));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn all(target: &Target, revision: i64, args: &RollbackArgs) -> anyhow::Result<ExitCode> {
    let wish = |dry_run: bool| json!({"toRevision": revision, "dryRun": dry_run});
    let form = OutputForm::of(args.json);
    if args.dry_run || !args.yes {
        let planned = target.expect(&RestRequest::post("/admin/rollback", &wish(true), "plan")).await?;
        if form == OutputForm::People {
            show_plan(&planned, revision);
        }
        if args.dry_run || changes(&planned) == 0 {
            if form == OutputForm::Json {
                print::json(&planned);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let question = format!("Make {}?", print::counted(changes(&planned), "change"));
        match print::confirmed(&question) {
            Some(true) => {}
            Some(false) => bail!("nothing was done"),
            None => {
                return Err(Hinted::error(
                    format!(
                        "nothing was done: {} to make, and nobody to ask",
                        print::counted(changes(&planned), "change")
                    ),
                    "pass --yes to do it, or --dry-run to look only",
                ));
            }
        }
    }
    let done = target.expect(&RestRequest::post("/admin/rollback", &wish(false), "plan").by(VIA)).await?;
    match form {
        OutputForm::Json => print::json(&done),
        OutputForm::People => {
            if args.yes {
                show_plan(&done, revision);
            }
            print::line(format!(
                "everything is as it was at revision {revision}; that is revision {}",
                done["revision"]
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How many definitions a plan changes.
fn changes(planned: &Value) -> usize {
    planned["plan"].as_array().map_or(0, Vec::len)
}

fn show_plan(planned: &Value, revision: i64) {
    let steps = planned["plan"].as_array().map(Vec::as_slice).unwrap_or_default();
    if steps.is_empty() {
        return print::note(format!("everything is as it was at revision {revision} already"));
    }
    let several = concerns_tenants(steps);
    for step in steps {
        let text = |field: &str| step[field].as_str();
        let (mark, tint) = match text("action") {
            Some("create") => ("+", Tint::Added),
            Some("remove") => ("-", Tint::Removed),
            _ => ("~", Tint::Place),
        };
        let tenant = match text("tenant") {
            Some(tenant) => format!(" (of {tenant})"),
            None if several => " (shared)".to_owned(),
            None => String::new(),
        };
        let (action, name) = (text("action").unwrap_or("-"), text("name").unwrap_or("-"));
        print::tinted(tint, format!("{mark} {action} {name}{tenant}"));
        show_differences(step["differences"].as_array().map(Vec::as_slice).unwrap_or_default(), "    ");
    }
    print::line(format!(
        "{}, {} unchanged",
        print::counted(steps.len(), "change"),
        planned["counts"]["unchanged"]
    ));
}
