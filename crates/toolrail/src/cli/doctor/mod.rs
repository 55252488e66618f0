//! `toolrail doctor`: what of a gateway is open, and what else its operator should know; `doctor oauth` plays the clients that
//! look for a way to sign in.

mod oauth;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::target::{Missing, RestRequest, Target, TargetArgs};
use super::tools::OutputForm;
use crate::print::{self, Tint};
use crate::scripts;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail doctor                                        # what is open at the gateway of ./data\n  toolrail doctor oauth https://tools.example.com/mcp    # why a client cannot sign in there\n\nExits with 1 if something is open to others, or a client fails."
)]
pub(super) struct DoctorArgs {
    #[command(subcommand)]
    what: Option<DoctorCommand>,
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum DoctorCommand {
    /// Look for a way to sign in at an MCP server as Claude, VS Code and Codex do, and name the step that fails
    Oauth(oauth::OauthArgs),
}

pub(super) async fn run(args: DoctorArgs) -> anyhow::Result<ExitCode> {
    let form = OutputForm::of(args.json);
    if let Some(DoctorCommand::Oauth(oauth)) = &args.what {
        return oauth::run(oauth, args.target.trust()?, form).await;
    }
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let told = target.expect(&RestRequest::get("/admin/doctor", "findings")).await;
    let looked_at = target.to_string();
    target.close().await;
    let told = told?;
    let findings = told["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    match form {
        OutputForm::Json => print::json(&told),
        OutputForm::People => {
            show(&looked_at, findings);
            show_walls();
        }
    }
    let is_open = findings.iter().any(|finding| finding["level"] == "open");
    Ok(if is_open { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(looked_at: &str, findings: &[Value]) {
    print::line(format!("{looked_at}:"));
    for finding in findings {
        let text = |member: &str| finding[member].as_str().unwrap_or_default();
        let tint = match text("level") {
            "open" => Some(Tint::Removed),
            "good" => Some(Tint::Added),
            _ => None,
        };
        told(tint, text("level"), text("message"), finding["advice"].as_str());
    }
}

/// What scripts are kept from on this machine: tried, not believed.
fn show_walls() {
    let Some(walls) = scripts::walls() else { return };
    print::line("scripts on this machine:");
    let (held, open): (Vec<_>, Vec<_>) = walls.into_iter().partition(|(_, is_refused)| *is_refused);
    let names =
        |walls: Vec<(String, bool)>| walls.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    if !held.is_empty() {
        told(Some(Tint::Added), "good", &format!("kept from {}", names(held)), None);
    }
    if !open.is_empty() {
        let advice = "run the gateway on a kernel with landlock and seccomp, or give it no scripts that you do not trust";
        told(None, "warning", &format!("not kept from {}", names(open)), Some(advice));
    }
}

/// One line about something, and below it what to do.
fn told(tint: Option<Tint>, word: &str, message: &str, advice: Option<&str>) {
    let line = format!("  {word:<8} {message}");
    match tint {
        Some(tint) => print::tinted(tint, line),
        None => print::line(line),
    }
    if let Some(advice) = advice {
        print::line(format!("           → {advice}"));
    }
}
