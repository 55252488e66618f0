//! `toolrail approvals`: calls that wait until a person has decided about them.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::super::tools::OutputForm;
use crate::print::{self, Overlong};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail approvals list\n  toolrail approvals show ap_6f1c…        # the request that would be sent\n  toolrail approvals approve ap_6f1c… --reason 'agreed with Anna'\n  toolrail approvals deny ap_6f1c… --reason 'wrong account'\n\nTools whose definition says `approval: required` wait for this. Nobody decides about his own calls."
)]
pub(in crate::cli) struct ApprovalsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Subcommand)]
enum ApprovalsCommand {
    /// List the calls that wait for a decision
    List,
    /// Show one, with the request that would be sent
    Show(ApprovalId),
    /// Let the call be made, once
    Approve(DecideArgs),
    /// Refuse the call
    Deny(DecideArgs),
}

#[derive(Args)]
struct ApprovalId {
    /// Id of the approval, such as ap_6f1c…
    id: String,
}

#[derive(Args)]
struct DecideArgs {
    /// Id of the approval, such as ap_6f1c…
    id: String,
    /// Why, for whoever called and for the audit record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(in crate::cli) async fn run(args: ApprovalsArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let form = OutputForm::of(args.json);
    let ended = match &args.command {
        ApprovalsCommand::List => list(&target, form).await,
        ApprovalsCommand::Show(args) => show(&target, &args.id, form).await,
        ApprovalsCommand::Approve(args) => decide(&target, ("approve", args), form).await,
        ApprovalsCommand::Deny(args) => decide(&target, ("deny", args), form).await,
    };
    target.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}

async fn list(target: &Target, form: OutputForm) -> anyhow::Result<()> {
    let body = target.expect(&RestRequest::get("/admin/approvals", "approvals")).await?;
    let waiting = body["approvals"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&body),
        OutputForm::People if waiting.is_empty() => print::note("no call waits for approval"),
        OutputForm::People => {
            let rows = waiting.iter().map(row).collect();
            print::table(["ID", "TOOL", "STATUS", "ASKED BY", "UNTIL"], rows, Overlong::Wrap);
        }
    }
    Ok(())
}

async fn show(target: &Target, id: &str, form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/approvals/{}", path_step(id));
    let found = target.expect(&RestRequest::get(&path, "status")).await?;
    match form {
        OutputForm::Json => print::json(&found),
        OutputForm::People => {
            let [id, tool, status, asked_by, until] = row(&found);
            let text = |field: &str| found[field].as_str().unwrap_or("-").to_owned();
            let lines = [
                ("id", id),
                ("tool", tool),
                ("tenant", text("tenant")),
                ("status", status),
                ("asked by", format!("{asked_by} at {}", text("asked"))),
                ("until", until),
                ("message", text("message")),
                ("arguments", format!("sha256:{}", text("argumentsDigest"))),
                ("decided by", text("decidedBy")),
                ("reason", text("reason")),
            ];
            for (label, value) in lines.into_iter().filter(|(_, value)| value != "-") {
                print::line(format!("{label}: {value}"));
            }
            print::json(&found["call"]);
        }
    }
    Ok(())
}

async fn decide(target: &Target, (word, args): (&str, &DecideArgs), form: OutputForm) -> anyhow::Result<()> {
    let path = format!("/admin/approvals/{}", path_step(&args.id));
    let mut body = json!({"decision": word});
    if let Some(reason) = &args.reason {
        body["reason"] = reason.as_str().into();
    }
    let decided = target.expect(&RestRequest::post(&path, &body, "approval")).await?;
    match form {
        OutputForm::Json => print::json(&decided),
        OutputForm::People => {
            let about = &decided["approval"];
            let text = |field: &str| about[field].as_str().unwrap_or_default();
            print::line(format!("{} {}: {}", text("status"), args.id, text("tool")));
            if word == "approve" {
                let until = text("until");
                print::note(format!(
                    "the call goes on if its client still waits; else it may be made again until {until}, once"
                ));
            }
        }
    }
    Ok(())
}

fn row(approval: &Value) -> [String; 5] {
    let text = |field: &str| approval[field].as_str().unwrap_or("-").to_owned();
    [text("id"), text("tool"), text("status"), text("askedBy"), text("until")]
}
