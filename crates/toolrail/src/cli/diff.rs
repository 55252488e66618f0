//! `toolrail diff TOOL`: how two versions of a definition differ, place by place.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::tools::OutputForm;
use crate::print::{self, Tint};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  toolrail diff weather.current              # what the newest version changed\n  toolrail diff weather.current --from 3 --to 7"
)]
pub(super) struct DiffArgs {
    /// The tool
    tool: String,
    /// Version to compare with [default: the one before]
    #[arg(long, value_name = "VERSION")]
    from: Option<i64>,
    /// Version to look at [default: the newest]
    #[arg(long, value_name = "VERSION")]
    to: Option<i64>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

pub(super) async fn run(args: DiffArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let ended = show(&target, &args).await;
    target.close().await;
    ended
}

async fn show(target: &Target, args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let given = [("from", args.from), ("to", args.to)];
    let query: Vec<String> =
        given.iter().filter_map(|(name, value)| Some(format!("{name}={}", (*value)?))).collect();
    let path = format!("/admin/tools/{}/diff?{}", path_step(&args.tool), query.join("&"));
    let body = target.expect(&RestRequest::get(&path, "differences")).await?;
    match OutputForm::of(args.json) {
        OutputForm::Json => print::json(&body),
        OutputForm::People => for_people(&body),
    }
    Ok(ExitCode::SUCCESS)
}

fn for_people(body: &Value) {
    let name = body["name"].as_str().unwrap_or("-");
    print::tinted(Tint::Removed, format!("--- {name} {}", version(&body["from"])));
    print::tinted(Tint::Added, format!("+++ {name} {}", version(&body["to"])));
    let differences = body["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    show_differences(differences, "");
    if differences.is_empty() {
        print::note("no differences");
    }
}

/// Writes differences, each line behind `indent`.
pub(super) fn show_differences(differences: &[Value], indent: &str) {
    for difference in differences {
        let place = match difference["pointer"].as_str() {
            None | Some("") => "(all of it)",
            Some(pointer) => pointer,
        };
        print::tinted(Tint::Place, format!("{indent}@@ {place}"));
        side(difference.get("before"), Tint::Removed, &format!("{indent}-"));
        side(difference.get("after"), Tint::Added, &format!("{indent}+"));
    }
}

fn side(value: Option<&Value>, tint: Tint, mark: &str) {
    let text = value.and_then(|value| serde_json::to_string_pretty(value).ok());
    for line in text.iter().flat_map(|text| text.lines()) {
        print::tinted(tint, format!("{mark} {line}"));
    }
}

fn version(version: &Value) -> String {
    if version.is_null() {
        return "(not there yet)".to_owned();
    }
    let text = |field: &str| version[field].as_str();
    let by = text("who").map(|who| format!(" by {who}")).unwrap_or_default();
    let removed = if text("what") == Some("removed") { ", removed" } else { "" };
    format!("version {} ({}{by}{removed})", version["version"], text("at").unwrap_or("-"))
}
