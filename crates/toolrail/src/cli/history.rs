//! `toolrail history [TOOL]`: every version of a definition, or of all of them, the newest first.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use toolrail_admin::MOST_VERSIONS;

use super::target::{Missing, RestRequest, Target, TargetArgs, path_step};
use super::tools::OutputForm;
use crate::print::{self, Overlong};

/// How many of the changed places are named in a table.
const PLACES: usize = 3;

#[derive(Args)]
#[command(after_help = "Example:\n  toolrail history weather.current --limit 10")]
pub(super) struct HistoryArgs {
    /// The tool; all of them if left out
    tool: Option<String>,
    /// The most versions to show
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VERSIONS)))]
    limit: u32,
    /// Only versions before this one
    #[arg(long, value_name = "VERSION")]
    before: Option<i64>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

pub(super) async fn run(args: HistoryArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let ended = show(&target, &args).await;
    target.close().await;
    ended
}

async fn show(target: &Target, args: &HistoryArgs) -> anyhow::Result<ExitCode> {
    let mut path = match &args.tool {
        Some(tool) => format!("/admin/tools/{}/history?limit={}", path_step(tool), args.limit),
        None => format!("/admin/history?limit={}", args.limit),
    };
    if let Some(before) = args.before {
        path = format!("{path}&before={before}");
    }
    let body = target.expect(&RestRequest::get(&path, "versions")).await?;
    match OutputForm::of(args.json) {
        OutputForm::Json => print::json(&body),
        OutputForm::People => for_people(&body, args, target),
    }
    Ok(ExitCode::SUCCESS)
}

fn for_people(body: &Value, args: &HistoryArgs, target: &Target) {
    let versions = body["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if versions.is_empty() {
        print::note("no versions");
    } else if args.tool.is_some() {
        let rows = versions.iter().map(row).collect();
        print::table(["VERSION", "WHEN", "WHO", "VIA", "WHAT", "CHANGED"], rows, Overlong::Wrap);
    } else {
        let rows = versions.iter().map(row_of_all).collect();
        print::table(["REVISION", "WHEN", "WHO", "VIA", "WHAT", "NAME"], rows, Overlong::Wrap);
    }
    if let Some(next) = body["next"].as_i64() {
        let words = match &args.tool {
            Some(tool) => format!("history {} --before {next}", super::shell_word(tool)),
            None => format!("history --before {next}"),
        };
        print::note(format!("there are more: {}", target.command(&words)));
    }
}

fn row(version: &Value) -> [String; 6] {
    let [number, at, who, via, what] = common(version);
    [number, at, who, via, what, changed(version)]
}

fn row_of_all(version: &Value) -> [String; 6] {
    let [number, at, who, via, what] = common(version);
    let name = version["name"].as_str().unwrap_or("-");
    let name = match version["tenant"].as_str() {
        Some(tenant) => format!("{name} (of {tenant})"),
        None => name.to_owned(),
    };
    [number, at, who, via, what, name]
}

fn common(version: &Value) -> [String; 5] {
    let text = |field: &str| version[field].as_str();
    let via = match (text("via"), text("address")) {
        (Some(via), Some(address)) => format!("{via} from {address}"),
        (Some(via), None) => via.to_owned(),
        // Not through us: whoever may write to the database.
        (None, _) => "database".to_owned(),
    };
    let off = version["enabled"] == false && text("what") != Some("removed");
    let what = format!("{}{}", text("what").unwrap_or("-"), if off { ", off" } else { "" });
    let whole = |field: &str| text(field).unwrap_or("-").to_owned();
    [version["version"].to_string(), whole("at"), whole("who"), via, what]
}

fn changed(version: &Value) -> String {
    let places: Vec<&str> =
        version["changed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = places.iter().take(PLACES).copied().collect::<Vec<_>>().join(", ");
    match places.len().saturating_sub(PLACES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_says_who_made_it_and_what_changed() {
        let mine = json!({"version": 7, "at": "2026-01-02T03:04:05Z", "who": "anna", "via": "cli",
            "address": "10.0.0.1", "what": "updated", "enabled": false, "changed": ["/a", "/b", "/c", "/d"]});
        assert_eq!(
            row(&mine),
            [
                "7",
                "2026-01-02T03:04:05Z",
                "anna",
                "cli from 10.0.0.1",
                "updated, off",
                "/a, /b, /c and 1 more"
            ]
        );
        let foreign = json!({"version": 8, "at": "t", "who": null, "via": null, "what": "removed", "enabled": false,
            "name": "x", "tenant": "acme"});
        assert_eq!(row_of_all(&foreign), ["8", "t", "-", "database", "removed", "x (of acme)"]);
    }
}
