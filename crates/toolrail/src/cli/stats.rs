//! `toolrail stats`: figures about the tools, and what listing them costs a model.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::target::{Missing, RestRequest, Target, TargetArgs};
use super::tools::OutputForm;
use crate::print::{self, Overlong};

#[derive(Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<StatsCommand>,
}

#[derive(Subcommand)]
enum StatsCommand {
    /// Show how many tokens the list of tools costs a model, in full and in search mode
    Context,
}

pub(super) async fn run(args: StatsArgs) -> anyhow::Result<ExitCode> {
    let target = Target::find(&args.target, Missing::Refuse).await?;
    let asked = target.expect(&RestRequest::get("/admin/stats", "total_tools")).await;
    target.close().await;
    let mut body = asked?;
    match (args.command, OutputForm::of(args.json)) {
        (None, OutputForm::Json) => print::json(&body),
        (None, OutputForm::People) => figures(&body),
        (Some(StatsCommand::Context), OutputForm::Json) => print::json(&body["context"].take()),
        (Some(StatsCommand::Context), OutputForm::People) => context(&body),
    }
    Ok(ExitCode::SUCCESS)
}

fn figures(body: &Value) {
    let count =
        |field: &str| body[field].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    let categories = count("total_categories");
    let categories =
        if categories == 1 { "1 category".to_owned() } else { format!("{categories} categories") };
    print::line(format!("{} in {categories}", print::counted(count("total_tools"), "tool")));
    let names: Vec<&str> =
        body["categories"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !names.is_empty() {
        print::line(format!("categories: {}", names.join(", ")));
    }
    let used: Vec<[String; 3]> = body["most_used"].as_array().into_iter().flatten().map(used).collect();
    if used.is_empty() {
        print::note("no tool was called yet");
    } else {
        print::table(["CALLS", "NAME", "DESCRIPTION"], used, Overlong::Cut);
    }
}

fn used(tool: &Value) -> [String; 3] {
    let text = |field: &str| tool[field].as_str().unwrap_or_default();
    [tool["use_count"].to_string(), text("name").to_owned(), print::one_line(text("description"), 80)]
}

fn context(body: &Value) {
    let cost = &body["context"];
    print::line(format!(
        "tools that can be called: {}; the full list has {}, the one in search mode {}: the discovery tools and pinned ones",
        cost["tools"], cost["listed_in_full"], cost["listed_in_search_mode"]
    ));
    let rows = cost["formats"].as_array().into_iter().flatten().map(|format| {
        let number = |field: &str| format[field].as_u64().map(grouped).unwrap_or_default();
        let name = format["format"].as_str().unwrap_or_default().to_owned();
        let saved = format!("{} %", format["saved_percent"]);
        [name, number("full"), number("search"), saved, number("each_search")]
    });
    print::table(
        ["FORMAT", "FULL LIST", "SEARCH MODE", "SAVED", "EACH SEARCH"],
        rows.collect(),
        Overlong::Cut,
    );
    if let Some(estimate) = body["estimate"].as_str() {
        print::aside(estimate);
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn long_numbers_are_grouped() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), shown);
        }
    }
}
