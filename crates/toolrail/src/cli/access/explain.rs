//! `toolrail explain`: whether somebody sees and may call a tool, and what decides that.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::super::target::{Missing, RestRequest, Target, TargetArgs};
use super::super::tools::OutputForm;
use crate::print;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail explain orders.refund --as ci                        # whether ci sees the tool\n  toolrail explain orders.refund --as ci --args '{\"amount\": 150}'   # whether ci may call it so\n  toolrail explain orders.refund --as ann@example.com --role call --group support   # somebody who signs in\n\nExits with 1 if it may not."
)]
pub(in crate::cli) struct ExplainArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Name of the tool
    tool: String,
    /// Name of the key; with --role the name of somebody who comes with a token or a certificate
    #[arg(long = "as", value_name = "NAME")]
    name: String,
    /// Role that the token or certificate gives: read, call, write or admin
    #[arg(long)]
    role: Option<String>,
    /// Group that he is in; may be repeated
    #[arg(long, value_name = "NAME", requires = "role")]
    group: Vec<String>,
    /// Scope that his token has; may be repeated
    #[arg(long, value_name = "NAME", requires = "role")]
    scope: Vec<String>,
    /// What the tool would be called with, as JSON [default: only whether it is seen]
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) async fn run(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let who = match &args.role {
        Some(role) => json!({"name": args.name, "role": role, "groups": args.group, "scopes": args.scope}),
        None => json!(args.name),
    };
    let mut asked = json!({"tool": args.tool, "as": who});
    if let Some(text) = &args.args {
        asked["arguments"] = serde_json::from_str(text).context("--args is not JSON")?;
    }
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let told = target.expect(&RestRequest::post("/admin/explain", &asked, "outcome")).await;
    target.close().await;
    let told = told?;
    match OutputForm::of(args.json) {
        OutputForm::Json => print::json(&told),
        OutputForm::People => show(&told),
    }
    let is_good = matches!(told["outcome"].as_str(), Some("seen" | "allowed"));
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(told: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    print::line(format!(
        "{} for {}: {} ({})",
        text(&told["tool"]),
        text(&told["as"]),
        text(&told["outcome"]),
        text(&told["message"])
    ));
    for rule in told["rules"].as_array().into_iter().flatten() {
        let why = match (rule["part"].as_str(), rule["fault"].as_str()) {
            (Some(part), Some(fault)) => format!(": {part}, {fault}"),
            (Some(part), None) => format!(": {part} does not fit"),
            (None, Some(fault)) => format!(": {fault}"),
            (None, None) => String::new(),
        };
        let matched = match rule["matched"].as_str() {
            Some("yes") => "matches",
            Some("perhaps") => "depends on the arguments",
            _ => "does not match",
        };
        print::line(format!("  {} {} {matched}{why}", text(&rule["effect"]), text(&rule["name"])));
    }
}
